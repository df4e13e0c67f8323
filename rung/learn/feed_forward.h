// The feed-forward block of a layer as one operation: x + W2 act(W1 norm(x) + b1) + b2, with its
// gradients, keeping nothing but x (kernels/feed_forward.h).
#pragma once

#include "rung/learn/torch.h"
#include "rung/spec/architecture.h"

namespace rung::learn {

struct FeedForwardLeaves {
  const torch::Tensor &gain, &w1, &b1, &w2, &b2;  // [E, W], [E, M, W], [E, M], [E, W, M], [E, W]
};

// Whether the fused block computes this: bfloat16 on a device that has room for the sizes, or float32 with relu on the
// CPU.
bool feed_forward_applies(const torch::Tensor& x, const FeedForwardLeaves& leaves, MlpActivation activation);
// x [E, B, T, W]. REQUIRES feed_forward_applies. The norm is rms_norm of row_norm.h.
torch::Tensor feed_forward(const torch::Tensor& x, const FeedForwardLeaves& leaves, MlpActivation activation);

}  // namespace rung::learn
