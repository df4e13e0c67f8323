// Thinning keeps ends, order, and what stands out.
#include "rung/report/thinning.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <algorithm>
#include <nlohmann/json.hpp>

namespace rung::report {
namespace {

std::vector<CurvePoint> flat(std::size_t count) {
  std::vector<CurvePoint> curve;
  for (std::size_t i = 0; i < count; ++i) curve.push_back({static_cast<double>(i), 0.5});
  return curve;
}

TEST(thinned, keeps_a_spike) {
  auto curve = flat(1000);
  curve[371].value = 1;
  const auto kept = thinned(curve, 20);
  EXPECT_TRUE(std::find(kept.begin(), kept.end(), curve[371]) != kept.end());
}

TEST(thinned, leaves_short_curves_alone) {
  for (std::size_t count : {0u, 1u, 2u, 3u, 20u}) EXPECT_EQ(thinned(flat(count), 20), flat(count));
}

TEST(thinned, knows_limits_below_two) {
  for (std::size_t limit : {0u, 1u, 2u})
    EXPECT_EQ(thinned(flat(50), limit), (std::vector<CurvePoint>{{0, 0.5}, {49, 0.5}}));
}

RC_GTEST_PROP(thinned, keeps_ends_order_and_points, (const std::vector<double>& values)) {
  std::vector<CurvePoint> curve;
  for (std::size_t i = 0; i < values.size(); ++i) curve.push_back({static_cast<double>(i), values[i]});
  const auto limit = *rc::gen::inRange<std::size_t>(0, 40);
  const auto kept = thinned(curve, limit);
  RC_ASSERT(kept.size() <= std::max({limit, std::size_t{2}}));
  RC_ASSERT(kept.size() == std::min(curve.size(), std::max(limit, std::size_t{2})));
  if (curve.empty()) return;
  RC_ASSERT(kept.front() == curve.front() && kept.back() == curve.back());
  for (std::size_t i = 1; i < kept.size(); ++i) RC_ASSERT(kept[i - 1].step < kept[i].step);
  for (const CurvePoint& point : kept) RC_ASSERT(curve[static_cast<std::size_t>(point.step)] == point);
}

TEST(read_curve, takes_both_forms_and_passes_over_the_rest) {
  const auto curve = read_curve(nlohmann::json::parse(
      R"([[0, 0.1], {"step": 5, "accuracy": [0.2, 0.9]}, {"step": 6, "accuracy": 0.3}, [1], "x", {"step": 7}, [8, null], {"step": 9, "accuracy": []}])"));
  EXPECT_EQ(curve, (std::vector<CurvePoint>{{0, 0.1}, {5, 0.2}, {6, 0.3}}));
  EXPECT_TRUE(read_curve(nlohmann::json::parse("{}")).empty());
  EXPECT_EQ(curve_document(curve).dump(), "[[0,0.1],[5,0.2],[6,0.3]]");
}

}  // namespace
}  // namespace rung::report
