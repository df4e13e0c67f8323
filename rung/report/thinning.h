// Curves made light: a page shows a training curve a few hundred pixels wide, so two dozen points say all it
// can show.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace rung::report {

struct CurvePoint {
  double step = 0, value = 0;
  bool operator==(const CurvePoint&) const = default;
};

// The largest-triangle choice: of every stretch the point that changes the picture most. ENSURES: at most
// max(limit, 2) points, in order, all of them points of the curve; the first and the last stay; a curve that
// is short enough is returned as it is.
std::vector<CurvePoint> thinned(const std::vector<CurvePoint>& curve, std::size_t limit);

// A curve of a document: [[step, accuracy], ...] or [{"step", "accuracy": number or list}, ...], of which the
// first task's counts. Anything else gives no points.
std::vector<CurvePoint> read_curve(const nlohmann::json& document);
// [[step, value rounded to four digits], ...]
nlohmann::ordered_json curve_document(const std::vector<CurvePoint>& curve);

}  // namespace rung::report
