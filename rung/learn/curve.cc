#include "rung/learn/curve.h"

#include <nlohmann/json.hpp>

namespace rung::learn {

nlohmann::ordered_json curve_json(const std::vector<CurvePoint>& curve) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const CurvePoint& point : curve)
    out.push_back(
        {{"step", point.step}, {"stage", point.stage}, {"loss", point.loss}, {"accuracy", point.accuracy}});
  return out;
}

std::vector<CurvePoint> curve_of(const nlohmann::json& document) {
  std::vector<CurvePoint> curve;
  for (const nlohmann::json& point : document)
    curve.push_back({point.at("step").get<std::int64_t>(), point.at("stage").get<std::int64_t>(),
                     point.at("loss").get<double>(), point.at("accuracy").get<std::vector<double>>()});
  return curve;
}

}  // namespace rung::learn
