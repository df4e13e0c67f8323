#include "rung/learn/kernels/chunked_recurrence.h"

#include "rung/learn/kernels/recurrence_chunk_forward.cuh"
#include "rung/learn/kernels/recurrence_chunk_launch.cuh"

namespace rung::kernels {
namespace {

template <int B, bool Decay, bool Delta, bool Normalised, class Tiles = ForwardTiles<B, Delta>>
__global__ void __launch_bounds__(kHeadsOf<Tiles>* kWarp, warps_at_once(B) / kHeadsOf<Tiles>)
    recurrence_forward_chunks(const RecurrenceShape shape, const RecurrenceInputs in, const MutableSlice y,
                              float* error) {
  __shared__ Tiles tiles[kHeadsOf<Tiles>];
  if (const std::int64_t item = own_item(kHeadsOf<Tiles>); item < shape.sequences * shape.heads)
    forward_chunks<B, Decay, Delta, Normalised>(in, y, error, HeadPlace(shape, item),
                                                tiles[threadIdx.x / kWarp]);
}
}  // namespace

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

}  // namespace rung::kernels
