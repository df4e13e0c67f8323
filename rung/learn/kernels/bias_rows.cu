// A thread takes Count neighbouring columns of kRows rows, so that it reads its part of the bias once.
#include "rung/learn/kernels/bias_rows.h"

#include "rung/learn/kernels/packed.cuh"

namespace rung::kernels {
namespace {

constexpr int kThreads = 256, kRows = 8;

template <class T, int Count>
__global__ void __launch_bounds__(kThreads) add_to_rows(const BiasRows given, const int columns) {
  // Groups of kRows rows, a thread for each of `columns` parts of a row.
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t groups = (given.rows + kRows - 1) / kRows, group = index / columns;
  if (group >= given.members * groups) return;
  const std::int64_t member = group / groups, first = group % groups * kRows;
  const std::int64_t column = index % columns * Count;
  float bias[Count];
  load_packed<T, Count>(bias, static_cast<const T*>(given.bias) + member * given.width + column);
  T* value = static_cast<T*>(given.values) + (member * given.rows + first) * given.width + column;
#pragma unroll
  for (int row = 0; row < kRows; ++row, value += given.width) {
    if (first + row >= given.rows) break;
    float part[Count];
    load_packed<T, Count>(part, value);
#pragma unroll
    for (int j = 0; j < Count; ++j) part[j] += bias[j];
    save_packed<T, Count>(value, part);
  }
}

template <class T, int Count>
int add(const BiasRows& rows, cudaStream_t stream) {
  const std::int64_t columns = rows.width / Count;
  const unsigned blocks = blocks_for(rows.members * ((rows.rows + kRows - 1) / kRows) * columns, kThreads);
  if (blocks == 0) return cudaErrorInvalidConfiguration;
  add_to_rows<T, Count><<<blocks, kThreads, 0, stream>>>(rows, static_cast<int>(columns));
  return launched();
}

template <class T>
int add_of(const BiasRows& rows, cudaStream_t stream) {
  const bool packed = rows.width % kPackedCount<T> == 0 && packs(rows.values, rows.width, sizeof(T)) &&
                      packs(rows.bias, rows.width, sizeof(T));
  return packed ? add<T, kPackedCount<T>>(rows, stream) : add<T, 1>(rows, stream);
}

}  // namespace

int add_bias_cuda(const BiasRows& rows, void* stream) {
  if (rows.members < 1 || rows.rows < 0 || rows.width < 1 || rows.width > (1 << 24))
    return cudaErrorInvalidValue;
  if (rows.rows == 0) return cudaSuccess;
  return rows.element == Element::f32 ? add_of<float>(rows, stream_of(stream))
                                      : add_of<Bf16>(rows, stream_of(stream));
}

}  // namespace rung::kernels
