// Products of 16 x 16 blocks by one warp on the tensor cores: bfloat16 factors, float32 sums.
//
// A block lies over the lanes as the instruction mma.m16n8k16 wants its left factor and leaves its sum: lane
// 4 g + t holds, of rows g and g + 8, columns 2 t, 2 t + 1, 2 t + 8 and 2 t + 9. A factor on the right is
// given by its transpose in the same layout, so that `accumulate` adds A B^T, and what one product leaves can
// be a factor of the next on either side without crossing lanes.
//
// A float32 number is two bfloat16, high and low, to 16 bits and more: products of split factors lose 2^-16
// of a term (bfloat16 alone 2^-9), at two or three times the work of units that the memory leaves idle.
//
// Where RUNG_WARP_EMULATION names a header, that header supplies the warp's operations in C++; the tests do
// so.
#pragma once

#if defined(RUNG_WARP_EMULATION)
#include RUNG_WARP_EMULATION
#else
#include "rung/learn/kernels/warp.cuh"

namespace rung::kernels {

__device__ inline int lane_index() { return static_cast<int>(threadIdx.x) % kWarp; }
__device__ inline void warp_barrier() { __syncwarp(); }
__device__ inline float from_lane(float x, int lane) { return __shfl_sync(kAllLanes, x, lane); }
__device__ inline float from_lane_xor(float x, int mask) { return __shfl_xor_sync(kAllLanes, x, mask); }
__device__ inline float from_lane_below(float x, int lanes) { return __shfl_up_sync(kAllLanes, x, lanes); }

// 2^x, to two units in the last place.
__device__ inline float exponential2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// Two numbers rounded to bfloat16, the first in the lower half.
__device__ inline std::uint32_t pack(float first, float second) {
  std::uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}
__device__ inline float first_of(std::uint32_t pair) { return __uint_as_float(pair << 16); }
__device__ inline float second_of(std::uint32_t pair) { return __uint_as_float(pair & 0xFFFF0000u); }

// c [16 x 8] += a [16 x 16] b [16 x 8].
__device__ inline void multiply_add(float* c, const std::uint32_t (&a)[4], std::uint32_t b0,
                                    std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// Four 8 x 8 matrices of bfloat16 in shared memory; lane i gives the address of row i % 8 of matrix i / 8.
__device__ inline void load_matrices(std::uint32_t (&to)[4], const void* row) {
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(at)
               : "memory");
}
__device__ inline void load_transposed_matrices(std::uint32_t (&to)[4], const void* row) {
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(at)
               : "memory");
}
// The 8 x 8 matrix that the lanes hold, transposed.
__device__ inline std::uint32_t transpose_matrix(std::uint32_t x) {
  std::uint32_t y;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(y) : "r"(x));
  return y;
}

// Sixteen bytes from global to shared memory, zeros where they are not `wanted`; there after the wait.
__device__ inline void copy_sixteen(void* to, const void* from, bool wanted) {
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(wanted ? 16 : 0)
               : "memory");
}
__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

}  // namespace rung::kernels
#endif

namespace rung::kernels {

inline constexpr int kSide = 16;  // of a block

// A block as a factor: pair i of a lane.
struct Factor {
  std::uint32_t pairs[4];
};
// A block as a sum: number i of a lane is at block_row(i), block_column(i).
struct Sum {
  float x[8];
};
struct SplitFactor {
  Factor high, low;
};

// Which of a lane's two rows, and of its four columns, number i is in.
__device__ constexpr int row_slot(int i) { return i / 2 % 2; }
__device__ constexpr int column_slot(int i) { return i % 2 + i / 4 * 2; }
__device__ inline int slot_row(int slot) { return lane_index() / 4 + 8 * slot; }
__device__ inline int slot_column(int slot) { return lane_index() % 4 * 2 + slot % 2 + slot / 2 * 8; }
__device__ inline int block_row(int i) { return slot_row(row_slot(i)); }
__device__ inline int block_column(int i) { return slot_column(column_slot(i)); }

__device__ inline Sum zeros() {
  Sum sum;
#pragma unroll
  for (float& x : sum.x) x = 0.0f;
  return sum;
}
__device__ inline Factor rounded(const Sum& sum) {
  Factor factor;
#pragma unroll
  for (int i = 0; i < 4; ++i) factor.pairs[i] = pack(sum.x[2 * i], sum.x[2 * i + 1]);
  return factor;
}
__device__ inline Sum widened(const Factor& factor) {
  Sum sum;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sum.x[2 * i] = first_of(factor.pairs[i]);
    sum.x[2 * i + 1] = second_of(factor.pairs[i]);
  }
  return sum;
}
__device__ inline SplitFactor split(const Sum& sum) {
  SplitFactor factor;
  factor.high = rounded(sum);
  const Sum high = widened(factor.high);
  Sum rest;
#pragma unroll
  for (int i = 0; i < 8; ++i) rest.x[i] = sum.x[i] - high.x[i];
  factor.low = rounded(rest);
  return factor;
}

// sum += a b^T.
__device__ inline void accumulate(Sum& sum, const Factor& a, const Factor& b) {
  multiply_add(sum.x, a.pairs, b.pairs[0], b.pairs[2]);
  multiply_add(sum.x + 4, a.pairs, b.pairs[1], b.pairs[3]);
}
__device__ inline void accumulate(Sum& sum, const SplitFactor& a, const Factor& b) {
  accumulate(sum, a.low, b);
  accumulate(sum, a.high, b);
}
__device__ inline void accumulate(Sum& sum, const Factor& a, const SplitFactor& b) {
  accumulate(sum, a, b.low);
  accumulate(sum, a, b.high);
}
__device__ inline void accumulate(Sum& sum, const SplitFactor& a, const SplitFactor& b) {
  accumulate(sum, a.low, b.high);
  accumulate(sum, a.high, b.low);
  accumulate(sum, a.high, b.high);
}

__device__ inline Factor transposed(const Factor& a) {
  return {{transpose_matrix(a.pairs[0]), transpose_matrix(a.pairs[2]), transpose_matrix(a.pairs[1]),
           transpose_matrix(a.pairs[3])}};
}
__device__ inline SplitFactor transposed(const SplitFactor& a) {
  return {transposed(a.high), transposed(a.low)};
}

// Factors of a lane's rows (columns), by slot.
__device__ inline void scale_rows(Sum& sum, const float (&by)[2]) {
#pragma unroll
  for (int i = 0; i < 8; ++i) sum.x[i] *= by[row_slot(i)];
}
__device__ inline void scale_columns(Sum& sum, const float (&by)[4]) {
#pragma unroll
  for (int i = 0; i < 8; ++i) sum.x[i] *= by[column_slot(i)];
}
__device__ inline void scale(Sum& sum, float by) {
#pragma unroll
  for (float& x : sum.x) x *= by;
}

}  // namespace rung::kernels
