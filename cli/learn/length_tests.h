// Trained members on longer words than they were taught: the columns that `rung train --lengths` adds.
#pragma once

#include <string>
#include <vector>

#include "rung/evaluation/evaluation.h"
#include "rung/records/training_plan.h"

namespace rung::cli {

struct LengthTest {
  std::int64_t n = 0;
  Evaluation found;
};

// "64,1k": the lengths to be tested. Errors: no such list; a plan that is not about one automaton task,
// whose words alone have every length; positions, which end at a context.
Result<std::vector<std::int64_t>> lengths_of(const std::string& text, const TrainingPlan& plan);

// The member's file at each length, evaluated as `rung eval` does: 200 words, fewer of long ones.
Result<std::vector<LengthTest>> test_lengths(const std::string& file, const TrainingPlan& plan,
                                             const std::vector<std::int64_t>& lengths);

}  // namespace rung::cli
