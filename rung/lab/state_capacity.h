// State capacity: the bits that a model of measured accuracy must have kept of a uniformly random table, for
// each element of its state.
//
// Claim (the ceiling of rung/theory/ceiling.h, inverted). A model that answers Eva or Index at n from s bits
// of state has accuracy at most a(s). So one of accuracy a has kept at least the least s with a(s) >= a: a
// lower bound on what it stores, whatever its weights are. For log-linear attention s is the bits of one
// level.
#pragma once

#include <cstdint>
#include <optional>

#include "rung/learn/training_plan.h"
#include "rung/spec/weights.h"

namespace rung::lab {

struct StateCapacity {
  std::int64_t n = 0, alphabet = 0;
  std::int64_t elements = 0;  // numbers of state, over all layers; log-linear: of one level
  bool one_level = false;     // elements and bits are those of one level
  double table_bits = 0;      // n lg alphabet: the information limit, all that there is to keep
  double kept_bits = 0;       // by the mean accuracy over the seeds: an estimate, no bound
  double per_element() const { return elements ? kept_bits / static_cast<double>(elements) : 0; }
  bool operator==(const StateCapacity&) const = default;
};

// Bits that accuracy `accuracy` needs: kept in one state, or in each level of log-linear attention.
// REQUIRES n >= 1, alphabet >= 2, 0 <= accuracy <= 1.
double kept_bits(std::int64_t n, std::int64_t alphabet, double accuracy, bool one_level);

// Nothing where the ceiling does not speak: another task, attention over the whole past, windows and
// convolutions beside the state, log-linear layers beside others.
std::optional<StateCapacity> state_capacity(const Weights& weights, const Task& task, Variant variant,
                                            double accuracy);

}  // namespace rung::lab
