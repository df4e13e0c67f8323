// The curve of a member: what an evaluation every so many steps found. One form in checkpoints, weights
// files, records and documents: [{"step", "stage", "loss", "accuracy"}, ...].
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace rung::learn {

struct CurvePoint {
  std::int64_t step = 0, stage = 0;
  double loss = 0;               // mean of the training loss since the point before
  std::vector<double> accuracy;  // a task each
  bool operator==(const CurvePoint&) const = default;
};

nlohmann::ordered_json curve_json(const std::vector<CurvePoint>& curve);
// Throws nlohmann's exceptions on anything else than curve_json gives.
std::vector<CurvePoint> curve_of(const nlohmann::json& document);

}  // namespace rung::learn
