#include "rung/learn/kernels/chunked_recurrence.h"
#include "rung/learn/kernels/recurrence_chunk_backward.cuh"
#include "rung/learn/kernels/recurrence_chunk_launch.cuh"

namespace rung::kernels {
namespace {

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

}  // namespace

std::int64_t chunked_recurrence_scratch(const RecurrenceShape& shape) {
  return shape.sequences * shape.positions * shape.heads *
         (shape.delta ? 1 + shape.value_size + shape.key_size : 2);
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
