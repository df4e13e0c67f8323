// Which positions a softmax head sees, and softmax attention over them.
#pragma once

#include "rung/learn/mixer.h"

namespace rung::learn {

// [T, T] bool, true where row i must not see column j. REQUIRES full, topk or the window branch of sparse.
torch::Tensor hidden_positions(const MixerShape& shape, bool causal, std::int64_t length,
                               torch::Device device);
// Neither window nor chunk: the mask is the triangle alone.
bool is_plainly_causal(const MixerShape& shape, bool causal);

// q, k, v [E, B, H, T, d]; hidden broadcasts to [E, B, H, T, T]. A row that sees nothing gives 0.
torch::Tensor softmax_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                                double tau, const torch::Tensor& hidden, bool plain);

// Whether libtorch has a kernel for it where q lies, which looks at no mask but the triangle.
bool has_causal_attention(const torch::Tensor& q);
// The same with the triangle for a mask. REQUIRES has_causal_attention(q).
torch::Tensor library_causal_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                                       double tau);

}  // namespace rung::learn
