// The inequalities of forced certificates, on integers: base^exponent > 2^bits, and C(n, k) > 2^bits, and sums of the latter.
#pragma once

#include "check/integer.h"

namespace rung_check {

// REQUIRES base >= 1, exponent >= 0, bits >= 0. OutOfResources where the power has more than 2^20 bits and rounding the
// logarithm does not decide.
bool power_exceeds(std::int64_t base, Int exponent, Int bits);
// C(n, k) > 2^bits. OutOfResources for k > 2^16.
bool binomial_exceeds(std::int64_t n, std::int64_t k, std::int64_t bits);

// Σ C(n, j) over 1 <= j <= most > 2^bits. OutOfResources for most > 2^16.
bool subsets_exceed(std::int64_t n, std::int64_t most, std::int64_t bits);

}  // namespace rung_check
