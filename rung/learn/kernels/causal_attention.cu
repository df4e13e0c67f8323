#include "rung/learn/kernels/causal_attention.h"

#include "rung/learn/kernels/attention_launch.cuh"
#include "rung/learn/kernels/causal_attention_gradient.cuh"

namespace rung::kernels {
namespace {

// Blocks of a multiprocessor at once, in its registers and shared memory.
constexpr int forward_resident(int size) { return size == 64 ? 2 : 3; }
constexpr int backward_resident(int size, bool whole) { return size == 16 && whole ? 3 : 2; }

template <int D, bool Whole>
__global__ void __launch_bounds__(kAttentionWarps* kWarp, forward_resident(D))
    attention_forward(const AttentionPlan plan, const CausalAttentionInputs in, const MutableSlice y,
                      float* log_sums) {
  attention_forward_block<AttentionCore, D, Whole>(plan, in, y, log_sums);
}

template <int D, bool Whole>
__global__ void __launch_bounds__(kAttentionWarps* kWarp, backward_resident(D, Whole))
    attention_backward(const AttentionPlan plan, const CausalAttentionInputs in, const Slice y,
                       const float* log_sums, const Slice dy, const CausalAttentionGradients out) {
  attention_backward_block<AttentionCore, D, Whole>(plan, in, y, log_sums, dy, out);
}

// Queues `kernel` with the shared memory that `plan` needs.
template <int D, class Kernel, class... Arguments>
int launch(Kernel* kernel, const CausalAttentionShape& shape, const AttentionPlan& plan, bool backward,
           void* stream, const Arguments&... arguments) {
  return launch_attention(kernel, AttentionShared<D>(plan, backward).size, shape.sequences, plan, stream,
                          plan, arguments...);
}

// call.operator()<D>() for the shape's d.
template <class Call>
int for_size(const CausalAttentionShape& shape, const Call& call) {
  if (!causal_attention_has(shape)) return cudaErrorInvalidValue;
  switch (shape.size) {
    case 16:
      return call.template operator()<16>();
    case 32:
      return call.template operator()<32>();
    default:
      return call.template operator()<64>();
  }
}

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  if (cudaGetDevice(&device) != cudaSuccess || cudaDeviceGetAttribute(&value, which, device) != cudaSuccess)
    return 0;
  return value;
}

template <int D>
unsigned most_shared(const CausalAttentionShape& shape) {
  const unsigned forward = AttentionShared<D>(attention_plan(shape, kForwardAttentionRows), false).size;
  const unsigned backward = AttentionShared<D>(attention_plan(shape, backward_attention_rows(D)), true).size;
  return forward > backward ? forward : backward;
}

}  // namespace

bool causal_attention_fits(const CausalAttentionShape& shape) {
  if (!causal_attention_has(shape) || attribute(cudaDevAttrComputeCapabilityMajor) < 8) return false;
  const int bytes = for_size(shape, [&]<int D>() { return static_cast<int>(most_shared<D>(shape)); });
  return attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) >= bytes;
}

int causal_attention_forward_cuda(const CausalAttentionShape& shape, const CausalAttentionInputs& in,
                                  const MutableSlice& y, float* log_sums, void* stream) {
  return for_size(shape, [&]<int D>() -> int {
    if (!all_in_sixteens(in.q, in.k, in.v, y)) return cudaErrorMisalignedAddress;
    const AttentionPlan plan = attention_plan(shape, kForwardAttentionRows);
    return launch<D>(plan.blocks == 1 ? attention_forward<D, true> : attention_forward<D, false>, shape, plan,
                     false, stream, in, y, log_sums);
  });
}

int causal_attention_backward_cuda(const CausalAttentionShape& shape, const CausalAttentionInputs& in,
                                   const Slice& y, const float* log_sums, const Slice& dy,
                                   const CausalAttentionGradients& out, void* stream) {
  return for_size(shape, [&]<int D>() -> int {
    if (!all_in_sixteens(in.q, in.k, in.v, y, dy, out.dq, out.dk, out.dv)) return cudaErrorMisalignedAddress;
    const AttentionPlan plan = attention_plan(shape, backward_attention_rows(D));
    return launch<D>(plan.blocks == 1 ? attention_backward<D, true> : attention_backward<D, false>, shape,
                     plan, true, stream, in, y, log_sums, dy, out);
  });
}

}  // namespace rung::kernels
