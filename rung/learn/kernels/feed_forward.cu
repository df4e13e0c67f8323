#include "rung/learn/kernels/feed_forward.h"

#include <algorithm>

#include "rung/learn/kernels/feed_forward_gradient.cuh"
#include "rung/learn/kernels/tensor_core.cuh"

namespace rung::kernels {
namespace {

constexpr int kForwardResident = 3;  // blocks of a multiprocessor at once, in its registers and shared memory
constexpr int kSumThreads = 256;
// Rows are counted in 32 bits, with room for a step beyond the last.
constexpr std::int64_t kMostRows = std::int64_t{1} << 30;

template <int W, Activation kind>
__global__ void __launch_bounds__(kForwardThreads, kForwardResident)
    feed_forward_rows(const FeedForwardShape shape, const Bf16* x, const FeedForwardWeights weights, Bf16* y,
                      const int blocks) {
  feed_forward_tiles<TensorCore, W, kind>(shape, x, weights, y, blocks);
}

template <int W, Activation kind>
__global__ void __launch_bounds__(kBackwardThreads, 1)
    feed_forward_gradients(const FeedForwardShape shape, const Bf16* x, const FeedForwardWeights weights,
                           const Bf16* dy, Bf16* dx, float* scratch, const int blocks, const int block_rows) {
  feed_forward_gradient_tiles<TensorCore, W, kind>(shape, x, weights, dy, dx, scratch, blocks, block_rows);
}

__global__ void __launch_bounds__(kSumThreads)
    sum_feed_forward(const FeedForwardShape shape, const float* scratch, const FeedForwardGradients out,
                     const int blocks) {
  const int index = static_cast<int>(blockIdx.x * kSumThreads + threadIdx.x);
  const int width = static_cast<int>(shape.width);
  if (index < part_floats(width, static_cast<int>(shape.hidden)) + 2 * width)
    sum_feed_forward_blocks(shape, scratch, out, blocks, blockIdx.y, index);
}

int attribute_of_device(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&value, attribute, device) != cudaSuccess)
    return 0;
  return value;
}

bool valid(const FeedForwardShape& shape) {
  return shape.members >= 1 && shape.members <= 65535 && shape.rows >= 0 && shape.rows <= kMostRows &&
         feed_forward_has(shape.width, shape.hidden);
}

template <int W, Activation kind>
int forward(const FeedForwardShape& shape, const Bf16* x, const FeedForwardWeights& weights, Bf16* y,
            cudaStream_t stream) {
  const auto bytes = ForwardShared(W, static_cast<int>(shape.hidden)).size;
  RUNG_CUDA_TRY(cudaFuncSetAttribute(feed_forward_rows<W, kind>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(bytes)));
  // As many blocks as run at once: each loads the matrices. Rows know nothing of each other, so the number changes
  // no bits.
  const std::int64_t wanted = blocks_for(shape.rows, kForwardRows * (kForwardThreads / kWarp));
  const std::int64_t room = std::max<std::int64_t>(
      1, attribute_of_device(cudaDevAttrMultiProcessorCount) * kForwardResident / shape.members);
  const int blocks = static_cast<int>(std::min(wanted, room));
  feed_forward_rows<W, kind><<<dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(shape.members)),
                               kForwardThreads, bytes, stream>>>(shape, x, weights, y, blocks);
  return launched();
}

template <int W, Activation kind>
int backward(const FeedForwardShape& shape, const Bf16* x, const FeedForwardWeights& weights, const Bf16* dy,
             const FeedForwardGradients& out, float* scratch, cudaStream_t stream) {
  const auto bytes = BackwardShared(W, static_cast<int>(shape.hidden)).size;
  RUNG_CUDA_TRY(cudaFuncSetAttribute(feed_forward_gradients<W, kind>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  const std::int64_t blocks = backward_blocks(shape.rows);
  if (blocks > 0x7FFFFFFF) return cudaErrorInvalidConfiguration;
  if (blocks > 0) {
    feed_forward_gradients<W, kind>
        <<<dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(shape.members)), kBackwardThreads, bytes,
           stream>>>(shape, x, weights, dy, out.dx, scratch, static_cast<int>(blocks),
                     static_cast<int>(backward_block_rows(shape.rows)));
    RUNG_CUDA_TRY(cudaGetLastError());
  }
  const std::int64_t numbers = part_floats(W, static_cast<int>(shape.hidden)) + 2 * W;
  const dim3 grid(blocks_for(numbers, kSumThreads), static_cast<unsigned>(shape.members));
  sum_feed_forward<<<grid, kSumThreads, 0, stream>>>(shape, scratch, out, static_cast<int>(blocks));
  return launched();
}

// call(W, kind) as constants.
template <class Call>
int dispatch(const FeedForwardShape& shape, const Call& call) {
  const auto by_width = [&]<Activation kind>() {
    return shape.width == 32 ? call.template operator()<32, kind>() : call.template operator()<64, kind>();
  };
  switch (shape.activation) {
    case Activation::relu:
      return by_width.template operator()<Activation::relu>();
    case Activation::gelu:
      return by_width.template operator()<Activation::gelu>();
    case Activation::silu:
      return by_width.template operator()<Activation::silu>();
  }
  return cudaErrorInvalidValue;
}

}  // namespace

bool feed_forward_fits(std::int64_t width, std::int64_t hidden) {
  return feed_forward_has(width, hidden) && attribute_of_device(cudaDevAttrComputeCapabilityMajor) >= 8 &&
         attribute_of_device(cudaDevAttrMaxSharedMemoryPerBlockOptin) >=
             static_cast<int>(BackwardShared(static_cast<int>(width), static_cast<int>(hidden)).size);
}

std::int64_t feed_forward_scratch(const FeedForwardShape& shape) {
  return shape.members * backward_blocks(shape.rows) *
         block_floats(static_cast<int>(shape.width), static_cast<int>(shape.hidden));
}

int feed_forward_cuda(const FeedForwardShape& shape, const Bf16* x, const FeedForwardWeights& weights,
                      Bf16* y, void* stream) {
  if (!valid(shape)) return cudaErrorInvalidValue;
  if (shape.rows == 0) return cudaSuccess;
  return dispatch(shape, [&]<int W, Activation kind>() {
    return forward<W, kind>(shape, x, weights, y, stream_of(stream));
  });
}

int feed_forward_backward_cuda(const FeedForwardShape& shape, const Bf16* x,
                               const FeedForwardWeights& weights, const Bf16* dy,
                               const FeedForwardGradients& out, float* scratch, void* stream) {
  if (!valid(shape)) return cudaErrorInvalidValue;
  return dispatch(shape, [&]<int W, Activation kind>() {
    return backward<W, kind>(shape, x, weights, dy, out, scratch, stream_of(stream));
  });
}

}  // namespace rung::kernels
