// Thinning keeps ends, order, and what stands out.
#include "rung/records/curve.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <algorithm>

namespace rung {
namespace {

AccuracyCurve flat(std::size_t count) {
  AccuracyCurve curve;
  for (std::size_t i = 0; i < count; ++i) curve.emplace_back(static_cast<std::int64_t>(i), 0.5);
  return curve;
}

TEST(thinned, keeps_a_spike) {
  auto curve = flat(1000);
  curve[371].second = 1;
  const auto kept = thinned(curve, 20);
  EXPECT_TRUE(std::find(kept.begin(), kept.end(), curve[371]) != kept.end());
}

TEST(thinned, leaves_short_curves_alone) {
  for (std::size_t count : {0u, 1u, 2u, 3u, 20u}) EXPECT_EQ(thinned(flat(count), 20), flat(count));
}

TEST(thinned, knows_limits_below_two) {
  for (std::size_t limit : {0u, 1u, 2u})
    EXPECT_EQ(thinned(flat(50), limit), (AccuracyCurve{{0, 0.5}, {49, 0.5}}));
}

TEST(curve, of_a_training_has_every_task_at_steps_in_order) {
  const std::vector<CurvePoint> curve{{10, 0, 1, {0.5, 0.5}}, {20, 1, 1, {1, 1}}};
  EXPECT_TRUE(is_curve_of(curve, 2, 20));
  EXPECT_TRUE(is_curve_of({}, 2, 20));
  EXPECT_FALSE(is_curve_of(curve, 1, 20));
  EXPECT_FALSE(is_curve_of(curve, 2, 19));
  EXPECT_FALSE(is_curve_of({curve[1], curve[0]}, 2, 20));
  EXPECT_FALSE(is_curve_of({{0, 0, 1, {1, 1}}}, 2, 20));
  EXPECT_FALSE(is_curve_of({{1, -1, 1, {1, 1}}}, 2, 20));
}

RC_GTEST_PROP(thinned, keeps_ends_order_and_points, (const std::vector<double>& values)) {
  AccuracyCurve curve;
  for (std::size_t i = 0; i < values.size(); ++i) curve.emplace_back(static_cast<std::int64_t>(i), values[i]);
  const auto limit = *rc::gen::inRange<std::size_t>(0, 40);
  const auto kept = thinned(curve, limit);
  RC_ASSERT(kept.size() == std::min(curve.size(), std::max(limit, std::size_t{2})));
  if (curve.empty()) return;
  RC_ASSERT(kept.front() == curve.front() && kept.back() == curve.back());
  for (std::size_t i = 1; i < kept.size(); ++i) RC_ASSERT(kept[i - 1].first < kept[i].first);
  for (const AccuracyPoint& point : kept) RC_ASSERT(curve[static_cast<std::size_t>(point.first)] == point);
}

TEST(accuracy, of_several_tasks_is_the_first_or_the_lowest) {
  const std::vector<CurvePoint> curve = {{10, 0, 1, {0.9, 0.2}}, {20, 0, 1, {}}, {30, 0, 1, {0.7}}};
  EXPECT_EQ(first_accuracy(curve), (AccuracyCurve{{10, 0.9}, {30, 0.7}}));
  EXPECT_EQ(lowest_accuracy(curve), (AccuracyCurve{{10, 0.2}, {30, 0.7}}));
  EXPECT_EQ(rounded({{1, 0.123456}}), (AccuracyCurve{{1, 0.1235}}));
}

}  // namespace
}  // namespace rung
