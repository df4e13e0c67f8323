// State capacity: the bits that models of measured accuracy must have kept of a uniformly random table, for
// each element of their state.
//
// Claim (the ceiling of rung/theory/ceiling.h, inverted). A model that answers Eva or Index at n from s bits
// of state has accuracy at most a(s). So one of accuracy a has kept at least the least s with a(s) >= a: a
// lower bound on what it stores, whatever its weights are. The accuracy is measured: a is a one-sided confidence bound over
// the seeds (rung/evaluation/interval.h), and the bits are rounded down, to none at the level of chance. For log-linear
// attention s is the bits of one level.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "rung/records/experiment_results.h"
#include "rung/records/training_plan.h"
#include "rung/spec/weights.h"

namespace rung::lab {

// Bits that accuracy `accuracy` needs, rounded down: kept in one state, or in each level of log-linear attention.
// REQUIRES n >= 1, alphabet >= 2, 0 <= accuracy <= 1.
double kept_bits(std::int64_t n, std::int64_t alphabet, double accuracy, bool one_level);

// Nothing where the ceiling does not speak: another task, attention over the whole past, windows and
// convolutions beside the state, log-linear layers beside others.
std::optional<StateCapacity> state_capacity(const Weights& weights, const Task& task, Variant variant);

// Fills in the bits that these scores show.
void measure_capacity(StateCapacity& capacity, std::span<const SeedScore> scores);

}  // namespace rung::lab
