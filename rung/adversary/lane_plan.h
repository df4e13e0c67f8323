// A recurrent stack's weights, laid out for the lane kernel: plain integers, every shift and width beside
// them, and the bits that the largest sum needs. Which mixers: linear (identity, relu, elu1, exp features),
// rnn, gru, mamba, mamba2, delta, gdelta, identity and none, without short convolutions; no norms before maps
// (unit keys of delta are known).
#pragma once

#include <vector>

#include "rung/adversary/lanes/lane_layer.h"
#include "rung/adversary/target.h"

namespace rung {

template <class T>
using Owned = std::vector<T>;
using LaneMap = lanes::Map<Owned>;
using LaneTable = lanes::Table<Owned>;
using LaneLayer = lanes::Layer<Owned>;

struct LanePlan {
  std::int64_t width = 0;
  int stream_bits = 16;
  std::vector<LaneLayer> layers;
  int sum_bits = 0;  // the largest, sign included
};

// Errors (as a reason, not a failure of the outside world): what the lane kernel does not know.
Result<LanePlan> plan_lanes(const Target& target);

}  // namespace rung
