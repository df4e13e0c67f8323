#include "rung/records/curve.h"

#include <algorithm>
#include <cmath>

namespace rung {
namespace {

struct Place {
  double step = 0, value = 0;
};

Place place_of(const AccuracyPoint& point) { return {static_cast<double>(point.first), point.second}; }

double triangle(const Place& a, const Place& b, const Place& c) {
  return std::abs((a.step - c.step) * (b.value - a.value) - (a.step - b.step) * (c.value - a.value));
}

Place mean_of(const AccuracyCurve& curve, std::size_t first, std::size_t end) {
  Place mean;
  for (std::size_t i = first; i < end; ++i) {
    mean.step += static_cast<double>(curve[i].first);
    mean.value += curve[i].second;
  }
  const double count = static_cast<double>(end - first);
  return {mean.step / count, mean.value / count};
}

}  // namespace

bool is_curve_of(const std::vector<CurvePoint>& curve, std::size_t tasks, std::int64_t steps) {
  std::int64_t before = 1;
  for (const CurvePoint& point : curve) {
    if (point.accuracy.size() != tasks || point.stage < 0 || point.step < before || point.step > steps)
      return false;
    before = point.step;
  }
  return true;
}

AccuracyCurve first_accuracy(const std::vector<CurvePoint>& curve) {
  AccuracyCurve out;
  for (const CurvePoint& point : curve)
    if (!point.accuracy.empty()) out.emplace_back(point.step, point.accuracy.front());
  return out;
}

AccuracyCurve lowest_accuracy(const std::vector<CurvePoint>& curve) {
  AccuracyCurve out;
  for (const CurvePoint& point : curve)
    if (!point.accuracy.empty())
      out.emplace_back(point.step, *std::min_element(point.accuracy.begin(), point.accuracy.end()));
  return out;
}

AccuracyCurve thinned(const AccuracyCurve& curve, std::size_t limit) {
  if (curve.size() <= std::max<std::size_t>(limit, 2)) return curve;
  if (limit <= 2) return {curve.front(), curve.back()};
  // The inner points fall into limit - 2 stretches; the one after them is the last point alone.
  const std::size_t stretches = limit - 2, inner = curve.size() - 2;
  const auto start_of = [&](std::size_t stretch) { return 1 + stretch * inner / stretches; };
  AccuracyCurve out = {curve.front()};
  for (std::size_t stretch = 0; stretch < stretches; ++stretch) {
    const std::size_t first = start_of(stretch), end = start_of(stretch + 1);
    const Place before = place_of(out.back()), ahead = stretch + 1 < stretches
                                                           ? mean_of(curve, end, start_of(stretch + 2))
                                                           : place_of(curve.back());
    const auto change = [&](std::size_t i) { return triangle(before, place_of(curve[i]), ahead); };
    std::size_t best = first;
    for (std::size_t i = first; i < end; ++i)
      if (change(i) > change(best)) best = i;
    out.push_back(curve[best]);
  }
  out.push_back(curve.back());
  return out;
}

AccuracyCurve rounded(AccuracyCurve curve) {
  for (auto& [step, accuracy] : curve) accuracy = std::round(accuracy * 1e4) / 1e4;
  return curve;
}

}  // namespace rung
