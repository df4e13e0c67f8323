// Causal softmax attention straight on the fused projection: q, k and v stand side by side in one tensor, and their
// gradients are written side by side into another (kernels/causal_attention.h).
#pragma once

#include "rung/learn/torch.h"

namespace rung::learn {

// How the last dimension of the projection is divided: q [H, d], k [H, d], v [H, d].
struct AttentionHeads {
  std::int64_t heads = 0, size = 0;
  double tau = 0;
};

// Whether there is a kernel for it that is faster than libtorch's: bfloat16 on a device, what kernels::causal_attention_fits
// says and no long contexts of wide heads; float32 on the CPU, what causal_attention_fits_host says.
bool causal_attention_pays(const torch::Tensor& projection, const AttentionHeads& heads);
// projection [E, B, T, 3 H d] -> [E, B, T, H d]. REQUIRES causal_attention_pays. The gradient itself has none.
torch::Tensor causal_attention(const torch::Tensor& projection, const AttentionHeads& heads);

}  // namespace rung::learn
