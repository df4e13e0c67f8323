// Forward: in chunks where they fit. Elsewhere a lane is a row of the state (a value), its dk numbers in
// registers; rows do not speak to each other.
#include "rung/learn/kernels/matrix_recurrence.h"

#include "rung/learn/kernels/chunked_recurrence.h"
#include "rung/learn/kernels/recurrence_tile.cuh"

namespace rung::kernels {
namespace {

template <class T, int K, bool Delta>
__global__ void __launch_bounds__(kTileWarps* kWarp, blocks_at_once(K))
    recurrence_forward_rows(const RecurrenceShape shape, const RecurrenceInputs in, const MutableSlice y,
                            float* error) {
  __shared__ float4 queries[kTileWarps][kChunk * K / 4], keys[kTileWarps][kChunk * K / 4];
  __shared__ float values[kTileWarps][kChunk * kWarp];
  const int dk = static_cast<int>(shape.key_size), dv = static_cast<int>(shape.value_size);
  const Tile tile(shape, dv);
  if (tile.none) return;
  const int mine = tile.first + tile.lane;
  float state[K];
#pragma unroll
  for (int c = 0; c < K; ++c) state[c] = 0.0f;
  for (std::int64_t t0 = 0; t0 < shape.positions; t0 += kChunk) {
    const int tokens = shape.positions - t0 < kChunk ? static_cast<int>(shape.positions - t0) : kChunk;
    __syncwarp();  // the chunk before has been read
    stage<T, K>(reinterpret_cast<float*>(queries[tile.warp]), in.q, tile, t0, tokens, dk);
    stage<T, K>(reinterpret_cast<float*>(keys[tile.warp]), in.k, tile, t0, tokens, dk);
    stage_own<T>(values[tile.warp], in.v, tile, t0, tokens, dv);
    const float decays = stage_decay(in, shape, tile, t0, tokens);
    const float betas = Delta ? stage_beta(in, shape, tile, t0, tokens) : 1.0f;
    __syncwarp();
#pragma unroll 1
    for (int token = 0; token < tokens; ++token) {
      const float4* k = keys[tile.warp] + token * (K / 4);
      const float4* q = queries[tile.warp] + token * (K / 4);
      const float a = __shfl_sync(kAllLanes, decays, token);
      const float value = values[tile.warp][token * kWarp + tile.lane];
      float u = value;
      if (Delta) {
        float p0 = 0.0f, p1 = 0.0f, p2 = 0.0f, p3 = 0.0f;
#pragma unroll
        for (int c = 0; c < K / 4; ++c) {
          const float4 key = k[c];
          p0 += state[4 * c] * key.x;
          p1 += state[4 * c + 1] * key.y;
          p2 += state[4 * c + 2] * key.z;
          p3 += state[4 * c + 3] * key.w;
        }
        const float e = value - a * ((p0 + p1) + (p2 + p3));
        if (error && mine < dv) error[tile.scalar(shape, t0 + token) * dv + mine] = e;
        u = __shfl_sync(kAllLanes, betas, token) * e;
      }
      float y0 = 0.0f, y1 = 0.0f, y2 = 0.0f, y3 = 0.0f;
#pragma unroll
      for (int c = 0; c < K / 4; ++c) {
        const float4 key = k[c], query = q[c];
        state[4 * c] = a * state[4 * c] + u * key.x;
        state[4 * c + 1] = a * state[4 * c + 1] + u * key.y;
        state[4 * c + 2] = a * state[4 * c + 2] + u * key.z;
        state[4 * c + 3] = a * state[4 * c + 3] + u * key.w;
        y0 += state[4 * c] * query.x;
        y1 += state[4 * c + 1] * query.y;
        y2 += state[4 * c + 2] * query.z;
        y3 += state[4 * c + 3] * query.w;
      }
      if (mine < dv) store(vector_at<T>(y, tile.n, t0 + token, tile.h, dv)[mine], (y0 + y1) + (y2 + y3));
    }
  }
}

template <class T>
int forward(const RecurrenceShape& shape, const RecurrenceInputs& in, const MutableSlice& y, float* error,
            cudaStream_t stream) {
  const unsigned blocks = tile_blocks(shape, shape.value_size);
  return by_width(shape.key_size, [&]<int K>() {
    if (shape.delta)
      recurrence_forward_rows<T, K, true><<<blocks, kTileWarps * kWarp, 0, stream>>>(shape, in, y, error);
    else
      recurrence_forward_rows<T, K, false><<<blocks, kTileWarps * kWarp, 0, stream>>>(shape, in, y, error);
    return launched();
  });
}

}  // namespace

int matrix_recurrence_forward_cuda(const RecurrenceShape& shape, const RecurrenceInputs& inputs,
                                   const MutableSlice& y, float* error, void* stream) {
  if (!recurrence_fits_device(shape) || shape.delta != (inputs.beta != nullptr) ||
      (shape.normalised && (shape.delta || inputs.log_decay)))
    return cudaErrorInvalidValue;
  if (shape.sequences == 0 || shape.positions == 0) return cudaSuccess;
  if (recurrence_fits_chunks(shape) && packs_vectors(shape, {inputs.q, inputs.k, inputs.v, y}) &&
      packs(error, 0, 4))
    return chunked_recurrence_forward(shape, inputs, y, error, stream);
  if (shape.normalised) return cudaErrorInvalidValue;
  if (tile_blocks(shape, shape.value_size) == 0) return cudaErrorInvalidConfiguration;
  return shape.element == Element::f32 ? forward<float>(shape, inputs, y, error, stream_of(stream))
                                       : forward<Bf16>(shape, inputs, y, error, stream_of(stream));
}

}  // namespace rung::kernels
