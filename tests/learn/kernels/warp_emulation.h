// The operations of rung/learn/kernels/warp_matrix.cuh on an emulated multiprocessor (emulated_core.h); the kernels'
// code is compiled as it is.
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

inline int lane_index() { return EmulatedCore::lane(); }
inline void warp_barrier() { EmulatedCore::sync_warp(); }
inline float from_lane(float x, int lane) {
  return EmulatedCore::number(EmulatedCore::from_lane(EmulatedCore::bits(x), lane));
}
inline float from_lane_xor(float x, int mask) { return EmulatedCore::shuffle_xor(x, mask); }
inline float from_lane_below(float x, int lanes) {
  return from_lane(x, lane_index() < lanes ? lane_index() : lane_index() - lanes);
}
inline float exponential2(float x) { return EmulatedCore::power_of_two(x); }
inline std::uint32_t pack(float first, float second) { return EmulatedCore::pack(first, second); }
inline float first_of(std::uint32_t pair) { return EmulatedCore::low(pair); }
inline float second_of(std::uint32_t pair) { return EmulatedCore::high(pair); }
inline void multiply_add(float* c, const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  EmulatedCore::multiply_add(c, a, b0, b1);
}
inline void load_matrices(std::uint32_t (&to)[4], const void* row) { EmulatedCore::load_row(to, row, false); }
inline void load_transposed_matrices(std::uint32_t (&to)[4], const void* row) {
  EmulatedCore::load_row(to, row, true);
}
inline std::uint32_t transpose_matrix(std::uint32_t x) { return EmulatedCore::transpose(x); }
inline void copy_sixteen(void* to, const void* from, bool wanted) {
  EmulatedCore::now().copy_later(to, from, 16, wanted);
}
inline void wait_for_copies() { EmulatedCore::wait_copies(); }

}  // namespace rung::kernels
