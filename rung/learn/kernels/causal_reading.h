// Readings that are linear in the values and in the scores, on the host: linear attention, plain or normalised, and
// log-linear attention, as weights over pairs of positions j <= i.
//   y_i = r_i sum_{j <= i} share[i, level(i, j)] exp(A_i - A_j) (q_i . k_j) v_j,   A = prefix sums of log_decay
// with shares (log_linear_attention.h has their levels) and decays where they are given, and r_i = 1, or, normalised,
// one over the sum of q_i . k_j, 0 where that is 0. The gradients are log_linear_attention.h's; normalised,
// dy_i . v_j - dy_i . y_i stands for dy_i . v_j.
//
// The cost of a sequence grows with the square of its length: for long ones the recurrence is the way.
#pragma once

#include <cstdint>

#include "rung/learn/kernels/element.h"

namespace rung::kernels {

struct CausalReadingShape {
  std::int64_t sequences = 0, positions = 0, heads = 0;  // N, T, H; T at most kMostCausalPositions
  std::int64_t key_size = 0, value_size = 0;             // dk, dv, each at least 1
  std::int64_t levels = 0;  // of share, at least log_linear_levels(T); 0: no shares
  bool normalised = false;  // REQUIRES no shares and no decays
};

struct CausalReadingInputs {
  Slice q, k, v;                     // float32, [N, T, H, dk], [N, T, H, dk], [N, T, H, dv]
  const float* share = nullptr;      // [N, T, H, levels]
  const float* log_decay = nullptr;  // [N, T, H]
};

// Every element is overwritten; levels that no pair has get 0.
struct CausalReadingGradients {
  MutableSlice dq, dk, dv;
  float* dshare = nullptr;      // REQUIRES not null where there are shares
  float* dlog_decay = nullptr;  // REQUIRES not null where there are decays
};

bool causal_reading_fits(const CausalReadingShape& shape);
// REQUIRES causal_reading_fits(shape). One thread; a sequence's bits are the same on every call and do not depend on
// the other sequences. No output overlaps an input.
void causal_reading_forward(const CausalReadingShape& shape, const CausalReadingInputs& inputs,
                            const MutableSlice& y);
// y of the same forward, which only the normalised reading needs.
void causal_reading_backward(const CausalReadingShape& shape, const CausalReadingInputs& inputs,
                             const Slice& y, const Slice& dy, const CausalReadingGradients& gradients);

}  // namespace rung::kernels
