// What came of one configuration of an experiment (rung/records/experiment_results.h), with its mean and interval over
// the seeds.
#pragma once

#include <optional>

#include "rung/evaluation/interval.h"
#include "rung/records/experiment_results.h"

namespace rung::lab {

using Outcome = ConfigurationOutcome;

inline constexpr std::size_t kCurvePoints = 40;  // of a curve that is kept

double seed_mean(const Outcome& outcome);  // over the seeds; 0 without scores
std::optional<ShareInterval> seed_interval(
    const Outcome& outcome);  // over the seeds; nothing for fewer than two
// Fills in both, as they are written.
void summarise(Outcome& outcome);

}  // namespace rung::lab
