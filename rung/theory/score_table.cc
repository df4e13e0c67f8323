#include "rung/theory/score_table.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "rung/base/ceil_lg.h"
#include "rung/base/require.h"
#include "rung/spec/weights.h"

namespace rung {

std::int64_t ScoreTable::at(std::int64_t score) const {
  return values[static_cast<std::size_t>(std::clamp<std::int64_t>(score, low, 0) - low)];
}

ScoreTable score_table(std::int64_t saturation, double tau, int fraction) {
  RUNG_REQUIRE(saturation >= 1 && saturation <= kMaxSaturation && tau > 0, "saturation={} tau={}", saturation,
               tau);
  RUNG_REQUIRE(fraction >= 0 && std::int64_t{1} << fraction <= kMaxWeight, "fraction={}", fraction);
  ScoreTable table{-saturation, tau, {}};
  for (std::int64_t s = -saturation; s <= 0; ++s)
    table.values.push_back(
        std::max<std::int64_t>(1, std::llrint(std::ldexp(std::exp(tau * static_cast<double>(s)), fraction))));
  return table;
}

int weight_fraction(std::int64_t keys, int guard) {
  RUNG_REQUIRE(keys >= 1, "keys={}", keys);
  return std::min(46, ceil_lg(static_cast<std::uint64_t>(keys)) + guard);
}

std::int64_t useful_saturation(std::int64_t keys, double tau) {
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::ceil(weight_fraction(keys, kWeightGuard) * std::numbers::ln2 / tau)));
}

}  // namespace rung
