// The plain form, float32 (bfloat16 has tiled_log_linear.h), and the sums of decays that both need.
//
// A thread is a row i (or a column j), its vectors in registers; the other side passes by in tiles of 32
// positions in shared memory. Rows of a warp are 32 neighbours that begin at a multiple of 32, and so are
// tiles: outside the tile on the diagonal the level is one number for a warp and a tile, and levels come in
// falling (columns: rising) order.
#include "rung/learn/kernels/log_linear_attention.h"

#include "rung/learn/kernels/tiled_log_linear.h"
#include "rung/learn/kernels/warp.cuh"

namespace rung::kernels {
namespace {

constexpr int kRowThreads = 128;
constexpr int kTilePositions = 32;
constexpr int kNearLevels = 6;  // levels inside a tile: 0 … 5

__device__ inline int digits(std::int64_t x) { return 64 - __clzll(static_cast<long long>(x)); }

// Where a block and a thread stand; `decay` is the prefix sum [N, H, T], or null.
struct Place {
  std::int64_t n, h, own, tile;  // own: the row or column; tile = own / 32, one number a warp
  __device__ explicit Place(const LogLinearShape& shape) {
    const std::int64_t parts = (shape.positions + kRowThreads - 1) / kRowThreads, block = blockIdx.x;
    own = block % parts * kRowThreads + threadIdx.x;
    tile = own / kTilePositions;
    h = block / parts % shape.heads;
    n = block / parts / shape.heads;
  }
  __device__ std::int64_t scalar(const LogLinearShape& shape, std::int64_t t) const {
    return (n * shape.positions + t) * shape.heads + h;
  }
  __device__ const float* decays(const LogLinearShape& shape, const float* prefix) const {
    return prefix ? prefix + (n * shape.heads + h) * shape.positions : nullptr;
  }
};

// One tile's vectors, padded with zeros; all threads of the block take part.
template <int W>
__device__ inline void stage_tile(float4 (&to)[kTilePositions][W / 4], const Slice& from,
                                  const LogLinearShape& shape, const Place& place, std::int64_t tile,
                                  int size) {
  for (int i = static_cast<int>(threadIdx.x); i < kTilePositions * W; i += kRowThreads) {
    const std::int64_t t = tile * kTilePositions + i / W;
    const int column = i % W;
    reinterpret_cast<float*>(to)[i] = t < shape.positions && column < size
                                          ? vector_at<float>(from, place.n, t, place.h, size)[column]
                                          : 0.0f;
  }
}

template <int W>
__device__ inline void load_own(float (&to)[W], const Slice& from, const LogLinearShape& shape,
                                const Place& place, int size) {
  const bool inside = place.own < shape.positions;
  const float* base = vector_at<float>(from, place.n, inside ? place.own : 0, place.h, size);
#pragma unroll
  for (int c = 0; c < W; ++c) to[c] = inside && c < size ? base[c] : 0.0f;
}
template <int W>
__device__ inline void save_own(const MutableSlice& to, const float (&from)[W], const Place& place,
                                int size) {
  float* base = vector_at<float>(to, place.n, place.own, place.h, size);
#pragma unroll
  for (int c = 0; c < W; ++c)
    if (c < size) base[c] = from[c];
}

template <int W>
__device__ inline float dot(const float (&own)[W], const float4 (&other)[W / 4]) {
  float d0 = 0.0f, d1 = 0.0f, d2 = 0.0f, d3 = 0.0f;
#pragma unroll
  for (int c = 0; c < W / 4; ++c) {
    const float4 x = other[c];
    d0 += own[4 * c] * x.x;
    d1 += own[4 * c + 1] * x.y;
    d2 += own[4 * c + 2] * x.z;
    d3 += own[4 * c + 3] * x.w;
  }
  return (d0 + d1) + (d2 + d3);
}
template <int W>
__device__ inline void add(float (&sum)[W], const float4 (&other)[W / 4], float factor) {
#pragma unroll
  for (int c = 0; c < W / 4; ++c) {
    const float4 x = other[c];
    sum[4 * c] += factor * x.x;
    sum[4 * c + 1] += factor * x.y;
    sum[4 * c + 2] += factor * x.z;
    sum[4 * c + 3] += factor * x.w;
  }
}

// Rows. out_i = sum_j w_ij (own_i . dotted_j) added_j. Forward: own q, dotted k, added v. Gradient of q: own
// dy, dotted v, added k; then also dshare, with the scores q . k, and inner [N, T, H] = q . dq.
template <int W, bool Shares>
__global__ void __launch_bounds__(kRowThreads)
    attend_rows(const LogLinearShape shape, const Slice own_rows, const int own_size, const Slice dotted_rows,
                const Slice added_rows, const int added_size, const MutableSlice out, const float* share,
                const float* prefix, const Slice query_rows, float* dshare, float* inner) {
  __shared__ float4 dotted[kTilePositions][W / 4], added[kTilePositions][W / 4];
  __shared__ float decays[kTilePositions];
  __shared__ float near[kNearLevels][kRowThreads], near_gradient[Shares ? kNearLevels : 1][kRowThreads];
  const Place place(shape);
  const std::int64_t i = place.own;
  const bool inside = i < shape.positions;
  const float* levels = share + place.scalar(shape, inside ? i : 0) * shape.levels;
  float* level_gradients = Shares ? dshare + place.scalar(shape, inside ? i : 0) * shape.levels : nullptr;
  const float* prefixes = place.decays(shape, prefix);
  const float own_decay = prefixes && inside ? prefixes[i] : 0.0f;
  float own[W], sum[W], query[Shares ? W : 4];
  load_own<W>(own, own_rows, shape, place, own_size);
  if constexpr (Shares) load_own<W>(query, query_rows, shape, place, added_size);
#pragma unroll
  for (int c = 0; c < W; ++c) sum[c] = 0.0f;
#pragma unroll
  for (int level = 0; level < kNearLevels; ++level) {
    near[level][threadIdx.x] = inside && level < shape.levels ? levels[level] : 0.0f;
    if (Shares) near_gradient[level][threadIdx.x] = 0.0f;
  }
  if (Shares && inside)
    for (std::int64_t level = 0; level < shape.levels; ++level) level_gradients[level] = 0.0f;
  const std::int64_t block_last = (place.own - threadIdx.x + kRowThreads - 1) / kTilePositions;
  const std::int64_t tiles = (shape.positions + kTilePositions - 1) / kTilePositions;
  float far_gradient = 0.0f;
  int far_level = -1;
  for (std::int64_t tile = 0; tile <= block_last && tile < tiles; ++tile) {
    __syncthreads();
    stage_tile<W>(dotted, dotted_rows, shape, place, tile, own_size);
    stage_tile<W>(added, added_rows, shape, place, tile, added_size);
    if (prefixes && threadIdx.x < kTilePositions && tile * kTilePositions + threadIdx.x < shape.positions)
      decays[threadIdx.x] = prefixes[tile * kTilePositions + threadIdx.x];
    __syncthreads();
    if (tile > place.tile || !inside) continue;
    if (tile < place.tile) {
      const int level = digits(place.tile ^ tile) + kNearLevels - 1;
      const float weight = levels[level];
      if (Shares && level != far_level) {
        if (far_level >= 0) level_gradients[far_level] = far_gradient;
        far_level = level;
        far_gradient = 0.0f;
      }
#pragma unroll 1
      for (int j = 0; j < kTilePositions; ++j) {
        const float decay = prefixes ? __expf(own_decay - decays[j]) : 1.0f;
        const float score = dot<W>(own, dotted[j]);
        if constexpr (Shares) far_gradient += decay * score * dot<W>(query, added[j]);
        add<W>(sum, added[j], weight * decay * score);
      }
    } else {
      const int last = static_cast<int>(i % kTilePositions);
#pragma unroll 1
      for (int j = 0; j <= last; ++j) {
        const int level = 32 - __clz(last ^ j);
        const float decay = prefixes ? __expf(own_decay - decays[j]) : 1.0f;
        const float score = dot<W>(own, dotted[j]);
        if constexpr (Shares) near_gradient[level][threadIdx.x] += decay * score * dot<W>(query, added[j]);
        add<W>(sum, added[j], near[level][threadIdx.x] * decay * score);
      }
    }
  }
  if (!inside) return;
  save_own<W>(out, sum, place, added_size);
  if constexpr (Shares) {
    if (far_level >= 0) level_gradients[far_level] = far_gradient;
    for (int level = 0; level < kNearLevels && level < shape.levels; ++level)
      level_gradients[level] = near_gradient[level][threadIdx.x];
    float product = 0.0f;
#pragma unroll
    for (int c = 0; c < W; ++c) product += query[c] * sum[c];
    if (inner) inner[place.scalar(shape, i)] = product;
  }
}

// Columns. out_j = sum_{i >= j} w_ij (own_j . dotted_i) added_i. Gradient of k: own v, dotted dy, added q,
// and inner [N, T, H] -= k . dk; gradient of v: own k, dotted q, added dy.
template <int W>
__global__ void __launch_bounds__(kRowThreads)
    attend_columns(const LogLinearShape shape, const Slice own_rows, const int own_size,
                   const Slice dotted_rows, const Slice added_rows, const int added_size,
                   const MutableSlice out, const float* share, const float* prefix, const Slice key_rows,
                   float* inner) {
  __shared__ float4 dotted[kTilePositions][W / 4], added[kTilePositions][W / 4];
  __shared__ float decays[kTilePositions];
  const Place place(shape);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t j = place.own;
  const bool inside = j < shape.positions;
  const float* prefixes = place.decays(shape, prefix);
  const float own_decay = prefixes && inside ? prefixes[j] : 0.0f;
  float own[W], sum[W];
  load_own<W>(own, own_rows, shape, place, own_size);
#pragma unroll
  for (int c = 0; c < W; ++c) sum[c] = 0.0f;
  const std::int64_t block_first = (place.own - threadIdx.x) / kTilePositions;
  const std::int64_t tiles = (shape.positions + kTilePositions - 1) / kTilePositions;
  for (std::int64_t tile = block_first; tile < tiles; ++tile) {
    __syncthreads();
    stage_tile<W>(dotted, dotted_rows, shape, place, tile, own_size);
    stage_tile<W>(added, added_rows, shape, place, tile, added_size);
    if (prefixes && threadIdx.x < kTilePositions && tile * kTilePositions + threadIdx.x < shape.positions)
      decays[threadIdx.x] = prefixes[tile * kTilePositions + threadIdx.x];
    __syncthreads();
    if (tile < place.tile) continue;  // the whole warp
    const std::int64_t first = tile * kTilePositions;
    const int count =
        shape.positions - first < kTilePositions ? static_cast<int>(shape.positions - first) : kTilePositions;
    if (tile > place.tile) {
      // Every column of the warp has the same level with row `first + lane`.
      const int level = digits(place.tile ^ tile) + kNearLevels - 1;
      const float weights =
          lane < count ? share[place.scalar(shape, first + lane) * shape.levels + level] : 0.0f;
#pragma unroll 1
      for (int i = 0; i < count; ++i) {
        const float weight = __shfl_sync(kAllLanes, weights, i);
        const float decay = prefixes ? __expf(decays[i] - own_decay) : 1.0f;
        add<W>(sum, added[i], weight * decay * dot<W>(own, dotted[i]));
      }
    } else if (inside) {
#pragma unroll 1
      for (int i = lane; i < count; ++i) {
        const float weight = share[place.scalar(shape, first + i) * shape.levels + (32 - __clz(lane ^ i))];
        const float decay = prefixes ? __expf(decays[i] - own_decay) : 1.0f;
        add<W>(sum, added[i], weight * decay * dot<W>(own, dotted[i]));
      }
    }
  }
  if (!inside) return;
  save_own<W>(out, sum, place, added_size);
  if (!inner) return;
  const float* key = vector_at<float>(key_rows, place.n, j, place.h, added_size);
  float product = 0.0f;
#pragma unroll
  for (int c = 0; c < W; ++c)
    if (c < added_size) product += key[c] * sum[c];
  inner[place.scalar(shape, j)] -= product;
}

// A warp a sequence and head. Forward: prefix [N, H, T] of log_decay; else the suffix sums of inner.
__global__ void __launch_bounds__(kRowThreads)
    sum_decays(const LogLinearShape shape, const float* from, float* to, const bool suffix) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t item =
      static_cast<std::int64_t>(blockIdx.x) * (kRowThreads / kWarp) + threadIdx.x / kWarp;
  if (item >= shape.sequences * shape.heads) return;
  const std::int64_t n = item / shape.heads, h = item % shape.heads, length = shape.positions;
  float carried = 0.0f;
  for (std::int64_t done = 0; done < length; done += kWarp) {
    const std::int64_t step = done + lane, t = suffix ? length - 1 - step : step;
    const bool inside = step < length;
    float sum = inside ? from[(n * length + t) * shape.heads + h] : 0.0f;
#pragma unroll
    for (int lanes = 1; lanes < kWarp; lanes *= 2) {
      const float below = __shfl_up_sync(kAllLanes, sum, lanes);
      if (lane >= lanes) sum += below;
    }
    sum += carried;
    if (inside) to[suffix ? (n * length + t) * shape.heads + h : item * length + t] = sum;
    carried = __shfl_sync(kAllLanes, sum, kWarp - 1);
  }
}

std::int64_t scalars(const LogLinearShape& shape) { return shape.sequences * shape.positions * shape.heads; }
unsigned place_blocks(const LogLinearShape& shape) {
  return blocks_for(shape.sequences * shape.heads * ((shape.positions + kRowThreads - 1) / kRowThreads), 1);
}

int prefix_sums(const LogLinearShape& shape, const float* log_decay, float* prefix, cudaStream_t stream) {
  sum_decays<<<blocks_for(shape.sequences * shape.heads, kRowThreads / kWarp), kRowThreads, 0, stream>>>(
      shape, log_decay, prefix, false);
  return launched();
}

template <int W>
int forward(const LogLinearShape& shape, const LogLinearInputs& in, const MutableSlice& y,
            const float* prefix, cudaStream_t stream) {
  attend_rows<W, false><<<place_blocks(shape), kRowThreads, 0, stream>>>(
      shape, in.q, static_cast<int>(shape.key_size), in.k, in.v, static_cast<int>(shape.value_size), y,
      in.share, prefix, in.q, nullptr, nullptr);
  return launched();
}

template <int W>
int backward(const LogLinearShape& shape, const LogLinearInputs& in, const Slice& dy,
             const LogLinearGradients& out, const float* prefix, float* inner, cudaStream_t stream) {
  const int dk = static_cast<int>(shape.key_size), dv = static_cast<int>(shape.value_size);
  const unsigned blocks = place_blocks(shape);
  attend_rows<W, true><<<blocks, kRowThreads, 0, stream>>>(shape, dy, dv, in.v, in.k, dk, out.dq, in.share,
                                                           prefix, in.q, out.dshare, inner);
  RUNG_CUDA_TRY(cudaGetLastError());
  attend_columns<W><<<blocks, kRowThreads, 0, stream>>>(shape, in.v, dv, dy, in.q, dk, out.dk, in.share,
                                                        prefix, in.k, inner);
  RUNG_CUDA_TRY(cudaGetLastError());
  attend_columns<W><<<blocks, kRowThreads, 0, stream>>>(shape, in.k, dk, in.q, dy, dv, out.dv, in.share,
                                                        prefix, in.k, nullptr);
  return launched();
}

// What fits an int, squares and levels included.
constexpr std::int64_t kMostPositions = std::int64_t{1} << 30, kMostLevels = std::int64_t{1} << 16;
bool valid(const LogLinearShape& shape) {
  return shape.sequences >= 0 && shape.positions >= 0 && shape.heads >= 1 && shape.key_size >= 1 &&
         shape.key_size <= 64 && shape.value_size >= 1 && shape.value_size <= 64 &&
         shape.levels >= log_linear_levels(shape.positions) && shape.positions <= kMostPositions &&
         shape.levels <= kMostLevels && shape.heads <= kMostPositions;
}
bool empty(const LogLinearShape& shape) { return shape.sequences == 0 || shape.positions == 0; }
std::int64_t wider(const LogLinearShape& shape) {
  return shape.key_size > shape.value_size ? shape.key_size : shape.value_size;
}

// Calls launch with the smallest register width that holds both sizes.
template <class Launch>
int by_width(const LogLinearShape& shape, Launch launch) {
  const std::int64_t size = wider(shape);
  if (size <= 8) return launch.template operator()<8>();
  if (size <= 16) return launch.template operator()<16>();
  if (size <= 32) return launch.template operator()<32>();
  return launch.template operator()<64>();
}

}  // namespace

std::int64_t log_linear_scratch(const LogLinearShape& shape) { return 2 * scalars(shape); }

int log_linear_forward_cuda(const LogLinearShape& shape, const LogLinearInputs& inputs, const MutableSlice& y,
                            float* scratch, void* stream) {
  if (!valid(shape) || !inputs.share || (inputs.log_decay && !scratch)) return cudaErrorInvalidValue;
  if (empty(shape)) return cudaSuccess;
  if (place_blocks(shape) == 0) return cudaErrorInvalidConfiguration;
  const cudaStream_t queue = stream_of(stream);
  const float* prefix = inputs.log_decay ? scratch : nullptr;
  if (inputs.log_decay)
    if (const int status = prefix_sums(shape, inputs.log_decay, scratch, queue); status != cudaSuccess)
      return status;
  if (shape.element == Element::bf16) return tiled_log_linear_forward(shape, inputs, y, prefix, stream);
  return by_width(shape, [&]<int W>() { return forward<W>(shape, inputs, y, prefix, queue); });
}

int log_linear_backward_cuda(const LogLinearShape& shape, const LogLinearInputs& inputs, const Slice& dy,
                             const LogLinearGradients& gradients, float* scratch, void* stream) {
  if (!valid(shape) || !inputs.share || !gradients.dshare ||
      (inputs.log_decay && (!scratch || !gradients.dlog_decay)))
    return cudaErrorInvalidValue;
  if (empty(shape)) return cudaSuccess;
  if (place_blocks(shape) == 0) return cudaErrorInvalidConfiguration;
  const cudaStream_t queue = stream_of(stream);
  const float* prefix = inputs.log_decay ? scratch : nullptr;
  float* inner = inputs.log_decay ? scratch + scalars(shape) : nullptr;
  if (inputs.log_decay)
    if (const int status = prefix_sums(shape, inputs.log_decay, scratch, queue); status != cudaSuccess)
      return status;
  const int status = shape.element == Element::bf16
                         ? tiled_log_linear_backward(shape, inputs, dy, gradients, prefix, inner, stream)
                         : by_width(shape, [&]<int W>() {
                             return backward<W>(shape, inputs, dy, gradients, prefix, inner, queue);
                           });
  if (status != cudaSuccess || !inputs.log_decay) return status;
  sum_decays<<<blocks_for(shape.sequences * shape.heads, kRowThreads / kWarp), kRowThreads, 0, queue>>>(
      shape, inner, gradients.dlog_decay, true);
  return launched();
}

}  // namespace rung::kernels
