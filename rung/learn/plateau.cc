#include "rung/learn/plateau.h"

#include <algorithm>

#include "rung/base/require.h"

namespace rung::learn {

Pace pace(const TrainingPlan& plan, const std::vector<CurvePoint>& curve) {
  RUNG_REQUIRE(plan.patience > 0, "patience = {}", plan.patience);
  constexpr double kSlower = 0.25;
  const bool rounds = plan.round_bits || plan.carry_bits;
  const auto last_stage = static_cast<std::int64_t>(plan.support.size() + plan.curriculum.size());
  Pace out;
  double best = 0;
  std::int64_t still = 0;  // evaluations since the last gain, or since the rate fell
  for (const CurvePoint& point : curve) {
    if (point.step <= plan.warmup || point.stage < last_stage || (rounds && !rounds_at(plan, point.step - 1)))
      continue;
    const double accuracy = *std::min_element(point.accuracy.begin(), point.accuracy.end());
    if (accuracy > best + plan.gain) {
      best = accuracy, still = 0;
    } else if (++still >= plan.patience) {
      if (out.share * kSlower < plan.floor) return out.at_rest = true, out;
      out.share *= kSlower, still = 0;
    }
  }
  return out;
}

}  // namespace rung::learn
