#include "rung/learn/kernels/chunked_recurrence.h"

#include "rung/learn/kernels/recurrence_chunk_backward.cuh"
#include "rung/learn/kernels/recurrence_chunk_forward.cuh"

namespace rung::kernels {
namespace {

// Heads a block: as many as the tiles leave room for in the shared memory that needs no asking, at most four.
template <class Tiles>
constexpr int kHeadsOf = 4 * sizeof(Tiles) <= 48 * 1024   ? 4
                         : 2 * sizeof(Tiles) <= 48 * 1024 ? 2
                                                          : 1;
// Warps a multiprocessor is to hold at once: what bounds the registers of a kernel.
constexpr int warps_at_once(int blocks) { return blocks == 1 ? 16 : blocks == 2 ? 12 : 8; }

// The warp's number among the heads of all sequences.
__device__ inline std::int64_t own_item(int heads) {
  return static_cast<std::int64_t>(blockIdx.x) * heads + threadIdx.x / kWarp;
}

template <int B, bool Decay, bool Delta, bool Normalised, class Tiles = ForwardTiles<B, Delta>>
__global__ void __launch_bounds__(kHeadsOf<Tiles>* kWarp, warps_at_once(B) / kHeadsOf<Tiles>)
    recurrence_forward_chunks(const RecurrenceShape shape, const RecurrenceInputs in, const MutableSlice y,
                              float* error) {
  __shared__ Tiles tiles[kHeadsOf<Tiles>];
  if (const std::int64_t item = own_item(kHeadsOf<Tiles>); item < shape.sequences * shape.heads)
    forward_chunks<B, Decay, Delta, Normalised>(in, y, error, HeadPlace(shape, item),
                                                tiles[threadIdx.x / kWarp]);
}
template <int B, bool Decay, bool Delta, bool Normalised, class Tiles = ReverseTiles<B, Delta>>
__global__ void __launch_bounds__(kHeadsOf<Tiles>* kWarp, warps_at_once(B) / kHeadsOf<Tiles>)
    recurrence_reverse_chunks(const RecurrenceShape shape, const RecurrenceInputs in, const float* error,
                              const Slice dy, const RecurrenceGradients out, const ChunkScratch scratch) {
  __shared__ Tiles tiles[kHeadsOf<Tiles>];
  if (const std::int64_t item = own_item(kHeadsOf<Tiles>); item < shape.sequences * shape.heads)
    reverse_chunks<B, Decay, Delta, Normalised>(in, error, dy, out, scratch, HeadPlace(shape, item),
                                                tiles[threadIdx.x / kWarp]);
}
template <int B, bool Decay, bool Delta, bool Normalised, class Tiles = ReplayTiles<B, Delta>>
__global__ void __launch_bounds__(kHeadsOf<Tiles>* kWarp, warps_at_once(B) / kHeadsOf<Tiles>)
    recurrence_replay_chunks(const RecurrenceShape shape, const RecurrenceInputs in, const float* error,
                             const Slice dy, const RecurrenceGradients out, const ChunkScratch scratch) {
  __shared__ Tiles tiles[kHeadsOf<Tiles>];
  if (const std::int64_t item = own_item(kHeadsOf<Tiles>); item < shape.sequences * shape.heads)
    replay_chunks<B, Decay, Delta, Normalised>(in, error, dy, out, scratch, HeadPlace(shape, item),
                                               tiles[threadIdx.x / kWarp]);
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

}  // namespace

std::int64_t chunked_recurrence_scratch(const RecurrenceShape& shape) {
  return shape.sequences * shape.positions * shape.heads *
         (shape.delta ? 1 + shape.value_size + shape.key_size : 2);
}

int chunked_recurrence_forward(const RecurrenceShape& shape, const RecurrenceInputs& inputs,
                               const MutableSlice& y, float* error, void* stream) {
  return by_kind(shape, inputs.log_decay, [&]<int B, bool Decay, bool Delta, bool Normalised>() {
    using Tiles = ForwardTiles<B, Delta>;
    const unsigned blocks = head_blocks<Tiles>(shape);
    if (blocks == 0) return static_cast<int>(cudaErrorInvalidConfiguration);
    recurrence_forward_chunks<B, Decay, Delta, Normalised>
        <<<blocks, kHeadsOf<Tiles> * kWarp, 0, stream_of(stream)>>>(shape, inputs, y, error);
    return launched();
  });
}

int chunked_recurrence_backward(const RecurrenceShape& shape, const RecurrenceInputs& inputs,
                                const float* error, const Slice& dy, const RecurrenceGradients& gradients,
                                float* scratch, void* stream) {
  const std::int64_t scalars = shape.sequences * shape.positions * shape.heads;
  ChunkScratch parts;
  // The vectors first: they are read sixteen bytes at a time.
  parts.de = scratch;
  parts.dk = scratch + scalars * shape.value_size;
  parts.writes = shape.delta ? parts.dk + scalars * shape.key_size : scratch;
  parts.divisors = scratch;
  parts.ddivisors = scratch + scalars;
  return by_kind(shape, inputs.log_decay, [&]<int B, bool Decay, bool Delta, bool Normalised>() {
    using Reverse = ReverseTiles<B, Delta>;
    using Replay = ReplayTiles<B, Delta>;
    if (head_blocks<Reverse>(shape) == 0 || head_blocks<Replay>(shape) == 0)
      return static_cast<int>(cudaErrorInvalidConfiguration);
    const auto reverse = [&] {
      recurrence_reverse_chunks<B, Decay, Delta, Normalised>
          <<<head_blocks<Reverse>(shape), kHeadsOf<Reverse> * kWarp, 0, stream_of(stream)>>>(
              shape, inputs, error, dy, gradients, parts);
    };
    const auto replay = [&] {
      recurrence_replay_chunks<B, Decay, Delta, Normalised>
          <<<head_blocks<Replay>(shape), kHeadsOf<Replay> * kWarp, 0, stream_of(stream)>>>(
              shape, inputs, error, dy, gradients, parts);
    };
    Normalised ? replay() : reverse();
    RUNG_CUDA_TRY(cudaGetLastError());
    Normalised ? reverse() : replay();
    return launched();
  });
}

}  // namespace rung::kernels
