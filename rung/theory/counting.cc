// Claim: bits_suffice and bits_needed are exact for every argument. The proof, form by form:
//  - base^exponent = 2^bits only if base is a power of two (unique factorisation); that case compares integers. Else
//    exponent * lg base is irrational or a non-integer, so doubling the precision ends.
//  - C(M, j) with 2 <= j <= M/2 has a prime divisor above j (Sylvester, Schur), hence an odd one: never a power of 2,
//    and again doubling ends. j <= 1 compares integers.
//  - sums of binomials: from 2n >= M - 1 on they have closed forms against powers of two (closed_form); below,
//    doubling runs to kLastScale and a tie that is still open is multiplied out.
#include "rung/theory/counting.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "rung/base/require.h"

namespace rung {
namespace {

constexpr unsigned kFirstScale = 64;
constexpr unsigned kLastScale = 512;        // Stirling's series is sharp to here
constexpr unsigned kMultiplyOut = 1 << 12;  // binary digits below which the exact value is the fast way
constexpr std::int64_t kFirstTerms = 2048;  // of the tail of a sum of binomials
constexpr std::int64_t kPrintTerms = 1 << 20;
// First look: long double logarithms are trusted to 2^-50 of the largest term, some ten thousand times their
// error.
constexpr long double kTrust = 0x1p-50L;
constexpr unsigned kLookDigits = 1000;  // binary digits of a and b up to which a long double holds them

bool is_power_of_two(const Integer& b) { return b == Integer(1) << (bit_length(b) - 1); }

Integer binomial_value(const Integer& M, Integer j) {
  if (2 * j > M) j = M - j;
  Integer product = 1;
  for (Integer i = 0; i < j; ++i) product = product * (M - i) / (i + 1);
  return product;
}

Enclosure binomial_enclosure(const Integer& M, const Integer& j, unsigned scale) {
  const Enclosure all = lg_factorial_enclosure(M, scale), in = lg_factorial_enclosure(j, scale),
                  out = lg_factorial_enclosure(M - j, scale);
  return {all.low - in.high - out.high, all.high - in.low - out.low, scale};
}

// lg(1 + n/(M-n+1) + n(n-1)/((M-n+1)(M-n+2)) + ...): what the smaller subsets add to lg C(M, n). `last` is
// the number of ratios until the smallest subset. REQUIRES 2n < M, so the ratios fall and stay below 1.
Enclosure tail_enclosure(const Integer& M, const Integer& n, const Integer& last, std::int64_t terms,
                         unsigned scale) {
  const unsigned fine = scale + 32;
  const Integer one = Integer(1) << fine;
  Integer low = one, high = one, term_low = one, term_high = one;
  Integer above = n, below = M - n + 1;  // the next ratio
  Integer done = 0;
  for (std::int64_t i = 0; i < terms && done < last && term_high > 1; ++i, ++done, --above, ++below) {
    term_low = term_low * above / below;
    term_high = term_high * above / below + 1;
    low += term_low;
    high += term_high;
  }
  if (done < last) {  // the rest is below a geometric series
    high += term_high * above / (below - above) + 1;
  }
  return {lg_enclosure(low, scale).low - (Integer(fine) << scale),
          lg_enclosure(high, scale).high - (Integer(fine) << scale), scale};
}

// lg x! to an absolute error of 0.01 (the omitted terms of Stirling's series for x >= 1) plus rounding.
long double rough_lg_factorial(long double x) {
  if (x < 1) return 0;
  constexpr long double lg_e = std::numbers::log2e_v<long double>;
  return (x + 0.5L) * std::log2(x) - x * lg_e + 0.5L * std::log2(2 * std::numbers::pi_v<long double>) +
         lg_e / (12 * x);
}

}  // namespace

Count::Count(Form form, Integer a, Integer b) : form_(form), a_(std::move(a)), b_(std::move(b)) {}

Count Count::power(Integer base, Integer exponent) {
  RUNG_REQUIRE(base >= 1 && exponent >= 0, "base={} exponent={}", base.str(), exponent.str());
  return {Form::power, std::move(base), std::move(exponent)};
}
Count Count::binomial(Integer M, Integer j) {
  RUNG_REQUIRE(j >= 0 && j <= M, "M={} j={}", M.str(), j.str());
  Integer mirrored = M - j;
  if (mirrored < j) j = std::move(mirrored);
  return {Form::binomial, std::move(M), std::move(j)};
}
Count Count::subsets(Integer M, Integer n) {
  RUNG_REQUIRE(M >= 1 && n >= 1, "M={} n={}", M.str(), n.str());
  if (n > M) n = M;
  return {Form::subsets, std::move(M), std::move(n)};
}
Count Count::subsets_or_empty(Integer M, Integer n) {
  RUNG_REQUIRE(M >= 0 && n >= 0, "M={} n={}", M.str(), n.str());
  if (n > M) n = M;
  return {Form::subsets_or_empty, std::move(M), std::move(n)};
}

bool Count::small(unsigned digits) const {
  const Integer limit = digits;
  switch (form_) {
    case Form::power:
      return b_ == 0 || a_ == 1 || b_ * bit_length(a_) <= limit;
    case Form::binomial:
      return b_ * bit_length(a_) <= limit;
    default:
      return a_ <= limit || (b_ + 1) * bit_length(a_) <= limit;
  }
}

Integer Count::multiplied_out() const {
  switch (form_) {
    case Form::power: {
      if (a_ == 1 || b_ == 0) return 1;
      return boost::multiprecision::pow(a_, b_.convert_to<unsigned>());
    }
    case Form::binomial:
      return binomial_value(a_, b_);
    default: {
      Integer term = 1, sum = form_ == Form::subsets ? 0 : 1;
      for (Integer j = 1; j <= b_; ++j) {
        term = term * (a_ - j + 1) / j;
        sum += term;
      }
      return sum;
    }
  }
}

std::optional<Integer> Count::value(unsigned digits) const {
  if (!small(digits)) return std::nullopt;
  return multiplied_out();
}

Enclosure Count::enclosure(unsigned scale, std::int64_t terms) const {
  switch (form_) {
    case Form::power: {
      const unsigned fine = scale + bit_length(b_);
      const Enclosure lg_base = lg_enclosure(a_, fine);
      return {b_ * lg_base.low, b_ * lg_base.high, fine};
    }
    case Form::binomial:
      return binomial_enclosure(a_, b_, scale);
    default: {
      const Integer last = form_ == Form::subsets ? Integer(b_ - 1) : b_;
      const Enclosure largest = binomial_enclosure(a_, b_, scale);
      const Enclosure tail = tail_enclosure(a_, b_, last, terms, scale);
      return {largest.low + tail.low, largest.high + tail.high, scale};
    }
  }
}

// The comparison with 2^bits where it needs no logarithm.
std::optional<bool> Count::closed_form(const Integer& bits) const {
  if (form_ == Form::power) {
    if (b_ == 0) return true;
    if (is_power_of_two(a_)) return b_ * (bit_length(a_) - 1) <= bits;
    return std::nullopt;
  }
  if (form_ != Form::binomial && a_ >= 3) {
    // 2n = M - 1 (M odd): half of all subsets, 2^(M-1), perhaps less the empty one; above 2^(M-2) either way.
    if (2 * b_ == a_ - 1) return a_ - 1 <= bits;
    // 2n >= M: above 2^(M-1), even without the empty set (C(M, ⌈M/2⌉) >= 3), and at most 2^M.
    if (2 * b_ >= a_) return a_ <= bits;
  }
  if (small(kMultiplyOut)) return bit_length(multiplied_out() - 1) <= bits;
  return std::nullopt;
}

// The answer where floating point leaves no doubt.
std::optional<bool> Count::first_look(const Integer& bits) const {
  if (bit_length(a_) > kLookDigits || bit_length(b_) > kLookDigits || bit_length(bits) > kLookDigits)
    return std::nullopt;
  const auto a = a_.convert_to<long double>(), b = b_.convert_to<long double>(),
             s = bits.convert_to<long double>();
  long double low, high, largest;
  if (form_ == Form::power) {
    low = high = largest = b * std::log2(a);
  } else {
    largest = rough_lg_factorial(a);
    low = high = largest - rough_lg_factorial(b) - rough_lg_factorial(a - b);
    if (form_ != Form::binomial)
      high += std::log2((a - b + 1) / (a - 2 * b + 1));  // geometric series; 2n < M - 1
  }
  const long double error = 0.1L + kTrust * (largest + s);
  if (high + error < s) return true;
  if (low - error > s) return false;
  return std::nullopt;
}

bool bits_suffice(const Integer& bits, const Count& count) {
  if (bits < 0) return false;
  if (const auto closed = count.closed_form(bits)) return *closed;
  if (const auto look = count.first_look(bits)) return *look;
  const bool may_tie = count.form_ == Count::Form::subsets || count.form_ == Count::Form::subsets_or_empty;
  std::int64_t terms = kFirstTerms;
  for (unsigned scale = kFirstScale;; scale *= 2, terms *= 64) {
    const Enclosure lg = count.enclosure(scale, terms);
    const Integer scaled = bits << lg.scale;
    if (lg.high <= scaled) return true;
    if (lg.low > scaled) return false;
    if (may_tie && scale >= kLastScale) return bit_length(count.multiplied_out() - 1) <= bits;
  }
}

Integer bits_needed(const Count& count) {
  if (const auto value = count.value(kMultiplyOut)) return bit_length(*value - 1);
  Integer low = 0, high = 1;  // bits_suffice(high) at the end of the doubling; then bisection
  while (!bits_suffice(high, count)) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const Integer middle = (low + high) / 2;
    (bits_suffice(middle, count) ? high : low) = middle;
  }
  return high;
}

double Count::lg() const {
  if (const auto exact = value(kMultiplyOut)) return lg_enclosure(*exact, kFirstScale).midpoint();
  if (form_ == Form::power || form_ == Form::binomial || 2 * b_ < a_ - 1)
    return enclosure(kFirstScale, kPrintTerms).midpoint();
  // From 2n >= M - 1 on: 2^M less the subsets that are too large, which are as many as the small complements.
  const Integer complement = a_ - b_ - 1;
  const double M = a_.convert_to<double>();
  if (complement < 0) return M;
  if (2 * b_ == a_ - 1) return M - 1;
  const double missing = std::exp2(subsets_or_empty(a_, complement).lg() - M);
  return M + std::log1p(-missing) / std::log(2.0);
}

std::string Count::formula() const {
  const std::string a = a_.str(), b = b_.str();
  switch (form_) {
    case Form::power:
      return a + "^" + b;
    case Form::binomial:
      return "C(" + a + "," + b + ")";
    case Form::subsets:
      return "sum of C(" + a + ",1.." + b + ")";
    case Form::subsets_or_empty:
      return "sum of C(" + a + ",0.." + b + ")";
  }
  return {};
}

}  // namespace rung
