// Root-mean-square norms and unit rows, with their gradients in one pass each (kernels/row_norm.h).
#pragma once

#include "rung/learn/torch.h"

namespace rung::learn {

inline constexpr double kNormEpsilon = 1e-6;

// gain * x / sqrt(mean(x^2) + kNormEpsilon); x [E, B, T, W], gain [E, W].
torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& gain, bool plain);
// x / |x| along the last dimension; a zero row stays zero.
torch::Tensor unit_rows(const torch::Tensor& x, bool plain);

}  // namespace rung::learn
