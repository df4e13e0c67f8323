#include "rung/report/thinning.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace rung::report {
namespace {

double triangle(const CurvePoint& a, const CurvePoint& b, const CurvePoint& c) {
  return std::abs((a.step - c.step) * (b.value - a.value) - (a.step - b.step) * (c.value - a.value));
}

CurvePoint mean_of(const std::vector<CurvePoint>& curve, std::size_t first, std::size_t end) {
  CurvePoint mean;
  for (std::size_t i = first; i < end; ++i) {
    mean.step += curve[i].step;
    mean.value += curve[i].value;
  }
  const double count = static_cast<double>(end - first);
  return {mean.step / count, mean.value / count};
}

}  // namespace

std::vector<CurvePoint> thinned(const std::vector<CurvePoint>& curve, std::size_t limit) {
  if (curve.size() <= std::max<std::size_t>(limit, 2)) return curve;
  if (limit <= 2) return {curve.front(), curve.back()};
  // The inner points fall into limit - 2 stretches; the one after them is the last point alone.
  const std::size_t stretches = limit - 2, inner = curve.size() - 2;
  const auto start_of = [&](std::size_t stretch) { return 1 + stretch * inner / stretches; };
  std::vector<CurvePoint> out = {curve.front()};
  for (std::size_t stretch = 0; stretch < stretches; ++stretch) {
    const std::size_t first = start_of(stretch), end = start_of(stretch + 1);
    const CurvePoint ahead =
        stretch + 1 < stretches ? mean_of(curve, end, start_of(stretch + 2)) : curve.back();
    std::size_t best = first;
    for (std::size_t i = first; i < end; ++i)
      if (triangle(out.back(), curve[i], ahead) > triangle(out.back(), curve[best], ahead)) best = i;
    out.push_back(curve[best]);
  }
  out.push_back(curve.back());
  return out;
}

std::vector<CurvePoint> read_curve(const nlohmann::json& document) {
  std::vector<CurvePoint> out;
  if (!document.is_array()) return out;
  for (const auto& row : document) {
    const nlohmann::json* value = nullptr;
    const nlohmann::json* step = nullptr;
    if (row.is_array() && row.size() >= 2) {
      step = &row[0];
      value = &row[1];
    } else if (row.is_object() && row.contains("step") && row.contains("accuracy")) {
      step = &row["step"];
      value = &row["accuracy"];
    }
    if (value && value->is_array() && !value->empty()) value = &value->front();
    if (step && step->is_number() && value && value->is_number())
      out.push_back({step->get<double>(), value->get<double>()});
  }
  return out;
}

nlohmann::ordered_json curve_document(const std::vector<CurvePoint>& curve) {
  auto out = nlohmann::ordered_json::array();
  for (const CurvePoint& point : curve) {
    nlohmann::ordered_json step = point.step;
    if (point.step == std::floor(point.step) && std::abs(point.step) < 1e15)
      step = static_cast<std::int64_t>(point.step);
    out.push_back({step, std::round(point.value * 1e4) / 1e4});
  }
  return out;
}

}  // namespace rung::report
