// When a member of a plan with `patience` has learned what it will. After the warm-up it learns at its whole rate. Where
// `patience` evaluations in a row stay within `gain` of the best before them it stands still, and its rate falls to a
// quarter; where that would be below `floor` of the peak, it has come to rest and ends. Counted are evaluations after the
// warm-up of the whole task, rounded if it is to be.
//
// All of it follows from the plan and the member's own curve: a resumed member, and one among others, continues as one
// that never stopped and was alone.
#pragma once

#include <vector>

#include "rung/records/curve.h"
#include "rung/records/training_plan.h"

namespace rung::learn {

struct Pace {
  double share = 1;  // of the peak rate
  bool at_rest = false;
};

// REQUIRES patience > 0.
Pace pace(const TrainingPlan& plan, const std::vector<CurvePoint>& curve);

}  // namespace rung::learn
