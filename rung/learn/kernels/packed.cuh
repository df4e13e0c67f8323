// Sixteen bytes at a time where everything is aligned for it, one element at a time elsewhere.
#pragma once

#include "rung/learn/kernels/warp.cuh"

namespace rung::kernels {

template <class T, int Count>
struct alignas(sizeof(T) * Count) Packed {
  T x[Count];
};

template <class T>
inline constexpr int kPackedCount = 16 / static_cast<int>(sizeof(T));

template <class T, int Count>
__device__ inline void load_packed(float (&to)[Count], const T* from) {
  const auto packed = *reinterpret_cast<const Packed<T, Count>*>(from);
#pragma unroll
  for (int i = 0; i < Count; ++i) to[i] = widen(packed.x[i]);
}
template <class T, int Count>
__device__ inline void save_packed(T* to, const float (&from)[Count]) {
  Packed<T, Count> packed;
#pragma unroll
  for (int i = 0; i < Count; ++i) store(packed.x[i], from[i]);
  *reinterpret_cast<Packed<T, Count>*>(to) = packed;
}

// True when rows that begin at `data` and every `stride` elements after it can be read sixteen bytes at a
// time.
inline bool packs(const void* data, std::int64_t stride, std::int64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && stride * bytes % 16 == 0;
}

}  // namespace rung::kernels
