// The information ceiling as a curve: how often a state of so many bits can be right on Eva at best, against
// n.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rung/report/record_files.h"

namespace rung::report {

using CeilingCurve = std::vector<std::pair<std::int64_t, double>>;  // n, ceiling

// One curve for every ceiling_reason of the form "S bits of state" or "S bits a level of log-linear state" in
// the experiments `capacity` among `results`: n = 8 .. 1024. Everywhere an upper bound (theory/ceiling.h).
std::map<std::string, CeilingCurve> ceiling_curves(const std::vector<ResultsEntry>& results);

}  // namespace rung::report
