// Curves of trainings. A member's own: what an evaluation every so many steps found, in one form in checkpoints,
// weights files, records and documents. And the light form of what is shown: accuracy on the task that is asked about,
// thinned, since a page shows a curve a few hundred pixels wide and two dozen points say all it can show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace rung {

struct CurvePoint {
  std::int64_t step = 0, stage = 0;
  double loss = 0;               // mean of the training loss since the point before
  std::vector<double> accuracy;  // a task each
  bool operator==(const CurvePoint&) const = default;
};

template <class Fields>
void describe(Fields& field, CurvePoint& point) {
  field("step", point.step, "stage", point.stage, "loss", point.loss, "accuracy", point.accuracy);
}

// Whether a training of so many tasks and steps can have left it: that many accuracies at every point, steps in order.
bool is_curve_of(const std::vector<CurvePoint>& curve, std::size_t tasks, std::int64_t steps);

using AccuracyPoint = std::pair<std::int64_t, double>;  // step, accuracy
using AccuracyCurve = std::vector<AccuracyPoint>;

// The largest-triangle choice: of every stretch the point that changes the picture most. ENSURES: at most
// max(limit, 2) points, in order, all of them points of the curve; the first and the last stay; a curve that is
// short enough is returned as it is.
AccuracyCurve thinned(const AccuracyCurve& curve, std::size_t limit);
// Of several tasks the first, or the lowest of them.
AccuracyCurve first_accuracy(const std::vector<CurvePoint>& curve);
AccuracyCurve lowest_accuracy(const std::vector<CurvePoint>& curve);
// Four digits of every accuracy.
AccuracyCurve rounded(AccuracyCurve curve);

}  // namespace rung
