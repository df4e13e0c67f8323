// How the kernels of recurrence_chunk.cuh are queued. Forward and backward are files of their own, because the compiler
// takes long over them.
#pragma once

#include "rung/learn/kernels/chunked_recurrence.h"
#include "rung/learn/kernels/recurrence_chunk.cuh"

namespace rung::kernels {

// Heads a block: as many as the tiles leave room for in the shared memory that needs no asking, at most four.
template <class Tiles>
inline constexpr int kHeadsOf = 4 * sizeof(Tiles) <= 48 * 1024   ? 4
                                : 2 * sizeof(Tiles) <= 48 * 1024 ? 2
                                                                 : 1;
// Warps a multiprocessor is to hold at once: what bounds the registers of a kernel.
constexpr int warps_at_once(int blocks) { return blocks == 1 ? 16 : blocks == 2 ? 12 : 8; }

// The warp's number among the heads of all sequences.
__device__ inline std::int64_t own_item(int heads) {
  return static_cast<std::int64_t>(blockIdx.x) * heads + threadIdx.x / kWarp;
}

// Calls launch<B, Decay, Delta, Normalised>().
template <class Launch>
int by_kind(const RecurrenceShape& shape, bool decay, Launch launch) {
  const auto of_size = [&]<int B>() {
    if (shape.normalised) return launch.template operator()<B, false, false, true>();
    if (shape.delta)
      return decay ? launch.template operator()<B, true, true, false>()
                   : launch.template operator()<B, false, true, false>();
    return decay ? launch.template operator()<B, true, false, false>()
                 : launch.template operator()<B, false, false, false>();
  };
  if (shape.key_size == 16) return of_size.template operator()<1>();
  return shape.key_size == 32 ? of_size.template operator()<2>() : of_size.template operator()<4>();
}

template <class Tiles>
unsigned head_blocks(const RecurrenceShape& shape) {
  return blocks_for(shape.sequences * shape.heads, kHeadsOf<Tiles>);
}

}  // namespace rung::kernels
