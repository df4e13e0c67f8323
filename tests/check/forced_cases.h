// For every counting behind the word `forced` the smallest certificate of its kind, and its twin: one step
// smaller, where the count does not reach, with a pair that is as true and the same words.
#pragma once

#include "tests/check/brute_force.h"

namespace rung {

struct ForcedCase {
  Issued certifies, below;
};

// Deterministic. The names are `forced-TASK` and the like, with `-below` for the twin.
const std::vector<ForcedCase>& forced_cases();

}  // namespace rung
