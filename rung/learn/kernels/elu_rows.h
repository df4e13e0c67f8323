// elu(x) + 1, the feature map of linear attention, on the host: x + 1 above 0, else e^x. The slope is the smaller of the
// value and 1, so that backward needs the values alone.
#pragma once

#include <cstdint>

namespace rung::kernels {

// rows [rows, columns] `stride` numbers apart; y, dy and dx without gaps.
void elu_rows_forward(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* y);
void elu_rows_backward(const float* y, const float* dy, std::int64_t count, float* dx);

}  // namespace rung::kernels
