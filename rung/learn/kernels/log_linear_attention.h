// Log-linear attention on a device, forward and backward (on a CPU it is a few matrix products). For every sequence and
// head
//   y_i = sum_{j <= i} share[i, level(i, j)] exp(A_i - A_j) (q_i . k_j) v_j,   A = prefix sums of log_decay.
// level(i, i) = 0; the positions before i fall into buckets by the set bits of i, the largest farthest back,
// and the one of size 2^l has level l + 1: that is the number of binary digits of i xor j.
//
// Backward: with w_ij = share exp(A_i - A_j), s_ij = q_i . k_j, p_ij = dy_i . v_j
//   dq_i = sum_j w p k_j,  dk_j = sum_i w p q_i,  dv_j = sum_i w s dy_i,  dshare[i, l] = sum_{j at l} exp(A_i
//   - A_j) s p, dA_i = q_i . dq_i - k_i . dk_i,  dlog_decay_t = sum_{i >= t} dA_i.
//
// In bfloat16 the products are those of the tensor cores: bfloat16 factors, float32 sums; w s and w p are rounded to
// bfloat16 between two of them, y, dq, dk and dv once at the end, dshare and dlog_decay come from s and p in float32.
// float32 keeps float32 throughout, without tensor cores.
//
// The floor in bfloat16, of a layer of 524,288 tokens with 2 heads of 32 at T = 256: q, k, v, y and share are 306 MB
// forward; q, k, v, dy, dq, dk, dv, share and dshare 545 MB backward; 0.07 and 0.12 ms at 4.5 TB/s. A head has 136
// squares of 16 x 16 pairs, each 8 products m16n8k16 forward and 28 backward: 18 and 64 GFLOP, 0.03 and 0.11 ms at 600
// TFLOP/s. Every pair is visited at every T.
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
