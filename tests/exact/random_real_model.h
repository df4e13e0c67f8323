// Real models drawn at random, for any architecture that the machine runs: what a trainer would write,
// untrained.
#pragma once

#include "rung/spec/weights.h"

namespace rung {

struct RealModel {
  std::string line;  // the architecture
  Dimensions dimensions;
  std::uint64_t seed = 1;
  double spread = 1;  // of projections, over 1/sqrt(fan in)
};

// Tokens 0 .. vocabulary-1, logits over the vocabulary, F32 tensors with biases on gates and in MLPs,
// score.tau = 1/sqrt(dk), unit keys for the delta rule, norm.epsilon.
Weights random_real_weights(const RealModel& model);

}  // namespace rung
