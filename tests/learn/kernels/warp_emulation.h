// The emulated multiprocessor (emulated_core.h) as the machine of rung/learn/kernels/warp_matrix.cuh, with the types and
// words that nvcc knows of itself.
#pragma once

#include "tests/learn/kernels/emulated_core.h"

#define __device__

namespace rung::kernels {

struct alignas(16) uint4 {
  std::uint32_t x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }

inline constexpr int kWarp = 32;
using WarpCore = EmulatedCore;

}  // namespace rung::kernels
