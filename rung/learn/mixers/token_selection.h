// Attention over the k positions that an index scores highest:
//   I(i, j) = sum_h m_i[h] relu(index_q_i[h].index_k_j), with relu(m_i[h]) unless weights=signed.
// The choice has no gradient; the index learns as if its score were added to the attention's (straight through: the
// added term is zero in value).
#pragma once

#include "rung/learn/mixer.h"

namespace rung::learn {

struct AttentionRows {
  torch::Tensor q, k, v;  // [E, B, H, T, d]
  double tau = 1;
};
struct IndexRows {
  torch::Tensor q;    // [E, B, Hi, T, di]
  torch::Tensor k;    // [E, B, 1, T, di]
  torch::Tensor mix;  // m [E, B, T, Hi]
};
// hidden [T, T] as hidden_positions has it. [E, B, H, T, dv]
torch::Tensor attention_by_index(const AttentionRows& rows, const IndexRows& index, const MixerShape& shape,
                                 const torch::Tensor& hidden);

}  // namespace rung::learn
