// Backward: in chunks where they fit. Elsewhere in four launches. Rows (a lane a value): G in reverse, giving du, dv, dbeta. Columns (a lane a
// key): G in reverse once more, then S forward, giving dk and dq; no product then needs a sum over lanes.
// Last, per sequence and head, the suffix sums of the decay's gradient.
#include "rung/learn/kernels/matrix_recurrence.h"

#include <algorithm>

#include "rung/learn/kernels/chunked_recurrence.h"
#include "rung/learn/kernels/recurrence_tile.cuh"

namespace rung::kernels {
namespace {

// Parts of the scratch memory. Tiles of one head write their sums side by side: [tiles][N, T, H].
struct Scratch {
  float *de = nullptr, *dk = nullptr;  // delta: [N, T, H, dv], [N, T, H, dk]
  float *rows = nullptr, *dbeta = nullptr, *columns = nullptr;
  std::int64_t scalars = 0;
  int row_tiles = 0, column_tiles = 0;
  std::int64_t size = 0;

  Scratch(const RecurrenceShape& shape, float* memory) {
    scalars = shape.sequences * shape.positions * shape.heads;
    row_tiles = static_cast<int>((shape.value_size + kWarp - 1) / kWarp);
    column_tiles = static_cast<int>((shape.key_size + kWarp - 1) / kWarp);
    const auto take = [&](std::int64_t count) {
      float* at = memory + size;
      size += count;
      return at;
    };
    de = take(shape.delta ? scalars * shape.value_size : 0);
    dk = take(shape.delta ? scalars * shape.key_size : 0);
    rows = take(scalars * row_tiles);
    dbeta = take(shape.delta ? scalars * row_tiles : 0);
    columns = take(scalars * column_tiles);
  }
};

template <class T, int K, bool Delta>
__global__ void __launch_bounds__(kTileWarps* kWarp, blocks_at_once(K))
    recurrence_reverse_rows(const RecurrenceShape shape, const RecurrenceInputs in, const float* error,
                            const Slice dy, const MutableSlice dv_out, const Scratch scratch) {
  __shared__ float4 queries[kTileWarps][kChunk * K / 4], keys[kTileWarps][kChunk * K / 4];
  __shared__ float outs[kTileWarps][kChunk * kWarp], values[kTileWarps][kChunk * kWarp];
  __shared__ float errors[Delta ? kTileWarps : 1][kChunk * kWarp];
  __shared__ float inner[kTileWarps][kChunk * kLanePitch], dbeta[Delta ? kTileWarps : 1][kChunk * kLanePitch];
  const int dk = static_cast<int>(shape.key_size), dv = static_cast<int>(shape.value_size);
  const Tile tile(shape, dv);
  if (tile.none) return;
  const int mine = tile.first + tile.lane, w = tile.warp;
  float flow[K];
#pragma unroll
  for (int c = 0; c < K; ++c) flow[c] = 0.0f;
  for (std::int64_t t0 = (shape.positions - 1) / kChunk * kChunk; t0 >= 0; t0 -= kChunk) {
    const int tokens = shape.positions - t0 < kChunk ? static_cast<int>(shape.positions - t0) : kChunk;
    __syncwarp();
    stage<T, K>(reinterpret_cast<float*>(queries[w]), in.q, tile, t0, tokens, dk);
    stage<T, K>(reinterpret_cast<float*>(keys[w]), in.k, tile, t0, tokens, dk);
    stage_own<T>(outs[w], dy, tile, t0, tokens, dv);
    stage_own<T>(values[w], in.v, tile, t0, tokens, dv);
    if (Delta) stage_own<float>(errors[w], tensor(error, shape, dv), tile, t0, tokens, dv);
    const float decays = stage_decay(in, shape, tile, t0, tokens);
    const float betas = Delta ? stage_beta(in, shape, tile, t0, tokens) : 1.0f;
    __syncwarp();
#pragma unroll 1
    for (int token = tokens - 1; token >= 0; --token) {
      const float4* k = keys[w] + token * (K / 4);
      const float4* q = queries[w] + token * (K / 4);
      const float a = __shfl_sync(kAllLanes, decays, token);
      const float out = outs[w][token * kWarp + tile.lane];
      float d0 = 0.0f, d1 = 0.0f, d2 = 0.0f, d3 = 0.0f;
#pragma unroll
      for (int c = 0; c < K / 4; ++c) {
        const float4 key = k[c], query = q[c];
        flow[4 * c] += out * query.x;
        flow[4 * c + 1] += out * query.y;
        flow[4 * c + 2] += out * query.z;
        flow[4 * c + 3] += out * query.w;
        d0 += flow[4 * c] * key.x;
        d1 += flow[4 * c + 1] * key.y;
        d2 += flow[4 * c + 2] * key.z;
        d3 += flow[4 * c + 3] * key.w;
      }
      const float du = (d0 + d1) + (d2 + d3);
      float dvalue = du;
      if (Delta) {
        const float de = __shfl_sync(kAllLanes, betas, token) * du;
#pragma unroll
        for (int c = 0; c < K / 4; ++c) {
          const float4 key = k[c];
          flow[4 * c] = a * (flow[4 * c] - de * key.x);
          flow[4 * c + 1] = a * (flow[4 * c + 1] - de * key.y);
          flow[4 * c + 2] = a * (flow[4 * c + 2] - de * key.z);
          flow[4 * c + 3] = a * (flow[4 * c + 3] - de * key.w);
        }
        dvalue = de;
        if (mine < dv) scratch.de[tile.scalar(shape, t0 + token) * dv + mine] = de;
        dbeta[w][token * kLanePitch + tile.lane] = du * errors[w][token * kWarp + tile.lane];
      } else {
#pragma unroll
        for (int c = 0; c < K; ++c) flow[c] *= a;
      }
      inner[w][token * kLanePitch + tile.lane] = dvalue * values[w][token * kWarp + tile.lane];
      if (mine < dv) store(vector_at<T>(dv_out, tile.n, t0 + token, tile.h, dv)[mine], dvalue);
    }
    __syncwarp();
    const int token = tile.lane / 4;
    const std::int64_t part =
        static_cast<std::int64_t>(tile.first / kWarp) * scratch.scalars + tile.scalar(shape, t0 + token);
    const float inner_sum = lane_sums(inner[w], tile.lane);
    if (tile.lane % 4 == 0 && token < tokens) scratch.rows[part] = inner_sum;
    if (Delta) {
      const float dbeta_sum = lane_sums(dbeta[w], tile.lane);
      if (tile.lane % 4 == 0 && token < tokens) scratch.dbeta[part] = dbeta_sum;
    }
  }
}

// What the column passes read of a chunk. u is v, or beta e: betas are multiplied in when a token is read.
template <class T, int V, bool Delta>
struct ColumnChunk {
  float4 outs[kChunk * V / 4], updates[kChunk * V / 4], errors[Delta ? kChunk * V / 4 : 1];
  float queries[kChunk * kWarp], keys[kChunk * kWarp];

  __device__ void stage_all(const RecurrenceShape& shape, const RecurrenceInputs& in, const float* error,
                            const Slice& dy, const float* de, const Tile& tile, std::int64_t t0, int tokens) {
    const int dk = static_cast<int>(shape.key_size), dv = static_cast<int>(shape.value_size);
    stage<T, V>(reinterpret_cast<float*>(outs), dy, tile, t0, tokens, dv);
    if constexpr (Delta) {
      stage<float, V>(reinterpret_cast<float*>(updates), tensor(error, shape, dv), tile, t0, tokens, dv);
      stage<float, V>(reinterpret_cast<float*>(errors), tensor(de, shape, dv), tile, t0, tokens, dv);
    } else {
      stage<T, V>(reinterpret_cast<float*>(updates), in.v, tile, t0, tokens, dv);
    }
    stage_own<T>(queries, in.q, tile, t0, tokens, dk);
    stage_own<T>(keys, in.k, tile, t0, tokens, dk);
  }
};

// G by columns.
template <class T, int V, bool Delta>
__global__ void __launch_bounds__(kTileWarps* kWarp, blocks_at_once(V))
    recurrence_reverse_columns(const RecurrenceShape shape, const RecurrenceInputs in, const float* error,
                               const Slice dy, const MutableSlice dk_out, const Scratch scratch) {
  __shared__ ColumnChunk<T, V, Delta> chunks[kTileWarps];
  const int dk = static_cast<int>(shape.key_size);
  const Tile tile(shape, dk);
  if (tile.none) return;
  const int mine = tile.first + tile.lane;
  ColumnChunk<T, V, Delta>& chunk = chunks[tile.warp];
  float matrix[V];
#pragma unroll
  for (int r = 0; r < V; ++r) matrix[r] = 0.0f;
  for (std::int64_t t0 = (shape.positions - 1) / kChunk * kChunk; t0 >= 0; t0 -= kChunk) {
    const int tokens = shape.positions - t0 < kChunk ? static_cast<int>(shape.positions - t0) : kChunk;
    __syncwarp();
    chunk.stage_all(shape, in, error, dy, scratch.de, tile, t0, tokens);
    const float decays = stage_decay(in, shape, tile, t0, tokens);
    const float betas = Delta ? stage_beta(in, shape, tile, t0, tokens) : 1.0f;
    __syncwarp();
#pragma unroll 1
    for (int token = tokens - 1; token >= 0; --token) {
      const float4* out = chunk.outs + token * (V / 4);
      const float4* update = chunk.updates + token * (V / 4);
      const float a = __shfl_sync(kAllLanes, decays, token);
      const float q = chunk.queries[token * kWarp + tile.lane], k = chunk.keys[token * kWarp + tile.lane];
      float d0 = 0.0f, d1 = 0.0f, d2 = 0.0f, d3 = 0.0f;
#pragma unroll
      for (int r = 0; r < V / 4; ++r) {
        const float4 g = out[r], u = update[r];
        const float m0 = matrix[4 * r] + g.x * q, m1 = matrix[4 * r + 1] + g.y * q;
        const float m2 = matrix[4 * r + 2] + g.z * q, m3 = matrix[4 * r + 3] + g.w * q;
        d0 += m0 * u.x;
        d1 += m1 * u.y;
        d2 += m2 * u.z;
        d3 += m3 * u.w;
        float4 e = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (Delta) e = chunk.errors[token * (V / 4) + r];
        matrix[4 * r] = a * (Delta ? m0 - e.x * k : m0);
        matrix[4 * r + 1] = a * (Delta ? m1 - e.y * k : m1);
        matrix[4 * r + 2] = a * (Delta ? m2 - e.z * k : m2);
        matrix[4 * r + 3] = a * (Delta ? m3 - e.w * k : m3);
      }
      float total = (d0 + d1) + (d2 + d3);
      if (Delta) total *= __shfl_sync(kAllLanes, betas, token);
      if (mine < dk) {
        if (Delta)
          scratch.dk[tile.scalar(shape, t0 + token) * dk + mine] = total;
        else
          store(vector_at<T>(dk_out, tile.n, t0 + token, tile.h, dk)[mine], total);
      }
    }
  }
}

// S by columns, made again from the errors kept.
template <class T, int V, bool Delta>
__global__ void __launch_bounds__(kTileWarps* kWarp, blocks_at_once(V))
    recurrence_replay_columns(const RecurrenceShape shape, const RecurrenceInputs in, const float* error,
                              const Slice dy, const MutableSlice dq_out, const MutableSlice dk_out,
                              const Scratch scratch) {
  __shared__ ColumnChunk<T, V, Delta> chunks[kTileWarps];
  __shared__ float inner[kTileWarps][kChunk * kLanePitch];
  const int dk = static_cast<int>(shape.key_size);
  const Tile tile(shape, dk);
  if (tile.none) return;
  const int mine = tile.first + tile.lane, w = tile.warp;
  ColumnChunk<T, V, Delta>& chunk = chunks[w];
  float matrix[V];
#pragma unroll
  for (int r = 0; r < V; ++r) matrix[r] = 0.0f;
  for (std::int64_t t0 = 0; t0 < shape.positions; t0 += kChunk) {
    const int tokens = shape.positions - t0 < kChunk ? static_cast<int>(shape.positions - t0) : kChunk;
    __syncwarp();
    chunk.stage_all(shape, in, error, dy, scratch.de, tile, t0, tokens);
    const float decays = stage_decay(in, shape, tile, t0, tokens);
    const float betas = Delta ? stage_beta(in, shape, tile, t0, tokens) : 1.0f;
    __syncwarp();
#pragma unroll 1
    for (int token = 0; token < tokens; ++token) {
      const float4* out = chunk.outs + token * (V / 4);
      const float4* update = chunk.updates + token * (V / 4);
      const float a = __shfl_sync(kAllLanes, decays, token);
      const float q = chunk.queries[token * kWarp + tile.lane], k = chunk.keys[token * kWarp + tile.lane];
      const float added =
          Delta ? __shfl_sync(kAllLanes, betas, token) * k : k;  // beta k: u k^T = e (beta k)^T
      float q0 = 0.0f, q1 = 0.0f, q2 = 0.0f, q3 = 0.0f, k0 = 0.0f, k1 = 0.0f, k2 = 0.0f, k3 = 0.0f;
#pragma unroll
      for (int r = 0; r < V / 4; ++r) {
        const float4 g = out[r], u = update[r];
        const float m0 = a * matrix[4 * r], m1 = a * matrix[4 * r + 1];
        const float m2 = a * matrix[4 * r + 2], m3 = a * matrix[4 * r + 3];
        if (Delta) {
          const float4 e = chunk.errors[token * (V / 4) + r];
          k0 += m0 * e.x;
          k1 += m1 * e.y;
          k2 += m2 * e.z;
          k3 += m3 * e.w;
        }
        matrix[4 * r] = m0 + u.x * added;
        matrix[4 * r + 1] = m1 + u.y * added;
        matrix[4 * r + 2] = m2 + u.z * added;
        matrix[4 * r + 3] = m3 + u.w * added;
        q0 += matrix[4 * r] * g.x;
        q1 += matrix[4 * r + 1] * g.y;
        q2 += matrix[4 * r + 2] * g.z;
        q3 += matrix[4 * r + 3] * g.w;
      }
      const float dq = (q0 + q1) + (q2 + q3);
      inner[w][token * kLanePitch + tile.lane] = q * dq;
      if (mine < dk) {
        store(vector_at<T>(dq_out, tile.n, t0 + token, tile.h, dk)[mine], dq);
        if (Delta)
          store(vector_at<T>(dk_out, tile.n, t0 + token, tile.h, dk)[mine],
                scratch.dk[tile.scalar(shape, t0 + token) * dk + mine] - ((k0 + k1) + (k2 + k3)));
      }
    }
    __syncwarp();
    const int token = tile.lane / 4;
    const float sum = lane_sums(inner[w], tile.lane);
    if (tile.lane % 4 == 0 && token < tokens)
      scratch.columns[static_cast<std::int64_t>(tile.first / kWarp) * scratch.scalars +
                      tile.scalar(shape, t0 + token)] = sum;
  }
}

// A warp a sequence and head: dbeta from its tiles, the decay's gradient as suffix sums of q . dq - v . dv.
__global__ void __launch_bounds__(kTileWarps* kWarp)
    recurrence_sum_scalars(const RecurrenceShape shape, const Scratch scratch, float* dlog_decay,
                           float* dbeta) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t item = static_cast<std::int64_t>(blockIdx.x) * kTileWarps + threadIdx.x / kWarp;
  if (item >= shape.sequences * shape.heads) return;
  const std::int64_t n = item / shape.heads, h = item % shape.heads;
  float carried = 0.0f;
  for (std::int64_t t0 = (shape.positions - 1) / kWarp * kWarp; t0 >= 0; t0 -= kWarp) {
    const std::int64_t t = t0 + lane, at = (n * shape.positions + t) * shape.heads + h;
    const bool inside = t < shape.positions;
    if (dbeta && inside) {
      float sum = 0.0f;
      for (int tile = 0; tile < scratch.row_tiles; ++tile) sum += scratch.dbeta[tile * scratch.scalars + at];
      dbeta[at] = sum;
    }
    if (!dlog_decay) continue;
    float sum = 0.0f;
    if (inside) {
      for (int tile = 0; tile < scratch.column_tiles; ++tile)
        sum += scratch.columns[tile * scratch.scalars + at];
      for (int tile = 0; tile < scratch.row_tiles; ++tile) sum -= scratch.rows[tile * scratch.scalars + at];
    }
#pragma unroll
    for (int lanes = 1; lanes < kWarp; lanes *= 2) {
      const float above = __shfl_down_sync(kAllLanes, sum, lanes);
      if (lane + lanes < kWarp) sum += above;
    }
    sum += carried;
    if (inside) dlog_decay[at] = sum;
    carried = __shfl_sync(kAllLanes, sum, 0);
  }
}

template <class T>
int backward(const RecurrenceShape& shape, const RecurrenceInputs& in, const float* error, const Slice& dy,
             const RecurrenceGradients& out, const Scratch& scratch, cudaStream_t stream) {
  const unsigned threads = kTileWarps * kWarp;
  const int rows = by_width(shape.key_size, [&]<int K>() {
    const unsigned blocks = tile_blocks(shape, shape.value_size);
    if (shape.delta)
      recurrence_reverse_rows<T, K, true>
          <<<blocks, threads, 0, stream>>>(shape, in, error, dy, out.dv, scratch);
    else
      recurrence_reverse_rows<T, K, false>
          <<<blocks, threads, 0, stream>>>(shape, in, error, dy, out.dv, scratch);
    return launched();
  });
  if (rows != cudaSuccess) return rows;
  const int columns = by_width(shape.value_size, [&]<int V>() {
    const unsigned blocks = tile_blocks(shape, shape.key_size);
    if (shape.delta) {
      recurrence_reverse_columns<T, V, true>
          <<<blocks, threads, 0, stream>>>(shape, in, error, dy, out.dk, scratch);
      RUNG_CUDA_TRY(cudaGetLastError());
      recurrence_replay_columns<T, V, true>
          <<<blocks, threads, 0, stream>>>(shape, in, error, dy, out.dq, out.dk, scratch);
    } else {
      recurrence_reverse_columns<T, V, false>
          <<<blocks, threads, 0, stream>>>(shape, in, error, dy, out.dk, scratch);
      RUNG_CUDA_TRY(cudaGetLastError());
      recurrence_replay_columns<T, V, false>
          <<<blocks, threads, 0, stream>>>(shape, in, error, dy, out.dq, out.dk, scratch);
    }
    return launched();
  });
  if (columns != cudaSuccess || (!in.log_decay && !shape.delta)) return columns;
  recurrence_sum_scalars<<<blocks_for(shape.sequences * shape.heads, kTileWarps), threads, 0, stream>>>(
      shape, scratch, in.log_decay ? out.dlog_decay : nullptr, shape.delta ? out.dbeta : nullptr);
  return launched();
}

}  // namespace

// Whether chunks do is known when the vectors' places are: there is room for either.
std::int64_t matrix_recurrence_scratch(const RecurrenceShape& shape) {
  return std::max(Scratch(shape, nullptr).size, chunked_recurrence_scratch(shape));
}

int matrix_recurrence_backward_cuda(const RecurrenceShape& shape, const RecurrenceInputs& inputs,
                                    const float* error, const Slice& dy, const RecurrenceGradients& gradients,
                                    float* scratch, void* stream) {
  if (!recurrence_fits_device(shape) || shape.delta != (inputs.beta != nullptr) ||
      (shape.normalised && (shape.delta || inputs.log_decay)) ||
      (shape.delta && (!error || !gradients.dbeta)) || (inputs.log_decay && !gradients.dlog_decay))
    return cudaErrorInvalidValue;
  if (shape.sequences == 0 || shape.positions == 0) return cudaSuccess;
  if (recurrence_fits_chunks(shape) &&
      packs_vectors(shape, {inputs.q, inputs.k, inputs.v, dy, gradients.dq, gradients.dk, gradients.dv}) &&
      packs(error, 0, 4) && packs(scratch, 0, 4))
    return chunked_recurrence_backward(shape, inputs, error, dy, gradients, scratch, stream);
  if (shape.normalised) return cudaErrorInvalidValue;
  if (tile_blocks(shape, shape.value_size) == 0 || tile_blocks(shape, shape.key_size) == 0)
    return cudaErrorInvalidConfiguration;
  const Scratch parts(shape, scratch);
  return shape.element == Element::f32
             ? backward<float>(shape, inputs, error, dy, gradients, parts, stream_of(stream))
             : backward<Bf16>(shape, inputs, error, dy, gradients, parts, stream_of(stream));
}

}  // namespace rung::kernels
