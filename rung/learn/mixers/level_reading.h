// The reading of log-linear attention: the past is split into levels, each with a state of its own under every token's
// transition, y_t = sum_level share_t[level] S_t^level q_t.
//
// Plain: state by state, as docs/weights.md and docs/parity.md say. Fast: every recurrence is linear in its values,
//   y_i = sum_{j <= i} share_i[level(i, j)] P_ij v_j,
// where P_ij is its own reading of token j (q_i.k_j; times the decay between them; for the delta rule through the
// inverse of a triangular matrix).
#pragma once

#include "rung/learn/forward_context.h"

namespace rung::learn {

struct LevelRows {
  torch::Tensor q, k, v;          // [E, B, H, T, d]
  torch::Tensor log_decay, beta;  // [E, B, H, T] float32, or undefined
  torch::Tensor share;            // [E, B, H, T, levels]
  bool strong = false;  // the partition: weak buckets double, strong ones keep the newest tokens apart
};

// [E, B, H, T, dv]. The strong partition has no fast form.
torch::Tensor level_reading(const LevelRows& rows, const StateRounding& settle, bool plain);

}  // namespace rung::learn
