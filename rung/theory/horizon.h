// Horizons: the sizes from which a counting bound proves impossibility.
//
// Convention. A bound says "s >= lg count(n)". The horizon of s bits is the LARGEST n at which count(n) <=
// 2^s, so the bound proves nothing up to it, and impossibility from horizon + 1 on: horizon(1024) = 143,
// since 143 lg 143 = 1023.87 and 144 lg 144 = 1032.5. Searches return the FIRST n that certifies (horizon + 1), or
// nothing where no n <= kHorizonLimit does. All searches are on exact integers (counting.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "rung/theory/counting.h"

namespace rung {

inline constexpr std::int64_t kHorizonLimit = std::int64_t{1} << 60;  // tokens

// The first n in 1..kHorizonLimit at which `certifies` holds. What is counted may jump where the tokens pass a power
// of two (widths of sums, buckets); in between, `certifies` may only turn from false to true. `tokens`: how many
// there are at n, never decreasing. Past the first n the bound may prove nothing again for a few sizes, right
// above a power of two.
std::optional<std::int64_t> first_certified(const std::function<__int128(std::int64_t n)>& tokens,
                                            const std::function<bool(std::int64_t n)>& certifies);

// The modulus M of the 2-Sum tasks as a function of n.
struct Modulus {
  enum class Rule { twice_plus_one, square, fixed };
  Rule rule = Rule::twice_plus_one;
  std::int64_t value = 0;  // fixed only, >= 1

  Integer at(std::int64_t n) const;  // 2n+1, n^2, or the value
};
// ⌊(M-1)/2⌋: the values that serve 2-Sum-last and 2-Sum-exists at once, and the common-compression bound.
Integer lower_half(const Integer& M);

// The sides of the bounds, for one n: what the stated number of bits is compared with.
Count eva_count(std::int64_t n);  // n^n
Count index_count(std::int64_t n,
                  std::int64_t alphabet);  // alphabet^n; MQAR, Retrieval with that many values
Count log_linear_count(std::int64_t n);    // n^(2^⌊lg n⌋), against one level's bits
Count log_linear_index_count(std::int64_t n, std::int64_t alphabet);
Count two_sum_count(std::int64_t n, const Integer& M);  // sets of 1..n of M values
Count log_linear_two_sum_count(std::int64_t n,
                               const Integer& M);  // C(M or M-1, 2^⌊lg n⌋); 1 where that is too few
Count seqcomp_count(const Integer& arguments);     // N^N, N = N_{L-1}

// One (B, k)-sparse layer on 2-Sum-last. `selected` counts every block that the query can read in full: k,
// plus window_blocks for a sliding branch, plus always-selected blocks.
struct SparseLayer {
  std::int64_t block = 1;           // B, tokens
  std::int64_t selected = 1;        // k, blocks
  Integer message_bits;             // b_cmp, bits per block
  bool position_dependent = false;  // compression may differ from block to block
};
// ⌈w/B⌉ + 1: what a window of w tokens adds to `selected`.
std::int64_t window_blocks(std::int64_t window, std::int64_t block);
// d*: the largest d with sum of C(d, j), j <= B, at most 2^message_bits. At most kHorizonLimit.
Integer determined_values(const Integer& message_bits, std::int64_t block);
// Does the bound prove 2-Sum-last with n tokens and M' = `values` allowed values impossible? Common
// compression:
// C(M', B) > 2^b_cmp and more than k complete blocks. Position-dependent: d* < M' - B and (1 - d*/M') ⌊n/B⌋ >
// k.
bool sparse_two_sum_impossible(const SparseLayer& layer, std::int64_t n, const Integer& values);
// With M' = modulus.at(n) (2-Sum-last allows all values).
std::optional<std::int64_t> sparse_two_sum_certified_from(const SparseLayer& layer, const Modulus& modulus);

}  // namespace rung
