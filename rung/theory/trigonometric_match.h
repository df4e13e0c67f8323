// Matching x + y ≡ 0 (mod M) with three numbers: cosines of angles, in integers.
//
// Claim. Token x has θ = 2πx/M, query (cos θ, sin θ, 1), key (cos θ, -sin θ, -1): c times the product is
// c(cos(θ_i + θ_j) - 1), which is 0 on a match and at most -8c/M² otherwise, because 1 - cos φ >= 2φ²/π². A
// blank token has key (0, 0, κ - 1) and value 0, the others value 1.
//   threshold blank, κ = 1 - 4/M², c = (M²/4) log 4n:   a match gives y > 1/2 (it outweighs the blank), none gives y <= 1/4
//   counting blank,  κ = 1,        c = (M²/8) log 16n:  y is within 1/16 of cnt/(cnt+1)
// Reference: Sanford, Hsu, Telgarsky 2306.02896 (the idea); blank, constants and integers are ours.
//
// Integers. cos and sin are round(2^f ·), so with u = 2^-(f+1) a product is off by at most (2√2 u + 2u²), and
// c enters through the table:
// scores are rsh(q·k, r), weights exp(tau s) with tau = c 2^(r-2f). All numbers have f + 2 bits.
#pragma once

#include "rung/theory/score_table.h"
#include "rung/theory/softmax_gadgets.h"

namespace rung {

enum class Blank { threshold, counting };

struct TrigonometricMatch {
  std::int64_t n = 0, modulus = 0;  // keys that may match; M
  Blank blank = Blank::threshold;
  int fraction = 0;  // f
  double scale = 0;  // c
  int shift = 0;     // r
  ScoreTable scores;
  std::int64_t blank_key = 0;  // (κ - 1) 2^f, rounded

  std::int64_t one() const { return std::int64_t{1} << fraction; }
  std::int64_t cosine(std::int64_t x) const;
  std::int64_t sine(std::int64_t x) const;

  // rsh(q·k, r) of the query x and the key y, or of any query and the blank, as the machine computes it
  // before clipping.
  std::int64_t score(std::int64_t x, std::int64_t y) const;
  std::int64_t blank_score() const;

  // Bounds over all pairs, from the lemma: least weight of a match, largest of any other pair, the blank's.
  std::int64_t match_weight() const, other_weight() const, blank_weight() const;
};

// 2^(f+1), which blanks a key, is still a weight of 46 bits.
inline constexpr int kMaxTrigonometricFraction = 45;

// c of the claim.
double trigonometric_scale(std::int64_t n, std::int64_t modulus, Blank blank);
// ⌈2 lg M + lg log 16n⌉: fraction bits that suffice (the interval argument confirms them at each size).
int trigonometric_fraction(std::int64_t n, std::int64_t modulus);
// REQUIRES n >= 1, M >= 1, 0 <= fraction <= kMaxTrigonometricFraction.
TrigonometricMatch trigonometric_match(std::int64_t n, std::int64_t modulus, Blank blank, int fraction);

// How outputs are read. With the counting blank y is a whole number of sixteenths.
inline constexpr std::int64_t kCountingSteps = 16;
inline constexpr std::int64_t kAnyMatch =
    5;  // above 1/4 by one step: one match gives 8/16, none at most 1/16
inline constexpr std::int64_t kMoreThanItself = 10;  // above 7/12: itself alone gives 8/16, one more 10.7/16
inline constexpr int kSignAndOne = 2;                // bits beside the fraction: 2^f itself is a number

// 2-Sum-last: yes iff y is above 1/2 (threshold blank), or above 1/4 (counting blank, where one match gives 1/2).
IntervalArgument last_number_argument(const TrigonometricMatch& match);
// The smallest p = f + 2 at which the bounds over all pairs decide; nothing where none up to 47 bits does.
std::optional<int> cosines_precision_proved(std::int64_t n, std::int64_t modulus, Blank blank);

// The same without bounds: every pair's own score, as the machine rounds it. The bounds give away what lies between
// 8/M² and 1 - cos(2π/M), nearly 20/M², and take all four roundings to be the worst of any angle at once, where M angles
// have M roundings; so this holds two or three bits below them. It is exact: where it does not hold some input is
// answered wrong (or weighs exactly half). REQUIRES modulus <= kMostPairs.
inline constexpr std::int64_t kMostPairs = 1 << 12;
IntervalArgument last_number_argument_by_pairs(const TrigonometricMatch& match);
std::optional<int> cosines_precision_by_pairs(std::int64_t n, std::int64_t modulus, Blank blank);

// 2-Sum-exists: kAnyMatch and kMoreThanItself tell no match, one, itself, and itself with one more apart.
IntervalArgument any_pair_argument(const TrigonometricMatch& match);
// ⌈log 4n⌉: flagged tokens outweigh n others four times, in the second layer.
std::int64_t presence_gain(std::int64_t n);
// As above, and y and the gain are numbers of p bits.
std::optional<int> exists_precision_proved(std::int64_t n, std::int64_t modulus);

}  // namespace rung
