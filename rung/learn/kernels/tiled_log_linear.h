// Log-linear attention (log_linear_attention.h) in bfloat16 on tensor cores: every shape that the contract allows. The
// plain form of the kernels, which float32 takes, is that of log_linear_attention.cu.
#pragma once

#include "rung/learn/kernels/log_linear_attention.h"

namespace rung::kernels {

// `prefix` [N, H, T]: A, or null where nothing decays. `inner` [N, T, H], null with it, receives what dlog_decay is the
// suffix sums of. REQUIRES a valid shape that is not empty, of bfloat16. Returns 0 or a cudaError_t.
int tiled_log_linear_forward(const LogLinearShape& shape, const LogLinearInputs& inputs,
                             const MutableSlice& y, const float* prefix, void* stream);
int tiled_log_linear_backward(const LogLinearShape& shape, const LogLinearInputs& inputs, const Slice& dy,
                              const LogLinearGradients& gradients, const float* prefix, float* inner,
                              void* stream);

}  // namespace rung::kernels
