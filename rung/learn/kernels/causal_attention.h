// Causal softmax attention of small heads on tensor cores, forward and backward.
//
// Per sequence and head, with q_i, k_j, v_j in R^d and tau > 0, for i = 1..T
//   l_i = ln sum_{j <= i} exp(tau q_i.k_j),  p_ij = exp(tau q_i.k_j - l_i) for j <= i, else 0,  y_i = sum_j p_ij v_j
// Backward keeps l alone and makes p again. With D_i = dy_i . y_i and s_ij = p_ij (dy_i . v_j - D_i)
//   dv_j = sum_i p_ij dy_i,  dk_j = tau sum_i s_ij q_i,  dq_i = tau sum_j s_ij k_j.
// Products take bfloat16 and add in float32; p and s are rounded to bfloat16 between two products, y, dq, dk and dv
// once at the end.
#pragma once

#include <cstdint>

#include "rung/learn/kernels/element.h"

namespace rung::kernels {

struct CausalAttentionShape {
  std::int64_t sequences = 0, positions = 0, heads = 0;  // N, T, H
  std::int64_t size = 0;                                 // d, of keys and of values
  Element element = Element::bf16;                       // of q, k, v, y and their gradients
  float tau = 0;
};

// All [N, T, H, d]. Each vector begins at a multiple of 16 bytes: data and strides do.
struct CausalAttentionInputs {
  Slice q, k, v;
};
// Every element is overwritten.
struct CausalAttentionGradients {
  MutableSlice dq, dk, dv;
};

// True for bfloat16, d in {16, 32, 64}, 1 <= T <= 4096, tau > 0 and a number of heads that a grid can have.
constexpr bool causal_attention_has(const CausalAttentionShape& shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 25;
  return shape.element == Element::bf16 && (shape.size == 16 || shape.size == 32 || shape.size == 64) &&
         shape.positions >= 1 && shape.positions <= 4096 && shape.sequences >= 1 && shape.heads >= 1 &&
         shape.sequences <= kMost && shape.heads <= kMost && shape.sequences * shape.heads <= kMost &&
         shape.tau > 0;
}
// Whether the device at hand also has the instructions and the shared memory; false without one.
bool causal_attention_fits(const CausalAttentionShape& shape);

// On a device, queued on `stream` (a cudaStream_t), without synchronising. Returns 0 or a cudaError_t. A sequence's
// bits are the same on every call and do not depend on the other sequences. REQUIRES device pointers and
// causal_attention_fits(shape). No output overlaps an input.
//
// ENSURES y [N, T, H, d] and log_sums [N, H, T], the l above, written.
int causal_attention_forward_cuda(const CausalAttentionShape& shape, const CausalAttentionInputs& inputs,
                                  const MutableSlice& y, float* log_sums, void* stream);
// REQUIRES y and log_sums of the same forward, and causal_attention_scratch floats of device memory, which may be none,
// from a multiple of 16 bytes on.
std::int64_t causal_attention_scratch(const CausalAttentionShape& shape);
int causal_attention_backward_cuda(const CausalAttentionShape& shape, const CausalAttentionInputs& inputs,
                                   const Slice& y, const float* log_sums, const Slice& dy,
                                   const CausalAttentionGradients& gradients, float* scratch, void* stream);

}  // namespace rung::kernels
