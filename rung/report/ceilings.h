// The information ceiling as a curve: how often a state of so many bits can be right on Eva at best, against
// n.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace rung::report {

// One curve for every ceiling_reason of the form "S bits of state" or "S bits a level of log-linear state" in
// the experiments `capacity` among `results`: {reason: [[n, ceiling], ...]}, n = 8 .. 1024. Everywhere an
// upper bound (theory/ceiling.h).
nlohmann::ordered_json ceiling_curves(const std::vector<nlohmann::ordered_json>& results);

}  // namespace rung::report
