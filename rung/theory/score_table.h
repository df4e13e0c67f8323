// Integer softmax weights: E[s] = max(1, round(2^fraction exp(tau s))) for s in [-saturation, 0], the top
// score at 0, so that tables and sums stay small.
//
// Rounding (lemma): |E[s] / 2^fraction - exp(tau s)| <= 2^-fraction, so over T keys all weights together move
// by at most T 2^-fraction of the top weight; weight_fraction(T, guard) = ⌈lg T⌉ + guard keeps that below
// 2^-guard.
#pragma once

#include <cstdint>
#include <vector>

namespace rung {

struct ScoreTable {
  std::int64_t low = 0;  // -saturation
  double tau = 1;
  std::vector<std::int64_t> values;  // E[low] .. E[0]

  // E of any score, clipped as the machine clips it.
  std::int64_t at(std::int64_t score) const;
};

// REQUIRES 1 <= saturation <= kMaxSaturation, 0 <= fraction <= 46, tau > 0.
ScoreTable score_table(std::int64_t saturation, double tau, int fraction);
inline constexpr std::int64_t kMaxSaturation = std::int64_t{1} << 20;  // table entries

// ⌈lg keys⌉ + guard, at most the 46 bits of a weight.
int weight_fraction(std::int64_t keys, int guard);
// Weights of all keys together are off by less than 2^-kWeightGuard of the top weight.
inline constexpr int kWeightGuard = 8;

// The score below which exp(tau s) no longer changes a sum over `keys` at this many bits: ⌈(lg keys + guard)
// log 2 / tau⌉.
std::int64_t useful_saturation(std::int64_t keys, double tau);

}  // namespace rung
