// The integer operations of mode X, each defined once. Every evaluator that claims to run a rung model must
// agree with these functions bit for bit (docs/weights.md restates them for other languages).
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "rung/base/ceil_lg.h"

namespace rung {

using Int128 = __int128;

// x / 2^shift, rounded to nearest, ties to even. A negative shift multiplies. REQUIRES -62 <= shift <= 120
// and no overflow in the multiplication.
template <class Wide>
constexpr Wide shift_half_even(Wide x, int shift) {
  if (shift == 0) return x;
  if (shift < 0) return x * (Wide{1} << -shift);
  if (shift >= static_cast<int>(sizeof(Wide)) * 8 - 1) return 0;  // |x| < 2^shift / 2 for every x that occurs
  const Wide quotient = x >> shift;                               // floor, also for negative x
  const Wide rest = x - (quotient << shift);                      // in [0, 2^shift)
  const Wide half = Wide{1} << (shift - 1);
#ifdef RUNG_WRONG_ROUNDING  // for one test alone (tests/check/rounding): halves away from zero, which rung-check must notice
  return rest > half || (rest == half && quotient >= 0) ? quotient + 1 : quotient;
#endif
  if (rest > half || (rest == half && (quotient & 1))) return quotient + 1;
  return quotient;
}

// Bits by which rsh(x, shift) is longer than x: a negative shift multiplies.
constexpr int shift_growth(int shift) { return shift < 0 ? -shift : 0; }

// Saturation to the signed range of `bits` bits. REQUIRES 1 <= bits <= 62.
template <class Wide>
constexpr std::int64_t saturate(Wide x, int bits) {
  const std::int64_t high = (std::int64_t{1} << (bits - 1)) - 1;
  const std::int64_t low = -high - 1;
  if (x > high) return high;
  if (x < low) return low;
  return static_cast<std::int64_t>(x);
}

// Two's-complement wrap to `bits` bits. REQUIRES 1 <= bits <= 62.
template <class Wide>
constexpr std::int64_t wrap(Wide x, int bits) {
  const auto low_bits = static_cast<std::uint64_t>(x) & ((std::uint64_t{1} << bits) - 1);
  const auto sign = std::uint64_t{1} << (bits - 1);
  return static_cast<std::int64_t>((low_bits ^ sign) - sign);
}

template <class Wide>
constexpr Wide floor_divide(Wide a, Wide b) {  // REQUIRES b > 0
  const Wide quotient = a / b;
  return (a % b < 0) ? quotient - 1 : quotient;
}

// The rounded quotient of an attention head: floor((2 c num + den) / (2 den)), and 0 when den = 0. A negative
// den (features that may be negative) is moved into num first.
template <class Wide>
constexpr Wide rounded_quotient(Wide num, Wide den, Wide c) {
  if (den == 0) return 0;
  if (den < 0) {
    num = -num;
    den = -den;
  }
  return floor_divide<Wide>(2 * c * num + den, 2 * den);
}

// a / b to nearest, ties to even. REQUIRES b > 0.
template <class Wide>
constexpr Wide divide_half_even(Wide a, Wide b) {
  const Wide quotient = floor_divide(a, b);
  const Wide rest = a - quotient * b;
  if (2 * rest > b || (2 * rest == b && (quotient & 1))) return quotient + 1;
  return quotient;
}

// Floor of the square root. REQUIRES x >= 0.
constexpr Int128 integer_sqrt(Int128 x) {
  if (x < 2) return x;
  Int128 low = 0, high = Int128{1} << 63;  // invariant: low^2 <= x < high^2
  while (high - low > 1) {
    const Int128 middle = (low + high) / 2;
    (middle * middle <= x ? low : high) = middle;
  }
  return low;
}

// Bits of a non-negative number: 0 for 0, else floor(lg x) + 1.
constexpr int bit_length(std::uint64_t x) { return 64 - std::countl_zero(x); }

}  // namespace rung
