// What the device kernels share: return codes, and one warp's share of the work. Several independent warps
// make a block; warps that work apart synchronise with __syncwarp alone.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "rung/learn/kernels/element.h"

// Returns the error from the enclosing function, which returns an int.
#define RUNG_CUDA_TRY(call)                                                                        \
  do {                                                                                             \
    if (const cudaError_t status = (call); status != cudaSuccess) return static_cast<int>(status); \
  } while (false)

namespace rung::kernels {

inline constexpr unsigned kAllLanes = 0xFFFFFFFFu;
inline constexpr int kWarp = 32;

inline cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }
// The error of the launch before, and nothing else: it does not wait.
inline int launched() { return static_cast<int>(cudaGetLastError()); }
// Blocks for `items` with `each` items a block; 0 where a grid cannot have so many.
inline unsigned blocks_for(std::int64_t items, std::int64_t each) {
  const std::int64_t blocks = (items + each - 1) / each;
  return blocks > 0x7FFFFFFF ? 0u : static_cast<unsigned>(blocks);
}

__device__ inline float warp_sum(float x) {
#pragma unroll
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) x += __shfl_xor_sync(kAllLanes, x, lanes);
  return x;
}

__device__ inline float widen(float x) { return x; }
__device__ inline float widen(Bf16 x) { return __uint_as_float(static_cast<unsigned>(x.bits) << 16); }

template <class T>
__device__ inline const T* vector_at(const Slice& slice, std::int64_t n, std::int64_t t, std::int64_t h,
                                     int size) {
  return static_cast<const T*>(slice.data) + n * slice.sequence_stride + t * slice.position_stride + h * size;
}
template <class T>
__device__ inline T* vector_at(const MutableSlice& slice, std::int64_t n, std::int64_t t, std::int64_t h,
                               int size) {
  return static_cast<T*>(slice.data) + n * slice.sequence_stride + t * slice.position_stride + h * size;
}

}  // namespace rung::kernels
