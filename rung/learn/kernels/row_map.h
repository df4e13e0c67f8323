// Rows times a matrix on the host, forward and backward: y = x W^T + b for many rows x, a member of an ensemble having
// its own W [outputs, inputs] and b [outputs].
//   dx = dy W,  dW = sum dy x^T,  db = sum dy    over the member's rows.
// float32, one thread. The same bits on every call, and for a member alone or among others.
#pragma once

#include <cstdint>

namespace rung::kernels {

struct RowMapShape {
  std::int64_t members = 1, rows = 0;  // rows of each member
  std::int64_t inputs = 0, outputs = 0;
};
// Members `weight_stride` and `bias_stride` numbers apart.
struct RowMapWeights {
  const float* weight = nullptr;
  std::int64_t weight_stride = 0;
  const float* bias = nullptr;  // null: none
  std::int64_t bias_stride = 0;
};
// dx [members, rows, inputs], dweight [members, outputs, inputs], dbias [members, outputs] without gaps, overwritten;
// null: not wanted.
struct RowMapGradients {
  float *dx = nullptr, *dweight = nullptr, *dbias = nullptr;
};

// x [members, rows, inputs], y and dy [members, rows, outputs], without gaps. No output overlaps an input.
void row_map_forward(const RowMapShape& shape, const float* x, const RowMapWeights& weights, float* y);
void row_map_backward(const RowMapShape& shape, const float* x, const RowMapWeights& weights, const float* dy,
                      const RowMapGradients& out);

}  // namespace rung::kernels
