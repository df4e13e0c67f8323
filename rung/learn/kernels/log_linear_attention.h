// Log-linear attention on a device, forward and backward (on a CPU it is a few matrix products):
//   y_i = sum_{j <= i} share[i, level(i, j)] exp(A_i - A_j) (q_i . k_j) v_j,   A = prefix sums of log_decay.
// level(i, i) = 0; the positions before i fall into buckets by the set bits of i, the largest farthest back,
// and the one of size 2^l has level l + 1: that is the number of binary digits of i xor j.
//
// Backward: with w_ij = share exp(A_i - A_j), s_ij = q_i . k_j, p_ij = dy_i . v_j
//   dq_i = sum_j w p k_j,  dk_j = sum_i w p q_i,  dv_j = sum_i w s dy_i,  dshare[i, l] = sum_{j at l} exp(A_i
//   - A_j) s p, dA_i = q_i . dq_i - k_i . dk_i,  dlog_decay_t = sum_{i >= t} dA_i.
#pragma once

#include <cstdint>

#include "rung/learn/kernels/element.h"

namespace rung::kernels {

struct LogLinearShape {
  std::int64_t sequences = 0, positions = 0, heads = 0;  // N, T, H
  std::int64_t key_size = 0, value_size = 0;             // dk, dv, at most 64
  std::int64_t levels = 0;                               // of share; at least log_linear_levels(T)
  Element element = Element::f32;                        // of q, k, v, y and their gradients
};

// Levels that T positions reach: the binary digits of T - 1, and level 0.
constexpr std::int64_t log_linear_levels(std::int64_t positions) {
  std::int64_t levels = 1;
  for (std::int64_t i = positions - 1; i > 0; i >>= 1) ++levels;
  return levels;
}
RUNG_HOST_DEVICE constexpr int log_linear_level(std::int64_t i, std::int64_t j) {
  int digits = 0;
  for (std::int64_t different = i ^ j; different > 0; different >>= 1) ++digits;
  return digits;
}

struct LogLinearInputs {
  Slice q, k, v;                     // [N, T, H, dk], [N, T, H, dk], [N, T, H, dv]
  const float* share = nullptr;      // [N, T, H, levels]
  const float* log_decay = nullptr;  // [N, T, H]; null: no decay
};

// Every element is overwritten; levels that no pair has get 0.
struct LogLinearGradients {
  MutableSlice dq, dk, dv;
  float* dshare = nullptr;      // [N, T, H, levels]
  float* dlog_decay = nullptr;  // [N, T, H]; REQUIRES not null when there is a log_decay
};

// scratch: log_linear_scratch floats of device memory, for either direction. Returns 0 or a cudaError_t. The
// same bits on every call.
std::int64_t log_linear_scratch(const LogLinearShape& shape);
int log_linear_forward_cuda(const LogLinearShape& shape, const LogLinearInputs& inputs, const MutableSlice& y,
                            float* scratch, void* stream);
int log_linear_backward_cuda(const LogLinearShape& shape, const LogLinearInputs& inputs, const Slice& dy,
                             const LogLinearGradients& gradients, float* scratch, void* stream);

}  // namespace rung::kernels
