// Mamba's recurrence: h_t[i][n] = exp(step_t[i] a[i][n]) h_{t-1}[i][n] + step_t[i] b_t[n] x_t[i], y_t[i] =
// sum_n c_t[n] h_t[i][n].
#pragma once

#include "rung/learn/forward_context.h"

namespace rung::learn {

struct ScanInputs {
  torch::Tensor x;       // [E, B, T, I]
  torch::Tensor b, c;    // [E, B, T, N]
  torch::Tensor step;    // [E, B, T, I] float32, positive
  torch::Tensor a;       // [E, I, N] float32, negative
  StateRounding settle;  // of h_t; where it is given, the plain form is taken
};

// [E, B, T, I]
torch::Tensor diagonal_scan(const ScanInputs& inputs, bool plain);

}  // namespace rung::learn
