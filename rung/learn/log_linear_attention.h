// Log-linear attention by kernels (kernels/log_linear_attention.h, causal_reading.h): y_i = sum_{j <= i} share[i, level(i, j)]
// exp(A_i - A_j) (q_i.k_j) v_j with A the prefix sums of log_decay.
#pragma once

#include "rung/learn/torch.h"

namespace rung::learn {

struct LogLinearInputs {
  torch::Tensor q, k, v;    // [E, B, T, H, d]
  torch::Tensor share;      // [E, B, T, H, levels] float32
  torch::Tensor log_decay;  // [E, B, T, H] float32, or undefined
};

// Whether there is a kernel for it: on a device, or float32 of no more positions than the CPU's has.
bool log_linear_fits(const LogLinearInputs& inputs);
// REQUIRES log_linear_fits. [E, B, T, H, dv]
torch::Tensor log_linear_attention(const LogLinearInputs& inputs);

}  // namespace rung::learn
