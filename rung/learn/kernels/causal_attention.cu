#include "rung/learn/kernels/causal_attention.h"

#include "rung/learn/kernels/causal_attention_gradient.cuh"
#include "rung/learn/kernels/packed.cuh"
#include "rung/learn/kernels/tensor_core.cuh"

namespace rung::kernels {
namespace {

struct AttentionCore : TensorCore {
  // Volatile: what follows from it is not kept in registers throughout the kernel.
  static __device__ int block() {
    int index;
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(index));
    return index;
  }
  // Sixteen bytes in one instruction, which the compiler takes apart when it is left to it.
  static __device__ void store_four(void* to, unsigned a, unsigned b, unsigned c, unsigned d) {
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(a),
                 "r"(b), "r"(c), "r"(d)
                 : "memory");
  }
  static __device__ bool any(bool of_lane) { return __any_sync(kAllLanes, of_lane); }
  static __device__ float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
  static __device__ float logarithm_of_two(float x) { return __log2f(x); }
  static __device__ unsigned exchange(unsigned x, int lanes) { return __shfl_xor_sync(kAllLanes, x, lanes); }
};

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

bool in_sixteens(const Slice& slice) {
  return packs(slice.data, slice.position_stride, element_size(Element::bf16)) &&
         packs(slice.data, slice.sequence_stride, element_size(Element::bf16));
}
template <class... Slices>
bool all_in_sixteens(const Slices&... slices) {
  return (in_sixteens(slices) && ...);
}

// Queues `kernel` with the shared memory that `plan` needs.
template <int D, class Kernel, class... Arguments>
int launch(Kernel* kernel, const CausalAttentionShape& shape, const AttentionPlan& plan, bool backward,
           void* stream, const Arguments&... arguments) {
  const unsigned bytes = AttentionShared<D>(plan, backward).size;
  RUNG_CUDA_TRY(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  RUNG_CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     cudaSharedmemCarveoutMaxShared));
  const unsigned blocks = blocks_for(shape.sequences * shape.heads * plan.blocks, 1);
  if (blocks == 0) return cudaErrorInvalidConfiguration;
  kernel<<<blocks, static_cast<unsigned>(plan.warps * kWarp), bytes, stream_of(stream)>>>(plan, arguments...);
  return launched();
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
