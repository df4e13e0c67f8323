// Invariant of every function: the true value lies in [low, high] in units of 2^-scale ("u" in the comments).
#include "rung/theory/logarithm.h"

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <vector>

#include "rung/base/require.h"

namespace rung {
namespace {

using Rational = boost::multiprecision::cpp_rational;

constexpr unsigned kGuardBits = 24;        // truncation errors below stay under 2^20 u
constexpr unsigned kSmallFactorial = 256;  // multiplied out below this
constexpr std::size_t kStirlingTerms = 64;

Integer floor_div(const Integer& a, const Integer& b) {  // b > 0
  Integer q = a / b;
  if (a < 0 && q * b != a) --q;
  return q;
}
Integer ceil_div(const Integer& a, const Integer& b) { return -floor_div(-a, b); }

Integer shift_down_floor(const Integer& a, unsigned by) { return floor_div(a, Integer(1) << by); }
Integer shift_down_ceil(const Integer& a, unsigned by) { return ceil_div(a, Integer(1) << by); }

Enclosure coarser(const Enclosure& e, unsigned scale) {
  RUNG_REQUIRE(scale <= e.scale, "scale={} from={}", scale, e.scale);
  const unsigned by = e.scale - scale;
  return {shift_down_floor(e.low, by), shift_down_ceil(e.high, by), scale};
}

// 2 artanh(numerator / denominator) for 0 <= numerator / denominator <= 1/3.
// Error: z is low by at most 1u, z^2 by 2u, each power by 2u (e' <= e/9 + 2/3 + 1), each quotient by 1u more;
// once the computed power is 0 the true rest is below 3u. So the sum is low by at most 3 (terms + 2) u.
Enclosure twice_artanh(const Integer& numerator, const Integer& denominator, unsigned scale) {
  const Integer z = (numerator << scale) / denominator;
  const Integer square = (z * z) >> scale;
  Integer power = z, sum = 0;
  unsigned terms = 0;
  for (; power > 0; ++terms) {
    sum += power / (2 * terms + 1);
    power = (power * square) >> scale;
  }
  const Integer error = numerator == 0 ? Integer(0) : Integer(3 * (terms + 2));
  return {2 * sum, 2 * (sum + error), scale};
}

Enclosure ln_two(unsigned scale) { return twice_artanh(1, 3, scale); }

Enclosure divide(const Enclosure& a, const Enclosure& b) {  // a >= 0, b > 0, same scale
  return {(a.low << a.scale) / b.high, (a.high << a.scale) / b.low + 1, a.scale};
}

// atan(1/k) by its alternating series; each of the `terms` quotients is off by less than 1u, and so is the
// rest.
Enclosure arctan_inverse(unsigned k, unsigned scale) {
  Integer power = (Integer(1) << scale) / k, sum = 0;
  unsigned terms = 0;
  for (; power > 0; ++terms) {
    const Integer term = power / (2 * terms + 1);
    if (terms % 2 == 0)
      sum += term;
    else
      sum -= term;
    power /= k * k;
  }
  const Integer error = 2 * (terms + 2);
  return {sum - error, sum + error, scale};
}

Enclosure pi(unsigned scale) {  // Machin: pi = 16 atan(1/5) - 4 atan(1/239)
  const Enclosure a = arctan_inverse(5, scale), b = arctan_inverse(239, scale);
  return {16 * a.low - 4 * b.high, 16 * a.high - 4 * b.low, scale};
}

// B_{2k} / (2k (2k-1)) for k = 1, 2, ...: the coefficients of Stirling's series.
const std::vector<Rational>& stirling_coefficients() {
  static const std::vector<Rational> coefficients = [] {
    const unsigned last = 2 * (kStirlingTerms + 1);
    std::vector<Rational> bernoulli{Rational(1)};
    for (unsigned m = 1; m <= last; ++m) {
      Rational sum = 0;
      Integer choose = 1;  // C(m+1, j)
      for (unsigned j = 0; j < m; ++j) {
        sum += Rational(choose) * bernoulli[j];
        choose = choose * (m + 1 - j) / (j + 1);
      }
      bernoulli.push_back(-sum / Rational(m + 1));
    }
    std::vector<Rational> result;
    for (unsigned k = 1; 2 * k <= last; ++k)
      result.push_back(bernoulli[2 * k] / Rational(2 * k * (2 * k - 1)));
    return result;
  }();
  return coefficients;
}

// The sum of c_k / n^(2k-1), with the first omitted term as error.
Enclosure stirling_series(const Integer& n, unsigned scale) {
  const auto& coefficients = stirling_coefficients();
  Enclosure sum{0, 0, scale};
  Integer power = n;
  const Integer square = n * n;
  for (std::size_t k = 0; k < coefficients.size(); ++k) {
    const Integer top = boost::multiprecision::numerator(coefficients[k]) << scale;
    const Integer bottom = boost::multiprecision::denominator(coefficients[k]) * power;
    const Integer low = floor_div(top, bottom), high = ceil_div(top, bottom);
    const bool last = k + 1 == coefficients.size() || (low >= -1 && high <= 1);
    if (last) {
      if (low < 0) sum.low += low;
      if (high > 0) sum.high += high;
      break;
    }
    sum.low += low;
    sum.high += high;
    power *= square;
  }
  return sum;
}

}  // namespace

double Enclosure::midpoint() const {
  const Integer sum = low + high;
  return std::ldexp(sum.convert_to<double>(), -static_cast<int>(scale) - 1);
}

unsigned bit_length(const Integer& n) {
  RUNG_REQUIRE(n >= 0, "n={}", n.str());
  return n == 0 ? 0 : static_cast<unsigned>(boost::multiprecision::msb(n)) + 1;
}

Enclosure lg_enclosure(const Integer& b, unsigned scale) {
  RUNG_REQUIRE(b >= 1, "b={}", b.str());
  const unsigned k = bit_length(b) - 1;
  const Integer floor_power = Integer(1) << k;
  if (b == floor_power) return {Integer(k) << scale, Integer(k) << scale, scale};
  const unsigned fine = scale + kGuardBits;
  const Enclosure mantissa = divide(twice_artanh(b - floor_power, b + floor_power, fine), ln_two(fine));
  const Integer whole = Integer(k) << fine;
  return coarser({whole + mantissa.low, whole + mantissa.high, fine}, scale);
}

Enclosure lg_factorial_enclosure(const Integer& n, unsigned scale) {
  RUNG_REQUIRE(n >= 0, "n={}", n.str());
  if (n < kSmallFactorial) {
    Integer product = 1;
    for (unsigned i = 2; i <= n; ++i) product *= i;
    return lg_enclosure(product, scale);
  }
  // lg n! = ((2n+1) lg n + lg 2pi) / 2 + lg e * (series - n)
  const unsigned fine = scale + bit_length(n) + kGuardBits;
  const Integer one = Integer(1) << fine;
  const Enclosure lg_n = lg_enclosure(n, fine);
  const Enclosure lg_e = divide({one, one, fine}, ln_two(fine));
  const Enclosure circle = pi(fine);  // lg 2pi = lg(integer pi * 2^fine) + 1 - fine
  const Integer shift = (Integer(1) - Integer(fine)) << fine;
  const Enclosure lg_two_pi{lg_enclosure(circle.low, fine).low + shift,
                            lg_enclosure(circle.high, fine).high + shift, fine};
  const Enclosure series = stirling_series(n, fine);
  const Integer minus_low = series.low - (n << fine),
                minus_high = series.high - (n << fine);  // both negative
  const Enclosure linear{shift_down_floor(minus_low * lg_e.high, fine),
                         shift_down_ceil(minus_high * lg_e.low, fine), fine};
  const Integer low = floor_div((2 * n + 1) * lg_n.low + lg_two_pi.low, 2) + linear.low;
  const Integer high = ceil_div((2 * n + 1) * lg_n.high + lg_two_pi.high, 2) + linear.high;
  return coarser({low, high, fine}, scale);
}

}  // namespace rung
