// Accuracy ceilings: the best average accuracy of any model that keeps s bits of a uniformly random table.
//
// Claim (Fano per coordinate, convexity). A table of n independent uniform values from an alphabet of σ is
// read through s bits. If argument x is answered correctly with probability a_x >= 1/σ, then Σ_x R(a_x) <= s
// with
//   R(a) = lg σ - h(a) - (1-a) lg(σ-1),
// the bits that one answer of accuracy a carries: R(1/σ) = 0, R(1) = lg σ, convex. Uniform queries: n R(a) <=
// s. Every ceiling returned is an upper bound in spite of rounding: it is pushed up by the error of its
// evaluation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rung/base/result.h"
#include "rung/theory/counting.h"

namespace rung {

// Best average accuracy with `bits` at n uniform queries; in [1/σ, 1]; 1 where n lg σ <= bits.
// REQUIRES n >= 1, alphabet >= 1, bits >= 0.
double accuracy_ceiling(std::int64_t n, std::int64_t alphabet, const Integer& bits);
// Eva: the alphabet is n.
inline double accuracy_ceiling(std::int64_t n, const Integer& bits) { return accuracy_ceiling(n, n, bits); }

// The inverse: bits that a model of this average accuracy must have kept, rounded down; 0 below chance.
double effective_bits(std::int64_t n, std::int64_t alphabet, double accuracy);

// Log-linear attention at query position n: the set bits of n split [0, n) into buckets, oldest and largest
// first, each behind `bits` of state (one level, summed over the layers).
struct BucketCeiling {
  std::int64_t size = 0;  // tokens
  double ungated = 1;     // b_i R(a_i) <= s
  double gated = 1;  // only the prefix form holds: this bucket alone, with the budget i s of all older ones
};
struct LogLinearCeiling {
  std::vector<BucketCeiling> buckets;
  double average = 1;  // of uniform queries; the same in both cases, since spending later never pays
};
LogLinearCeiling log_linear_ceiling(std::int64_t n, std::int64_t alphabet, const Integer& bits);

// Queries that are not uniform: maximise Σ q_x a_x subject to Σ_x R(a_x) <= s. The Lagrange dual at price λ
// is
//   g(λ) = λ (s + Σ_x lg((2^(q_x/λ) + σ - 1)/σ)),
// and every λ > 0 gives an upper bound, so the value returned is certified whatever the search for λ did.
struct QueryCeiling {
  double upper = 1;     // g(λ), rounded up
  double attained = 0;  // Σ q_x a_x of a feasible point: how tight the bound is
  double price = 0;     // λ
};
// REQUIRES q nonnegative with sum 1 (up to rounding), alphabet >= 2, bits >= 0.
QueryCeiling query_ceiling(const std::vector<double>& q, std::int64_t alphabet, double bits);

// q_x proportional to 1/(x+1). REQUIRES n >= 1.
std::vector<double> zipf_queries(std::int64_t n);
// One nonnegative weight a line, normalised; blank lines and lines that start with # are skipped.
Result<std::vector<double>> read_queries(const std::string& path);

// The number with `digits` decimals, never below it: "0.620". REQUIRES 0 <= value <= 1.
std::string format_ceiling(double value, int digits = 4);

}  // namespace rung
