#include "rung/learn/kernels/causal_attention.h"

#include "rung/learn/kernels/attention_launch.cuh"
#include "rung/learn/kernels/causal_attention_stream.cuh"

namespace rung::kernels {
namespace {

template <int D, bool Whole>
__global__ void __launch_bounds__(kAttentionWarps* kWarp, forward_resident(D))
    attention_forward(const AttentionPlan plan, const CausalAttentionInputs in, const MutableSlice y,
                      float* log_sums) {
  attention_forward_block<AttentionCore, D, Whole>(plan, in, y, log_sums);
}

template <int D>
__global__ void __launch_bounds__(backward_warps(D, true) * kWarp, backward_resident(D, true))
    attention_backward(const AttentionPlan plan, const CausalAttentionInputs in, const Slice y,
                       const float* log_sums, const Slice dy, const CausalAttentionGradients out) {
  attention_backward_block<AttentionCore, D>(plan, in, y, log_sums, dy, out);
}

template <int D>
__global__ void __launch_bounds__(kStreamWarps* kWarp)
    attention_stats(const AttentionPlan plan, const Slice y, const Slice dy, const float* log_sums,
                    float* stats) {
  gather_stats<AttentionCore, D>(plan, y, dy, log_sums, stats);
}
template <int D>
__global__ void __launch_bounds__(kStreamWarps* kWarp, D == 64   ? 2
                                                       : D == 32 ? 3
                                                                 : 4)
    attention_stream(const AttentionPlan plan, const CausalAttentionInputs in, const float* stats,
                     const Slice dy, const CausalAttentionGradients out) {
  attention_stream_block<AttentionCore, D>(plan, in, stats, dy, out);
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

// Of a head that one block owns; more blocks: it streams.
AttentionPlan backward_plan(const CausalAttentionShape& shape) {
  return attention_plan(shape, backward_attention_room(static_cast<int>(shape.size), has_large_blocks()));
}
template <int D>
int stream_backward(const CausalAttentionShape& shape, const CausalAttentionInputs& in, const Slice& y,
                    const float* log_sums, const Slice& dy, const CausalAttentionGradients& out,
                    float* scratch, void* stream) {
  if (!scratch) return cudaErrorInvalidValue;
  const AttentionPlan plan = attention_stream_plan(shape);
  const unsigned blocks =
      blocks_for(shape.sequences * shape.heads * stream_positions(shape.positions), kStatsRows<D>);
  if (blocks == 0) return cudaErrorInvalidConfiguration;
  attention_stats<D><<<blocks, static_cast<unsigned>(plan.warps * kWarp), 0, stream_of(stream)>>>(
      plan, y, dy, log_sums, scratch);
  RUNG_CUDA_TRY(cudaGetLastError());
  const float* stats = scratch;
  return launch_attention(attention_stream<D>, StreamShared<D>::kSize, shape.sequences, plan, stream, plan,
                          in, stats, dy, out);
}

template <int D>
unsigned most_shared(const CausalAttentionShape& shape) {
  const unsigned forward = AttentionShared<D>(attention_plan(shape, kForwardAttentionRoom), false).size;
  const AttentionPlan plan = backward_plan(shape);
  const unsigned backward = plan.blocks == 1 ? AttentionShared<D>(plan, true).size : StreamShared<D>::kSize;
  return forward > backward ? forward : backward;
}

}  // namespace

bool causal_attention_fits(const CausalAttentionShape& shape) {
  if (!causal_attention_has(shape) || device_attribute(cudaDevAttrComputeCapabilityMajor) < 8) return false;
  const int bytes = for_size(shape, [&]<int D>() { return static_cast<int>(most_shared<D>(shape)); });
  return device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) >= bytes;
}

int causal_attention_forward_cuda(const CausalAttentionShape& shape, const CausalAttentionInputs& in,
                                  const MutableSlice& y, float* log_sums, void* stream) {
  return for_size(shape, [&]<int D>() -> int {
    if (!all_in_sixteens(in.q, in.k, in.v, y)) return cudaErrorMisalignedAddress;
    const AttentionPlan plan = attention_plan(shape, kForwardAttentionRoom);
    return launch<D>(plan.blocks == 1 ? attention_forward<D, true> : attention_forward<D, false>, shape, plan,
                     false, stream, in, y, log_sums);
  });
}

std::int64_t causal_attention_scratch(const CausalAttentionShape& shape) {
  return backward_plan(shape).blocks > 1
             ? 2 * shape.sequences * shape.heads * stream_positions(shape.positions)
             : 0;
}

int causal_attention_backward_cuda(const CausalAttentionShape& shape, const CausalAttentionInputs& in,
                                   const Slice& y, const float* log_sums, const Slice& dy,
                                   const CausalAttentionGradients& out, float* scratch, void* stream) {
  return for_size(shape, [&]<int D>() -> int {
    if (!all_in_sixteens(in.q, in.k, in.v, y, dy, out.dq, out.dk, out.dv)) return cudaErrorMisalignedAddress;
    const AttentionPlan plan = backward_plan(shape);
    return plan.blocks > 1
               ? stream_backward<D>(shape, in, y, log_sums, dy, out, scratch, stream)
               : launch<D>(attention_backward<D>, shape, plan, true, stream, in, y, log_sums, dy, out);
  });
}

}  // namespace rung::kernels
