// The numbers that a kernel reads and writes: float32, or bfloat16 (the upper half of a float32). Arithmetic
// is float32 in every kernel; bfloat16 is storage, rounded to nearest even. Usable from host and device code.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define RUNG_HOST_DEVICE __host__ __device__
#define RUNG_DEVICE __device__ __forceinline__
#else
#define RUNG_HOST_DEVICE
#define RUNG_DEVICE inline  // device code that a test runs on the host
#endif

namespace rung::kernels {

enum class Element { f32, bf16 };

struct Bf16 {
  std::uint16_t bits;
};

// Bytes of one element.
constexpr std::int64_t element_size(Element element) { return element == Element::f32 ? 4 : 2; }

RUNG_HOST_DEVICE inline float to_float(float x) { return x; }
RUNG_HOST_DEVICE inline float to_float(Bf16 x) {
  union {
    std::uint32_t bits;
    float value;
  } u;
  u.bits = static_cast<std::uint32_t>(x.bits) << 16;
  return u.value;
}

RUNG_HOST_DEVICE inline void store(float& place, float x) { place = x; }
RUNG_HOST_DEVICE inline void store(Bf16& place, float x) {
#if defined(__CUDA_ARCH__)
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(place.bits) : "f"(x));
#else
  union {
    float value;
    std::uint32_t bits;
  } u;
  u.value = x;
  const std::uint32_t rounded = (u.bits + 0x7FFFu + ((u.bits >> 16) & 1u)) >> 16;
  // A NaN must not round to infinity: it keeps its upper half, made quiet.
  place.bits =
      static_cast<std::uint16_t>((u.bits & 0x7FFFFFFFu) > 0x7F800000u ? (u.bits >> 16) | 0x40u : rounded);
#endif
}

// Vectors [N, T, H, size] inside a larger buffer, as the slices of a fused projection are: the H vectors of a
// position stand side by side, positions and sequences are so many elements apart. Nothing is assumed of
// alignment beyond the element's own.
struct Slice {
  const void* data = nullptr;
  std::int64_t sequence_stride = 0, position_stride = 0;  // elements
};
struct MutableSlice {
  void* data = nullptr;
  std::int64_t sequence_stride = 0, position_stride = 0;  // elements
  RUNG_HOST_DEVICE operator Slice() const { return {data, sequence_stride, position_stride}; }
};

// The slice of a tensor that holds nothing else.
constexpr MutableSlice whole(void* data, std::int64_t positions, std::int64_t heads, std::int64_t size) {
  return {data, positions * heads * size, heads * size};
}
constexpr Slice whole(const void* data, std::int64_t positions, std::int64_t heads, std::int64_t size) {
  return {data, positions * heads * size, heads * size};
}

}  // namespace rung::kernels
