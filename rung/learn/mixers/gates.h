// Gates of the recurrences: decay = 1 - sigmoid(gate), as a logarithm; bias starts that let a state live for
// about as many tokens as a small task has.
#pragma once

#include "rung/learn/mixer.h"

namespace rung::learn {

// ln(1 - sigmoid(g)) in float32.
inline torch::Tensor log_decay(const torch::Tensor& gate) {
  return torch::log_sigmoid(-gate.to(torch::kFloat32));
}
// Biases drawn uniformly from [-7, -3]: a state forgets over 20 to 1,100 tokens, different in different
// heads.
inline Start gate_start() { return Start::uniform(2, -5); }
// beta = sigmoid(0) = 1/2.
inline Start beta_start() { return Start::constant(0); }

}  // namespace rung::learn
