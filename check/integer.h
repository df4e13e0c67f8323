// The integers of docs/weights.md, "Numbers": rsh, sat, wrap, quot, isqrt. Sums and products are 128 bits
// wide and checked: one that does not fit ends the run, it never wraps.
#pragma once

#include <algorithm>

#include "check/verdict.h"

namespace rung_check {

__extension__ using Int = __int128;

[[noreturn]] inline void too_wide() {
  throw OutOfResources("a number of the forward pass needs more than 127 bits");
}

inline Int add(Int a, Int b) {
  Int sum;
  if (__builtin_add_overflow(a, b, &sum)) too_wide();
  return sum;
}
inline Int mul(Int a, Int b) {
  Int product;
  if (__builtin_mul_overflow(a, b, &product)) too_wide();
  return product;
}
inline Int product(std::int64_t a, std::int64_t b) { return static_cast<Int>(a) * b; }  // always fits
inline Int positive_part(Int x) { return std::max<Int>(0, x); }
// A number that is kept: at most 2^62 in absolute value.
inline std::int64_t kept(Int x) {
  if (x > kLargestNumber || x < -kLargestNumber)
    throw OutOfResources("a stored number needs more than 62 bits");
  return static_cast<std::int64_t>(x);
}

// x / 2^r to the nearest integer, ties to even. r from -40 to 100.
inline Int rsh(Int x, std::int64_t r) {
  if (r <= 0) return mul(x, Int{1} << -r);
  const Int floor = x >> r, rest = x - (floor << r), half = Int{1} << (r - 1);
  if (rest > half || (rest == half && (floor & 1))) return floor + 1;
  return floor;
}
inline std::int64_t sat(Int x, std::int64_t bits) {
  const Int most = (Int{1} << (bits - 1)) - 1;
  return static_cast<std::int64_t>(std::clamp(x, -most - 1, most));
}
inline std::int64_t wrap(Int x, std::int64_t bits) {
  const Int modulus = Int{1} << bits;
  Int rest = x & (modulus - 1);  // two's complement: x modulo 2^bits, not negative
  if (rest >= modulus / 2) rest -= modulus;
  return static_cast<std::int64_t>(rest);
}
inline Int floor_div(Int a, Int b) {  // b > 0
  const Int quotient = a / b;
  return a % b < 0 ? quotient - 1 : quotient;
}
// floor((2·c·num + den) / (2·den)); 0 if den = 0.
inline Int quot(Int num, Int den, std::int64_t c) {
  if (den == 0) return 0;
  if (den < 0) {
    num = mul(num, -1);
    den = mul(den, -1);
  }
  return floor_div(add(mul(mul(2, c), num), den), mul(2, den));
}
// a / b to the nearest integer, ties to even; b > 0.
inline Int round_div(Int a, Int b) {
  const Int floor = floor_div(a, b), rest = a - floor * b, other = b - rest;
  return rest > other || (rest == other && (floor & 1)) ? floor + 1 : floor;
}
inline Int isqrt(Int x) {  // x >= 0
  if (x >> 126) too_wide();
  Int root = 0;
  for (int bit = 62; bit >= 0; --bit) {
    const Int tried = root | (Int{1} << bit);
    if (tried * tried <= x) root = tried;
  }
  return root;
}
inline std::int64_t ceil_lg(std::uint64_t x) {  // x >= 1
  std::int64_t lg = 0;
  while (lg < 64 && (Int{1} << lg) < static_cast<Int>(x)) ++lg;
  return lg;
}
inline std::int64_t bit_length(std::uint64_t x) { return x == 0 ? 0 : 64 - __builtin_clzll(x); }

}  // namespace rung_check
