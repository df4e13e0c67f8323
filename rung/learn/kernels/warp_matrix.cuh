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
// The operations are those of WarpCore, the machine of tensor_core.cuh. Where RUNG_WARP_EMULATION names a header, that
// header supplies another; the tests do so.
#pragma once

#if defined(RUNG_WARP_EMULATION)
#include RUNG_WARP_EMULATION
#else
#include "rung/learn/kernels/tensor_core.cuh"
namespace rung::kernels {
using WarpCore = TensorCore;
}
#endif

namespace rung::kernels {

inline constexpr int kSide = 16;  // of a block

__device__ inline int lane_index() { return WarpCore::lane(); }
__device__ inline void warp_barrier() { WarpCore::sync_warp(); }
__device__ inline float from_lane(float x, int lane) { return WarpCore::from_lane(x, lane); }
__device__ inline float from_lane_xor(float x, int mask) { return WarpCore::shuffle_xor(x, mask); }
__device__ inline float from_lane_below(float x, int lanes) { return WarpCore::from_lane_below(x, lanes); }

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
  for (int i = 0; i < 4; ++i) factor.pairs[i] = WarpCore::pack(sum.x[2 * i], sum.x[2 * i + 1]);
  return factor;
}
__device__ inline Sum widened(const Factor& factor) {
  Sum sum;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sum.x[2 * i] = WarpCore::low(factor.pairs[i]);
    sum.x[2 * i + 1] = WarpCore::high(factor.pairs[i]);
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
  WarpCore::multiply_add(sum.x, a.pairs, b.pairs[0], b.pairs[2]);
  WarpCore::multiply_add(sum.x + 4, a.pairs, b.pairs[1], b.pairs[3]);
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
  return {{WarpCore::transpose(a.pairs[0]), WarpCore::transpose(a.pairs[2]), WarpCore::transpose(a.pairs[1]),
           WarpCore::transpose(a.pairs[3])}};
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
