// Log-linear attention on a device (kernels/log_linear_attention.h): y_i = sum_{j <= i} share[i, level(i, j)]
// exp(A_i - A_j) (q_i.k_j) v_j with A the prefix sums of log_decay.
#pragma once

#include "rung/learn/torch.h"

namespace rung::learn {

struct LogLinearInputs {
  torch::Tensor q, k, v;    // [E, B, T, H, d]
  torch::Tensor share;      // [E, B, T, H, levels] float32
  torch::Tensor log_decay;  // [E, B, T, H] float32, or undefined
};

bool log_linear_fits_device(const LogLinearInputs& inputs);
// REQUIRES log_linear_fits_device. [E, B, T, H, dv]
torch::Tensor log_linear_attention(const LogLinearInputs& inputs);

}  // namespace rung::learn
