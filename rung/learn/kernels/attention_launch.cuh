// How kernels over an AttentionPlan are queued, and the machine that they run on.
#pragma once

#include "rung/learn/kernels/causal_attention_tile.cuh"
#include "rung/learn/kernels/packed.cuh"
#include "rung/learn/kernels/tensor_core.cuh"

namespace rung::kernels {

struct AttentionCore : TensorCore {
  // Volatile: what follows from it is not kept in registers throughout the kernel.
  static __device__ int block() {
    int index;
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(index));
    return index;
  }
};

// Blocks of a multiprocessor at once, in its registers and shared memory, and warps of a block.
constexpr int forward_resident(int size) { return size == 64 ? 2 : 3; }
constexpr int backward_resident(int size, bool whole) {
  if (!whole || size == 32) return 2;
  return size == 16 ? 3 : 1;
}
constexpr int backward_warps(int size, bool whole) {
  return size == 64 && whole ? 2 * kAttentionWarps : kAttentionWarps;
}

// Whether all their vectors begin at multiples of 16 bytes, where sizes are multiples of 8.
template <class... Slices>
bool all_in_sixteens(const Slices&... slices) {
  const std::int64_t bytes = element_size(Element::bf16);
  return ((packs(slices.data, slices.position_stride, bytes) &&
           packs(slices.data, slices.sequence_stride, bytes)) &&
          ...);
}

inline int device_attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  if (cudaGetDevice(&device) != cudaSuccess || cudaDeviceGetAttribute(&value, which, device) != cudaSuccess)
    return 0;
  return value;
}
// Whether a block can have shared memory for 256 positions of a head of 64 in backward: 149,504 bytes, and
// 167,056 with shares.
inline bool has_large_blocks() {
  return device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) >= 168 * 1024;
}

// Queues `kernel`, a block for every part of every head, with so many bytes of shared memory.
template <class Kernel, class... Arguments>
int launch_attention(Kernel* kernel, unsigned bytes, std::int64_t sequences, const AttentionPlan& plan,
                     void* stream, const Arguments&... arguments) {
  RUNG_CUDA_TRY(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  RUNG_CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     cudaSharedmemCarveoutMaxShared));
  const unsigned blocks = blocks_for(sequences * plan.heads * plan.blocks, 1);
  if (blocks == 0) return cudaErrorInvalidConfiguration;
  kernel<<<blocks, static_cast<unsigned>(plan.warps * kWarp), bytes, stream_of(stream)>>>(arguments...);
  return launched();
}

}  // namespace rung::kernels
