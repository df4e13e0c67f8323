// The gradient of a table of few rows is gathered: a warp owns one row and one stretch of its member's
// tokens, finds its token by ballots and adds what it finds, so that a token that half the prompt holds costs
// no contention; stretches are added in order by a second launch. A table of many rows is added to
// atomically: there the tokens spread.
#include "rung/learn/kernels/embedding_sum.h"

#include "rung/learn/kernels/packed.cuh"

namespace rung::kernels {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp;
constexpr std::int64_t kEnoughWarps = 16384;  // to fill a chip
constexpr std::int64_t kStretch = 1024;       // tokens of a stretch, at least
constexpr int kAtOnce = 4;                    // rows of dx in flight

struct Fields {
  EmbeddingField field[kMaxEmbeddingFields];
};

__device__ inline std::int64_t token_at(const void* tokens, bool wide, std::int64_t place) {
  return wide ? static_cast<const std::int64_t*>(tokens)[place]
              : static_cast<const std::int32_t*>(tokens)[place];
}

template <class T, int Count>
__global__ void __launch_bounds__(kThreads)
    sum_tables(const EmbeddingShape shape, const Fields fields, const T* position, T* x) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t packs = shape.width / Count, place = index / packs, column = index % packs * Count;
  if (place >= shape.sequences * shape.positions) return;
  const std::int64_t n = place / shape.positions, t = place % shape.positions;
  const std::int64_t member = n / (shape.sequences / shape.members);
  float sum[Count], part[Count];
#pragma unroll
  for (int j = 0; j < Count; ++j) sum[j] = 0.0f;
  for (int f = 0; f < shape.fields; ++f) {
    const EmbeddingField& field = fields.field[f];
    const std::int64_t row = member * field.size + token_at(field.tokens, shape.wide_tokens, place);
    load_packed<T, Count>(part, static_cast<const T*>(field.table) + row * shape.width + column);
#pragma unroll
    for (int j = 0; j < Count; ++j) sum[j] += part[j];
  }
  if (position) {
    load_packed<T, Count>(part, position + (member * shape.position_rows + t) * shape.width + column);
#pragma unroll
    for (int j = 0; j < Count; ++j) sum[j] += part[j];
  }
  save_packed<T, Count>(x + place * shape.width + column, sum);
}

std::int64_t stretches(const EmbeddingShape& shape, const EmbeddingField& field) {
  const std::int64_t tokens = shape.sequences / shape.members * shape.positions;
  const std::int64_t most = (tokens + kStretch - 1) / kStretch, rows = shape.members * field.size;
  const std::int64_t wanted = (kEnoughWarps + rows - 1) / rows;
  return wanted < 1 || most < 1 ? 1 : (wanted < most ? wanted : most);
}

// Block (rows / kWarps, stretch, member); Columns * 32 columns at a time. out: [members, stretches, size,
// width].
template <class T, int Columns>
__global__ void __launch_bounds__(kThreads)
    gather_rows(const EmbeddingShape shape, const EmbeddingField field, const T* dx, float* out) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  if (row >= field.size) return;
  const std::int64_t member = blockIdx.z, stretch = blockIdx.y, count = gridDim.y;
  const std::int64_t tokens = shape.sequences / shape.members * shape.positions, base = member * tokens;
  const std::int64_t from = tokens * stretch / count, to = tokens * (stretch + 1) / count,
                     width = shape.width;
  for (std::int64_t first = 0; first < width; first += Columns * kWarp) {
    float sum[Columns];
#pragma unroll
    for (int c = 0; c < Columns; ++c) sum[c] = 0.0f;
    for (std::int64_t at = from; at < to; at += kWarp) {
      const std::int64_t place = base + at + lane;
      const bool mine = at + lane < to && token_at(field.tokens, shape.wide_tokens, place) == row;
      unsigned found = __ballot_sync(kAllLanes, mine);
      while (found) {
        float part[kAtOnce][Columns];
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          const int bit = __ffs(static_cast<int>(found)) - 1;
          found &= found - 1;  // 0 stays 0
          const T* here = dx + (base + at + bit) * width + first + lane;
#pragma unroll
          for (int c = 0; c < Columns; ++c)
            part[i][c] = bit >= 0 && first + lane + c * kWarp < width ? widen(here[c * kWarp]) : 0.0f;
        }
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i)
#pragma unroll
          for (int c = 0; c < Columns; ++c) sum[c] += part[i][c];
      }
    }
    float* result = out + ((member * count + stretch) * field.size + row) * width + first + lane;
#pragma unroll
    for (int c = 0; c < Columns; ++c)
      if (first + lane + c * kWarp < width) result[c * kWarp] = sum[c];
  }
}

__global__ void __launch_bounds__(kThreads)
    sum_stretches(const float* parts, float* gradient, const std::int64_t members, const std::int64_t count,
                  const std::int64_t size) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (index >= members * size) return;
  const std::int64_t member = index / size, at = index % size;
  float sum = 0.0f;
  for (std::int64_t part = 0; part < count; ++part) sum += parts[(member * count + part) * size + at];
  gradient[index] = sum;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    scatter_rows(const EmbeddingShape shape, const EmbeddingField field, const T* dx) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t place = index / shape.width, column = index % shape.width;
  if (place >= shape.sequences * shape.positions) return;
  const std::int64_t member = place / shape.positions / (shape.sequences / shape.members);
  const std::int64_t row = member * field.size + token_at(field.tokens, shape.wide_tokens, place);
  atomicAdd(field.gradient + row * shape.width + column, widen(dx[index]));
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    sum_positions(const EmbeddingShape shape, const T* dx, float* dposition) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t column = index % shape.width, row = index / shape.width;
  const std::int64_t member = row / shape.position_rows, t = row % shape.position_rows;
  if (member >= shape.members) return;
  const std::int64_t each = shape.sequences / shape.members;
  float sum = 0.0f;
  if (t < shape.positions) {
#pragma unroll 8
    for (std::int64_t n = member * each; n < (member + 1) * each; ++n)
      sum += widen(dx[(n * shape.positions + t) * shape.width + column]);
  }
  dposition[index] = sum;
}

template <class T>
int gather(const EmbeddingShape& shape, const EmbeddingField& field, const T* dx, float* scratch,
           cudaStream_t stream) {
  const std::int64_t count = stretches(shape, field), size = field.size * shape.width;
  float* out = count == 1 ? field.gradient : scratch;
  const dim3 grid(blocks_for(field.size, kWarps), static_cast<unsigned>(count),
                  static_cast<unsigned>(shape.members));
  if (shape.width <= kWarp)
    gather_rows<T, 1><<<grid, kThreads, 0, stream>>>(shape, field, dx, out);
  else if (shape.width <= 2 * kWarp)
    gather_rows<T, 2><<<grid, kThreads, 0, stream>>>(shape, field, dx, out);
  else
    gather_rows<T, 4><<<grid, kThreads, 0, stream>>>(shape, field, dx, out);
  RUNG_CUDA_TRY(cudaGetLastError());
  if (count == 1) return cudaSuccess;
  sum_stretches<<<blocks_for(shape.members * size, kThreads), kThreads, 0, stream>>>(
      scratch, field.gradient, shape.members, count, size);
  return launched();
}

template <class T>
int backward(const EmbeddingShape& shape, const EmbeddingField* fields, const T* dx, float* dposition,
             float* scratch, cudaStream_t stream) {
  const std::int64_t elements = shape.sequences * shape.positions * shape.width;
  for (int f = 0; f < shape.fields; ++f) {
    const EmbeddingField& field = fields[f];
    if (!field.gradient) continue;
    if (field.size <= kGatheredRows) {
      if (const int status = gather(shape, field, dx, scratch, stream); status != cudaSuccess) return status;
      continue;
    }
    const auto bytes = static_cast<std::size_t>(shape.members * field.size * shape.width) * sizeof(float);
    RUNG_CUDA_TRY(cudaMemsetAsync(field.gradient, 0, bytes, stream));
    if (elements == 0) continue;
    scatter_rows<T><<<blocks_for(elements, kThreads), kThreads, 0, stream>>>(shape, field, dx);
    RUNG_CUDA_TRY(cudaGetLastError());
  }
  if (!dposition) return cudaSuccess;
  sum_positions<T>
      <<<blocks_for(shape.members * shape.position_rows * shape.width, kThreads), kThreads, 0, stream>>>(
          shape, dx, dposition);
  return launched();
}

template <class T, int Count>
int forward(const EmbeddingShape& shape, const Fields& fields, const void* position, void* x,
            cudaStream_t stream) {
  const std::int64_t items = shape.sequences * shape.positions * (shape.width / Count);
  sum_tables<T, Count><<<blocks_for(items, kThreads), kThreads, 0, stream>>>(
      shape, fields, static_cast<const T*>(position), static_cast<T*>(x));
  return launched();
}

bool valid(const EmbeddingShape& shape, const EmbeddingField* fields, bool positions) {
  if (shape.members < 1 || shape.members > 65535 || shape.sequences < 0 ||
      shape.sequences % shape.members != 0 || shape.fields < 1 || shape.fields > kMaxEmbeddingFields ||
      shape.width < 1 || shape.positions < 0 ||
      (positions && (shape.position_rows < 1 || shape.position_rows < shape.positions)))
    return false;
  for (int f = 0; f < shape.fields; ++f)
    if (fields[f].size < 1) return false;
  return blocks_for(shape.sequences * shape.positions * shape.width, kThreads) != 0 || shape.sequences == 0 ||
         shape.positions == 0;
}

}  // namespace

std::int64_t embedding_sum_scratch(const EmbeddingShape& shape, const EmbeddingField* fields) {
  std::int64_t most = 0;
  for (int f = 0; f < shape.fields; ++f) {
    if (fields[f].size > kGatheredRows) continue;
    const std::int64_t count = stretches(shape, fields[f]);
    const std::int64_t floats = count == 1 ? 0 : shape.members * count * fields[f].size * shape.width;
    most = floats > most ? floats : most;
  }
  return most;
}

int embedding_sum_forward_cuda(const EmbeddingShape& shape, const EmbeddingField* fields,
                               const void* position, void* x, void* stream) {
  if (!valid(shape, fields, position != nullptr)) return cudaErrorInvalidValue;
  if (shape.sequences == 0 || shape.positions == 0) return cudaSuccess;
  Fields list;
  const std::int64_t bytes = element_size(shape.element);
  bool packed = packs(x, shape.width, bytes) && packs(position, shape.width, bytes);
  for (int f = 0; f < shape.fields; ++f) {
    list.field[f] = fields[f];
    packed = packed && packs(fields[f].table, shape.width, bytes);
  }
  const cudaStream_t queue = stream_of(stream);
  if (shape.element == Element::f32)
    return packed ? forward<float, kPackedCount<float>>(shape, list, position, x, queue)
                  : forward<float, 1>(shape, list, position, x, queue);
  return packed ? forward<Bf16, kPackedCount<Bf16>>(shape, list, position, x, queue)
                : forward<Bf16, 1>(shape, list, position, x, queue);
}

int embedding_sum_backward_cuda(const EmbeddingShape& shape, const EmbeddingField* fields, const void* dx,
                                float* dposition, float* scratch, void* stream) {
  if (!valid(shape, fields, dposition != nullptr)) return cudaErrorInvalidValue;
  return shape.element == Element::f32
             ? backward(shape, fields, static_cast<const float*>(dx), dposition, scratch, stream_of(stream))
             : backward(shape, fields, static_cast<const Bf16*>(dx), dposition, scratch, stream_of(stream));
}

}  // namespace rung::kernels
