// A group of `lanes` neighbouring lanes is a row; each lane takes Count neighbouring elements, and more when
// the row is longer. In backward a block goes through kDeviceRows rows of one member; a lane then has the
// same columns in every row, and sums their gain's gradient in registers. Sums of blocks are added in order
// by a second launch.
#include "rung/learn/kernels/row_norm.h"

#include "rung/learn/kernels/packed.cuh"

namespace rung::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kDeviceRows = 512;

std::int64_t rows_of_member(const NormShape& shape) { return shape.outer / shape.members * shape.inner; }
std::int64_t blocks_of_member(const NormShape& shape) {
  return (rows_of_member(shape) + kDeviceRows - 1) / kDeviceRows;
}

__device__ inline float group_sum(float x, int lanes) {
  for (int step = lanes / 2; step > 0; step /= 2) x += __shfl_xor_sync(kAllLanes, x, step);
  return x;
}

template <class T, int Count>
__global__ void __launch_bounds__(kThreads)
    forward_rows(const NormShape shape, const NormRows x, const float* gain, const MutableNormRows y,
                 float* inverse, const int lanes) {
  const int lane = static_cast<int>(threadIdx.x) % lanes, width = static_cast<int>(shape.width);
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * (kThreads / lanes) + threadIdx.x / lanes;
  const bool inside = row < shape.outer * shape.inner;
  const std::int64_t o = inside ? row / shape.inner : 0, i = inside ? row % shape.inner : 0;
  const T* in = static_cast<const T*>(x.data) + o * x.stride + i * width;
  float squares = 0.0f;
  if (inside)
    for (int c = lane * Count; c < width; c += lanes * Count) {
      float part[Count];
      load_packed<T, Count>(part, in + c);
#pragma unroll
      for (int j = 0; j < Count; ++j) squares += part[j] * part[j];
    }
  squares = group_sum(squares, lanes);
  if (!inside) return;
  const float root = shape.unit ? (squares == 0.0f ? 0.0f : 1.0f / sqrtf(squares))
                                : 1.0f / sqrtf(squares / static_cast<float>(width) + shape.epsilon);
  if (lane == 0) inverse[row] = root;
  const float scale = shape.unit ? root * shape.scale : root;
  const float* factor = gain ? gain + o / (shape.outer / shape.members) * width : nullptr;
  T* out = static_cast<T*>(y.data) + o * y.stride + i * width;
  for (int c = lane * Count; c < width; c += lanes * Count) {
    float part[Count];
    load_packed<T, Count>(part, in + c);
#pragma unroll
    for (int j = 0; j < Count; ++j) part[j] *= factor ? scale * factor[c + j] : scale;
    save_packed<T, Count>(out + c, part);
  }
}

// Summed: lanes * Count >= width, and the block writes its sum of the gain's gradient to partial [members,
// blocks, width].
template <class T, int Count, bool Summed>
__global__ void __launch_bounds__(kThreads)
    backward_rows(const NormShape shape, const NormRows x, const float* gain, const float* inverse,
                  const NormRows dy, const MutableNormRows dx, float* partial, const int lanes,
                  const unsigned blocks) {
  __shared__ float sums[Summed ? kThreads : 1][Count + 1];
  const int lane = static_cast<int>(threadIdx.x) % lanes, width = static_cast<int>(shape.width);
  const std::int64_t member = blockIdx.x / blocks, block = blockIdx.x % blocks;
  const std::int64_t each = shape.outer / shape.members, rows = each * shape.inner;
  const float* factor = gain ? gain + member * width : nullptr;
  float total[Count];
#pragma unroll
  for (int j = 0; j < Count; ++j) total[j] = 0.0f;
  // Every lane of a warp makes the same number of turns: the sums need all of them.
  for (int turn = 0; turn < kDeviceRows; turn += kThreads / lanes) {
    const std::int64_t within = block * kDeviceRows + turn + static_cast<int>(threadIdx.x) / lanes;
    const bool inside = within < rows && turn + static_cast<int>(threadIdx.x) / lanes < kDeviceRows;
    const std::int64_t row = inside ? member * rows + within : 0, o = row / shape.inner,
                       i = row % shape.inner;
    const T* in = static_cast<const T*>(x.data) + o * x.stride + i * width;
    const T* out = static_cast<const T*>(dy.data) + o * dy.stride + i * width;
    const float root = inside ? inverse[row] : 0.0f;
    float inner = 0.0f;
    if (inside)
      for (int c = lane * Count; c < width; c += lanes * Count) {
        float a[Count], b[Count];
        load_packed<T, Count>(a, in + c);
        load_packed<T, Count>(b, out + c);
#pragma unroll
        for (int j = 0; j < Count; ++j) {
          inner += a[j] * b[j] * (factor ? factor[c + j] : 1.0f);
          if (Summed) total[j] += a[j] * b[j] * root;
        }
      }
    inner = group_sum(inner, lanes);
    if (!inside) continue;
    const float along = inner * root * root / (shape.unit ? 1.0f : static_cast<float>(width));
    const float outside = shape.unit ? shape.scale * root : root;
    T* result = static_cast<T*>(dx.data) + o * dx.stride + i * width;
    for (int c = lane * Count; c < width; c += lanes * Count) {
      float a[Count], b[Count];
      load_packed<T, Count>(a, in + c);
      load_packed<T, Count>(b, out + c);
#pragma unroll
      for (int j = 0; j < Count; ++j)
        b[j] = outside * (b[j] * (factor ? factor[c + j] : 1.0f) - a[j] * along);
      save_packed<T, Count>(result + c, b);
    }
  }
  if constexpr (Summed) {
#pragma unroll
    for (int j = 0; j < Count; ++j) sums[threadIdx.x][j] = total[j];
    __syncthreads();
    for (int c = static_cast<int>(threadIdx.x); c < width; c += kThreads) {
      float sum = 0.0f;
      for (int group = 0; group < kThreads / lanes; ++group)
        sum += sums[group * lanes + c / Count][c % Count];
      partial[(member * blocks + block) * width + c] = sum;
    }
  }
}

constexpr int kColumns = 32, kSlices = 8;

// The gain's gradient of rows too long for the registers: a thread a column and an eighth of the block's
// rows.
template <class T>
__global__ void __launch_bounds__(kColumns* kSlices)
    sum_rows(const NormShape shape, const NormRows x, const float* inverse, const NormRows dy, float* partial,
             const unsigned blocks) {
  __shared__ float sums[kSlices][kColumns];
  const int column = static_cast<int>(blockIdx.y) * kColumns + static_cast<int>(threadIdx.x);
  const std::int64_t member = blockIdx.x / blocks, block = blockIdx.x % blocks;
  const std::int64_t rows = shape.outer / shape.members * shape.inner;
  float sum = 0.0f;
  if (column < shape.width)
    for (int turn = static_cast<int>(threadIdx.y); turn < kDeviceRows; turn += kSlices) {
      const std::int64_t within = block * kDeviceRows + turn;
      if (within >= rows) break;
      const std::int64_t row = member * rows + within, o = row / shape.inner, i = row % shape.inner;
      sum += widen((static_cast<const T*>(x.data) + o * x.stride + i * shape.width)[column]) *
             widen((static_cast<const T*>(dy.data) + o * dy.stride + i * shape.width)[column]) * inverse[row];
    }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= shape.width) return;
  for (int slice = 1; slice < kSlices; ++slice) sum += sums[slice][threadIdx.x];
  partial[(member * blocks + block) * shape.width + column] = sum;
}

__global__ void __launch_bounds__(kColumns* kSlices)
    sum_blocks(const float* partial, float* dgain, const std::int64_t width, const std::int64_t blocks) {
  __shared__ float sums[kSlices][kColumns];
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * kColumns + threadIdx.x,
                     member = blockIdx.x;
  float sum = 0.0f;
  if (column < width)
    for (std::int64_t block = threadIdx.y; block < blocks; block += kSlices)
      sum += partial[(member * blocks + block) * width + column];
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= width) return;
  for (int slice = 1; slice < kSlices; ++slice) sum += sums[slice][threadIdx.x];
  dgain[member * width + column] = sum;
}

// Lanes a row: the least power of two that takes it in one turn, or a whole warp.
int lanes_for(std::int64_t width, int count) {
  int lanes = 1;
  while (lanes < kWarp && lanes * count < width) lanes *= 2;
  return lanes;
}

template <class T, int Count>
int forward(const NormShape& shape, const NormRows& x, const float* gain, const MutableNormRows& y,
            float* inverse, cudaStream_t stream) {
  const int lanes = lanes_for(shape.width, Count);
  const unsigned blocks = blocks_for(shape.outer * shape.inner, kThreads / lanes);
  if (blocks == 0) return cudaErrorInvalidConfiguration;
  forward_rows<T, Count><<<blocks, kThreads, 0, stream>>>(shape, x, gain, y, inverse, lanes);
  return launched();
}

template <class T, int Count>
int backward(const NormShape& shape, const NormRows& x, const float* gain, const float* inverse,
             const NormRows& dy, const MutableNormRows& dx, float* dgain, float* scratch,
             cudaStream_t stream) {
  const int lanes = lanes_for(shape.width, Count);
  const std::int64_t each = blocks_of_member(shape);
  const unsigned blocks = blocks_for(each * shape.members, 1), columns = blocks_for(shape.width, kColumns);
  if (blocks == 0 || columns == 0 || columns > 65535) return cudaErrorInvalidConfiguration;
  const bool summed = gain && lanes * Count >= shape.width;
  const auto per_member = static_cast<unsigned>(each);
  // dx may be dy: what reads dy alone comes first.
  const dim3 threads(kColumns, kSlices);
  if (gain && !summed) {
    sum_rows<T><<<dim3(blocks, columns), threads, 0, stream>>>(shape, x, inverse, dy, scratch, per_member);
    RUNG_CUDA_TRY(cudaGetLastError());
  }
  if (summed)
    backward_rows<T, Count, true>
        <<<blocks, kThreads, 0, stream>>>(shape, x, gain, inverse, dy, dx, scratch, lanes, per_member);
  else
    backward_rows<T, Count, false>
        <<<blocks, kThreads, 0, stream>>>(shape, x, gain, inverse, dy, dx, scratch, lanes, per_member);
  RUNG_CUDA_TRY(cudaGetLastError());
  if (!gain) return cudaSuccess;
  sum_blocks<<<dim3(static_cast<unsigned>(shape.members), columns), threads, 0, stream>>>(scratch, dgain,
                                                                                          shape.width, each);
  return launched();
}

bool valid(const NormShape& shape, const float* gain) {
  return shape.outer >= 0 && shape.inner >= 1 && shape.width >= 1 && shape.width <= (1 << 20) &&
         shape.members >= 1 && shape.outer % shape.members == 0 && !(shape.unit && gain);
}

}  // namespace

std::int64_t row_norm_scratch(const NormShape& shape) {
  return shape.members * blocks_of_member(shape) * shape.width;
}

int row_norm_forward_cuda(const NormShape& shape, const NormRows& x, const float* gain,
                          const MutableNormRows& y, float* inverse, void* stream) {
  if (!valid(shape, gain)) return cudaErrorInvalidValue;
  if (shape.outer == 0) return cudaSuccess;
  const std::int64_t bytes = element_size(shape.element);
  const bool packed =
      shape.width * bytes % 16 == 0 && packs(x.data, x.stride, bytes) && packs(y.data, y.stride, bytes);
  const cudaStream_t queue = stream_of(stream);
  if (shape.element == Element::f32)
    return packed ? forward<float, kPackedCount<float>>(shape, x, gain, y, inverse, queue)
                  : forward<float, 1>(shape, x, gain, y, inverse, queue);
  return packed ? forward<Bf16, kPackedCount<Bf16>>(shape, x, gain, y, inverse, queue)
                : forward<Bf16, 1>(shape, x, gain, y, inverse, queue);
}

int row_norm_backward_cuda(const NormShape& shape, const NormRows& x, const float* gain, const float* inverse,
                           const NormRows& dy, const MutableNormRows& dx, float* dgain, float* scratch,
                           void* stream) {
  if (!valid(shape, gain) || (gain && (!dgain || !scratch))) return cudaErrorInvalidValue;
  const cudaStream_t queue = stream_of(stream);
  if (shape.outer == 0)
    return gain ? cudaMemsetAsync(
                      dgain, 0, static_cast<std::size_t>(shape.members * shape.width) * sizeof(float), queue)
                : cudaSuccess;
  const std::int64_t bytes = element_size(shape.element);
  const bool packed = shape.width * bytes % 16 == 0 && packs(x.data, x.stride, bytes) &&
                      packs(dy.data, dy.stride, bytes) && packs(dx.data, dx.stride, bytes);
  if (shape.element == Element::f32)
    return packed
               ? backward<float, kPackedCount<float>>(shape, x, gain, inverse, dy, dx, dgain, scratch, queue)
               : backward<float, 1>(shape, x, gain, inverse, dy, dx, dgain, scratch, queue);
  return packed ? backward<Bf16, kPackedCount<Bf16>>(shape, x, gain, inverse, dy, dx, dgain, scratch, queue)
                : backward<Bf16, 1>(shape, x, gain, inverse, dy, dx, dgain, scratch, queue);
}

}  // namespace rung::kernels
