// The inequalities of forced certificates, on integers: base^exponent > 2^bits, C(n, k) > 2^bits, sums
// of the latter, and the one about images of random functions. What they multiply is charged before it is
// done, a word of 64 bits as one multiply-add.
#pragma once

#include "check/integer.h"
#include "check/verdict.h"

namespace rung_check {

// REQUIRES base >= 1, exponent >= 0, bits >= 0. OutOfResources where the power has more than 2^20 bits and
// rounding the logarithm does not decide.
bool power_exceeds(std::int64_t base, Int exponent, Int bits, Budget& budget);
// C(n, k) > 2^bits. OutOfResources for k > 2^16.
bool binomial_exceeds(std::int64_t n, std::int64_t k, std::int64_t bits, Budget& budget);

// Σ C(n, j) over least <= j <= most > 2^bits, least 0 or 1. OutOfResources for most > 2^16.
bool subsets_exceed(std::int64_t n, std::int64_t least, std::int64_t most, std::int64_t bits, Budget& budget);

// x0 lg(2m / (e T x0)) >= 2 bits + 2/T: among functions [m] -> [m] of density 2^-bits some T reach half of
// all T x0 values at x0 arguments. Decided on integers, with e rounded up at its ninth place: true is
// certain. REQUIRES m, T, x0 >= 1, bits >= 0. OutOfResources where the powers have more than 2^20 bits and
// rounding the logarithms does not decide.
bool images_spread(std::int64_t m, std::int64_t T, std::int64_t x0, Int bits, Budget& budget);

}  // namespace rung_check
