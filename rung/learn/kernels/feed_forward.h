// The feed-forward block of a layer, forward and backward, in bfloat16 on a device and in float32 on the host. A row x of `width` numbers
// becomes
//   y = x + W2 h + b2,    h = act(a),    a = W1 u + b1,    u = gain * x / sqrt(mean(x^2) + epsilon)
// with parameters of its ensemble member's own. Nothing is kept for backward but x: with dy given,
//   dh = W2^T dy,  g = dh act'(a),  du = W1^T g,  dx = dy + r (gain du - x r^2 <gain du, x> / width),  r = u / (gain x)
//   dW1 = sum g u^T,  db1 = sum g,  dW2 = sum dy h^T,  db2 = sum dy,  dgain = sum du x r        over the member's rows.
// On a device u, h, g and dy are bfloat16 where they enter a product; sums and everything else are float32. The plain form
// is rung/learn/model.cc's composition of tensor operations, which has every size and type.
#pragma once

#include <cstdint>

#include "rung/learn/kernels/element.h"

namespace rung::kernels {

enum class Activation { relu, gelu, silu };  // gelu: a Phi(a), by the error function

struct FeedForwardShape {
  std::int64_t members = 1, rows = 0;  // rows of each member: at most 2^30, members at most 65535
  std::int64_t width = 0, hidden = 0;
  Activation activation = Activation::relu;
  float epsilon = 1e-6f;
};

// A parameter [members, ...]: each member's numbers side by side, members `stride` numbers apart. REQUIRES on a device
// data and stride multiples of 16 bytes.
template <class T>
struct MemberValuesOf {
  const T* data = nullptr;
  std::int64_t stride = 0;
};
template <class T>
struct FeedForwardWeightsOf {
  MemberValuesOf<T> gain, w1, b1, w2, b2;  // [width], [hidden, width], [hidden], [width, hidden], [width]
};

// dx [members, rows, width], and the parameters' gradients, each [members, ...] without gaps; all overwritten.
template <class T>
struct FeedForwardGradientsOf {
  T *dx = nullptr, *dgain = nullptr, *dw1 = nullptr, *db1 = nullptr, *dw2 = nullptr, *db2 = nullptr;
};

using MemberValues = MemberValuesOf<Bf16>;
using FeedForwardWeights = FeedForwardWeightsOf<Bf16>;
using FeedForwardGradients = FeedForwardGradientsOf<Bf16>;

// The host's: relu, any sizes. x, y, dy without gaps. One thread; the same bits on every call, and for a member alone
// or among others.
void feed_forward_forward(const FeedForwardShape& shape, const float* x,
                          const FeedForwardWeightsOf<float>& weights, float* y);
void feed_forward_backward(const FeedForwardShape& shape, const float* x,
                           const FeedForwardWeightsOf<float>& weights, const float* dy,
                           const FeedForwardGradientsOf<float>& out);

// Sizes that the device's kernels are written for.
constexpr bool feed_forward_has(std::int64_t width, std::int64_t hidden) {
  return (width == 32 || width == 64) && hidden >= 32 && hidden <= 256 && hidden % 32 == 0;
}
// Whether the current device runs them at this size: it may lack the instructions or the shared memory.
bool feed_forward_fits(std::int64_t width, std::int64_t hidden);

// Queued on `stream` (a cudaStream_t). Returns 0 or a cudaError_t. x, y, dy [members, rows, width] without gaps,
// aligned to 16 bytes. REQUIRES feed_forward_fits. The same bits on every call, and for a member alone or among
// others.
int feed_forward_cuda(const FeedForwardShape& shape, const Bf16* x, const FeedForwardWeights& weights,
                      Bf16* y, void* stream);
std::int64_t feed_forward_scratch(const FeedForwardShape& shape);  // floats, for backward
int feed_forward_backward_cuda(const FeedForwardShape& shape, const Bf16* x,
                               const FeedForwardWeights& weights, const Bf16* dy,
                               const FeedForwardGradients& out, float* scratch, void* stream);

}  // namespace rung::kernels
