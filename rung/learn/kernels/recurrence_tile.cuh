// One warp, one tile of the matrix recurrence: 32 rows (or columns) of the state, one a lane, the other
// dimension in registers. Tokens come in chunks: vectors that every lane reads whole stand in shared memory,
// padded with zeros to the registers' width; numbers that only one lane reads stand in shared memory at that
// lane's place.
#pragma once

#include <initializer_list>

#include "rung/learn/kernels/matrix_recurrence.h"
#include "rung/learn/kernels/packed.cuh"

namespace rung::kernels {

inline constexpr int kChunk = 8;      // tokens at a time
inline constexpr int kTileWarps = 4;  // tiles a block

// Blocks a multiprocessor is to hold at once, by register width: what bounds the registers of a kernel.
constexpr int blocks_at_once(int width) { return width <= 8 ? 6 : width <= 16 ? 5 : width <= 32 ? 4 : 2; }

// The tile of a warp; `none` past the last one.
struct Tile {
  std::int64_t n, h;
  int first, lane, warp;  // first: row (column) of lane 0
  bool none;
  __device__ Tile(const RecurrenceShape& shape, int size) {
    const std::int64_t tiles = (size + kWarp - 1) / kWarp;
    lane = static_cast<int>(threadIdx.x) % kWarp;
    warp = static_cast<int>(threadIdx.x) / kWarp;
    const std::int64_t item = static_cast<std::int64_t>(blockIdx.x) * kTileWarps + warp;
    none = item >= shape.sequences * shape.heads * tiles;
    first = static_cast<int>(item % tiles) * kWarp;
    h = item / tiles % shape.heads;
    n = item / tiles / shape.heads;
  }
  __device__ std::int64_t scalar(const RecurrenceShape& shape, std::int64_t t) const {
    return (n * shape.positions + t) * shape.heads + h;
  }
};

// Vectors of the tokens t0 … t0 + tokens - 1, of `size` numbers, padded to W: to[token][W].
template <class T, int W>
__device__ inline void stage(float* to, const Slice& from, const Tile& tile, std::int64_t t0, int tokens,
                             int size) {
  const T* base = vector_at<T>(from, tile.n, t0, tile.h, size);
  float loaded[(kChunk * W + kWarp - 1) / kWarp];
#pragma unroll
  for (int step = 0; step < (kChunk * W + kWarp - 1) / kWarp; ++step) {
    const int i = step * kWarp + tile.lane, token = i / W, column = i % W;
    loaded[step] =
        token < tokens && column < size ? widen(base[token * from.position_stride + column]) : 0.0f;
  }
#pragma unroll
  for (int step = 0; step < (kChunk * W + kWarp - 1) / kWarp; ++step)
    to[step * kWarp + tile.lane] = loaded[step];
}

// The number of each token that this lane alone reads: to[token][32].
template <class T>
__device__ inline void stage_own(float* to, const Slice& from, const Tile& tile, std::int64_t t0, int tokens,
                                 int size) {
  const int mine = tile.first + tile.lane;
  const T* base = vector_at<T>(from, tile.n, t0, tile.h, size) + mine;
  float loaded[kChunk];
#pragma unroll
  for (int token = 0; token < kChunk; ++token)
    loaded[token] = token < tokens && mine < size ? widen(base[token * from.position_stride]) : 0.0f;
#pragma unroll
  for (int token = 0; token < kChunk; ++token) to[token * kWarp + tile.lane] = loaded[token];
}

// A float32 tensor [N, T, H, size] that holds nothing else, as a slice.
__device__ inline Slice tensor(const float* data, const RecurrenceShape& shape, int size) {
  return {data, shape.positions * shape.heads * size, shape.heads * size};
}

// Lane `token` gets exp(log_decay) of that token of the chunk, 1 without decay.
__device__ inline float stage_decay(const RecurrenceInputs& in, const RecurrenceShape& shape,
                                    const Tile& tile, std::int64_t t0, int tokens) {
  return in.log_decay && tile.lane < tokens ? expf(in.log_decay[tile.scalar(shape, t0 + tile.lane)]) : 1.0f;
}
__device__ inline float stage_beta(const RecurrenceInputs& in, const RecurrenceShape& shape, const Tile& tile,
                                   std::int64_t t0, int tokens) {
  return tile.lane < tokens ? in.beta[tile.scalar(shape, t0 + tile.lane)] : 0.0f;
}

// Sums over the lanes, one a token of the chunk: product[token][33] by lanes; lane 4 * token (kChunk = 8)
// gets the sum.
inline constexpr int kLanePitch = kWarp + 1;
__device__ inline float lane_sums(const float* product, int lane) {
  static_assert(kChunk * 4 == kWarp);
  const float* mine = product + lane / 4 * kLanePitch + lane % 4 * (kWarp / 4);
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kWarp / 4; ++i) sum += mine[i];
  sum += __shfl_xor_sync(kAllLanes, sum, 1);
  return sum + __shfl_xor_sync(kAllLanes, sum, 2);
}

// Calls launch(std::integral_constant<int, W>) with the smallest register width that holds `size` (at most
// 64).
template <class Launch>
int by_width(std::int64_t size, Launch launch) {
  if (size <= 8) return launch.template operator()<8>();
  if (size <= 16) return launch.template operator()<16>();
  if (size <= 32) return launch.template operator()<32>();
  return launch.template operator()<64>();
}

// True when every vector of every slice can be moved sixteen bytes at a time, if its size allows it.
inline bool packs_vectors(const RecurrenceShape& shape, std::initializer_list<Slice> slices) {
  for (const Slice& slice : slices)
    if (!packs(slice.data, slice.position_stride, element_size(shape.element)) ||
        !packs(slice.data, slice.sequence_stride, element_size(shape.element)))
      return false;
  return true;
}

inline unsigned tile_blocks(const RecurrenceShape& shape, std::int64_t size) {
  return blocks_for(shape.sequences * shape.heads * ((size + kWarp - 1) / kWarp), kTileWarps);
}

}  // namespace rung::kernels
