// The arithmetic of docs/weights.md, "Numbers", on integers that cannot overflow. Slow, plain, and sharing
// nothing with rung/exact: every function is its sentence on the page.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <vector>

namespace rung::plain {

using Big = boost::multiprecision::cpp_int;
using Row = std::vector<Big>;
using Rows = std::vector<Row>;  // one row a position

inline Big power_of_two(std::int64_t exponent) { return Big(1) << static_cast<unsigned>(exponent); }

// REQUIRES d > 0.
inline Big floor_quotient(const Big& n, const Big& d) {
  Big q = n / d;  // towards zero
  if (n < 0 && q * d != n) q -= 1;
  return q;
}

// n / d to the nearest integer, ties to even. REQUIRES d > 0.
inline Big round_quotient(const Big& n, const Big& d) {
  const Big below = floor_quotient(n, d), twice_rest = 2 * (n - below * d);
  if (twice_rest < d) return below;
  if (twice_rest > d) return below + 1;
  return below % 2 == 0 ? below : Big(below + 1);
}

inline Big rsh(const Big& x, std::int64_t r) {
  return r <= 0 ? Big(x * power_of_two(-r)) : round_quotient(x, power_of_two(r));
}

inline Big clip(const Big& x, const Big& low, const Big& high) { return x < low ? low : x > high ? high : x; }

inline Big sat(const Big& x, std::int64_t bits) {
  return clip(x, -power_of_two(bits - 1), power_of_two(bits - 1) - 1);
}

inline Big wrap(const Big& x, std::int64_t bits) {
  const Big modulus = power_of_two(bits), rest = x - floor_quotient(x, modulus) * modulus;
  return rest >= power_of_two(bits - 1) ? Big(rest - modulus) : rest;
}

inline Big quot(Big num, Big den, const Big& c) {
  if (den == 0) return 0;
  if (den < 0) {
    num = -num;
    den = -den;
  }
  return floor_quotient(2 * c * num + den, 2 * den);
}

// floor(sqrt(x)) by bisection. REQUIRES x >= 0.
inline Big isqrt(const Big& x) {
  Big low = 0, high = x + 1;  // low² <= x < high²
  while (high - low > 1) {
    const Big middle = (low + high) / 2;
    (middle * middle <= x ? low : high) = middle;
  }
  return low;
}

inline Big dot(const Row& a, const Row& b) {
  Big sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

inline Big relu(const Big& x) { return x > 0 ? x : Big(0); }

}  // namespace rung::plain
