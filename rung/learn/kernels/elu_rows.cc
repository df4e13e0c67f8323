#include "rung/learn/kernels/elu_rows.h"

#include "rung/learn/kernels/exponential.h"
#include "rung/learn/kernels/vector_clones.h"

namespace rung::kernels {

RUNG_KERNEL_CLONES void elu_rows_forward(const float* x, std::int64_t stride, std::int64_t rows,
                                         std::int64_t columns, float* y) {
  for (std::int64_t i = 0; i < rows; ++i, x += stride, y += columns)
#pragma omp simd
    for (std::int64_t c = 0; c < columns; ++c) {
      const float power = exponential(x[c]);
      y[c] = x[c] > 0.0f ? x[c] + 1.0f : power;
    }
}

RUNG_KERNEL_CLONES void elu_rows_backward(const float* y, const float* dy, std::int64_t count, float* dx) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) dx[i] = dy[i] * (y[i] > 1.0f ? 1.0f : y[i]);
}

}  // namespace rung::kernels
