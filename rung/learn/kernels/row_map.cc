#include "rung/learn/kernels/row_map.h"

#include "rung/base/require.h"
#include "rung/learn/kernels/matrix_tile.h"
#include "rung/learn/kernels/vector_clones.h"

namespace rung::kernels {
namespace {

constexpr std::int64_t kMapRows = 192;  // at a time, in cache

RUNG_KERNEL_CLONES void add_slopes(const float* from, std::int64_t rows, std::int64_t columns, float* sum) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t c = 0; c < columns; ++c) sum[c] += from[i * columns + c];
}

void require_shape(const RowMapShape& shape) {
  RUNG_REQUIRE(shape.members >= 1 && shape.rows >= 0 && shape.inputs >= 1 && shape.outputs >= 1,
               "E={} rows={} C={} R={}", shape.members, shape.rows, shape.inputs, shape.outputs);
}

}  // namespace

void row_map_forward(const RowMapShape& shape, const float* x, const RowMapWeights& weights, float* y) {
  require_shape(shape);
  const std::int64_t inputs = shape.inputs, outputs = shape.outputs;
  AlignedNumbers matrix(panelled_size(inputs, outputs));
  for (std::int64_t e = 0; e < shape.members; ++e) {
    transposed_into_panels(weights.weight + e * weights.weight_stride, inputs, inputs, outputs,
                           matrix.data());
    const float* bias = weights.bias ? weights.bias + e * weights.bias_stride : nullptr;
    for (std::int64_t from = 0; from < shape.rows; from += kMapRows) {
      const std::int64_t row = e * shape.rows + from;
      multiply({std::min(kMapRows, shape.rows - from), outputs, inputs}, by_rows(x + row * inputs, inputs),
               of_panels(matrix.data(), inputs), in_rows(y + row * outputs, outputs), ProductEnd::store,
               bias);
    }
  }
}

void row_map_backward(const RowMapShape& shape, const float* x, const RowMapWeights& weights, const float* dy,
                      const RowMapGradients& out) {
  require_shape(shape);
  const std::int64_t inputs = shape.inputs, outputs = shape.outputs;
  AlignedNumbers matrix(panelled_size(outputs, inputs)), rows_of_x(panelled_size(kMapRows, inputs));
  for (std::int64_t e = 0; e < shape.members; ++e) {
    if (out.dx)
      into_panels(weights.weight + e * weights.weight_stride, inputs, outputs, inputs, matrix.data());
    float* dweight = out.dweight ? out.dweight + e * outputs * inputs : nullptr;
    float* dbias = out.dbias ? out.dbias + e * outputs : nullptr;
    if (dweight) std::fill_n(dweight, outputs * inputs, 0.0f);
    if (dbias) std::fill_n(dbias, outputs, 0.0f);
    for (std::int64_t from = 0; from < shape.rows; from += kMapRows) {
      const std::int64_t rows = std::min(kMapRows, shape.rows - from), row = e * shape.rows + from;
      const float* slope = dy + row * outputs;
      if (out.dx)
        multiply({rows, inputs, outputs}, by_rows(slope, outputs), of_panels(matrix.data(), outputs),
                 in_rows(out.dx + row * inputs, inputs));
      if (dweight) {
        into_panels(x + row * inputs, inputs, rows, inputs, rows_of_x.data());
        multiply({outputs, inputs, rows}, by_columns(slope, outputs), of_panels(rows_of_x.data(), rows),
                 in_rows(dweight, inputs), ProductEnd::add);
      }
      if (dbias) add_slopes(slope, rows, outputs, dbias);
    }
  }
}

}  // namespace rung::kernels
