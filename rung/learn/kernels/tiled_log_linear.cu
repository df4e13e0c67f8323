#include "rung/learn/kernels/tiled_log_linear.h"

#include "rung/learn/kernels/attention_launch.cuh"
#include "rung/learn/kernels/log_linear_gradient.cuh"

namespace rung::kernels {
namespace {

template <int D, bool Whole>
__global__ void __launch_bounds__(kAttentionWarps* kWarp, forward_resident(D))
    log_linear_forward(const LogLinearPlan plan, const LogLinearInputs in, const MutableSlice y,
                       const float* prefix) {
  log_linear_forward_block<AttentionCore, D, Whole>(plan, in, y, prefix);
}
template <int D, bool Whole>
__global__ void __launch_bounds__(backward_warps(D, Whole) * kWarp, backward_resident(D, Whole))
    log_linear_backward(const LogLinearPlan plan, const LogLinearInputs in, const Slice dy,
                        const LogLinearGradients out, const float* prefix, float* inner) {
  log_linear_backward_block<AttentionCore, D, Whole>(plan, in, dy, out, prefix, inner);
}

// call.operator()<D>() for the smallest D that holds keys and values.
template <class Call>
int for_size(const LogLinearShape& shape, const Call& call) {
  const std::int64_t size = shape.key_size > shape.value_size ? shape.key_size : shape.value_size;
  if (size <= 16) return call.template operator()<16>();
  if (size <= 32) return call.template operator()<32>();
  return call.template operator()<64>();
}
template <class... Slices>
bool all_packed(const LogLinearShape& shape, const Slices&... slices) {
  return shape.key_size % 8 == 0 && shape.value_size % 8 == 0 && all_in_sixteens(slices...);
}

}  // namespace

int tiled_log_linear_forward(const LogLinearShape& shape, const LogLinearInputs& in, const MutableSlice& y,
                             const float* prefix, void* stream) {
  return for_size(shape, [&]<int D>() -> int {
    const LogLinearPlan plan =
        log_linear_plan(shape, log_linear_room(D, false, false), all_packed(shape, in.q, in.k, in.v, y));
    return launch_attention(
        plan.tiles.blocks == 1 ? log_linear_forward<D, true> : log_linear_forward<D, false>,
        LogLinearShared<D>(plan, false).size, shape.sequences, plan.tiles, stream, plan, in, y, prefix);
  });
}

int tiled_log_linear_backward(const LogLinearShape& shape, const LogLinearInputs& in, const Slice& dy,
                              const LogLinearGradients& out, const float* prefix, float* inner,
                              void* stream) {
  return for_size(shape, [&]<int D>() -> int {
    const LogLinearPlan plan =
        log_linear_plan(shape, log_linear_room(D, true, has_large_blocks()),
                        all_packed(shape, in.q, in.k, in.v, dy, out.dq, out.dk, out.dv));
    return launch_attention(
        plan.tiles.blocks == 1 ? log_linear_backward<D, true> : log_linear_backward<D, false>,
        LogLinearShared<D>(plan, true).size, shape.sequences, plan.tiles, stream, plan, in, dy, out, prefix,
        inner);
  });
}

}  // namespace rung::kernels
