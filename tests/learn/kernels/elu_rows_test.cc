#include "rung/learn/kernels/elu_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace rung::kernels {
namespace {

TEST(EluRows, has_the_values_and_slopes_of_its_definition_and_reads_no_gap) {
  for (const std::int64_t columns : {1, 7, 16, 33}) {
    const std::int64_t rows = 3, stride = columns + 5;
    std::vector<float> x(static_cast<std::size_t>(rows * stride), NAN), y(rows * columns), dy(y), dx(y);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t c = 0; c < columns; ++c)
        x[i * stride + c] = static_cast<float>((i * columns + c) % 11 - 5) * 0.7f;
    for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = 1.0f + static_cast<float>(i);
    elu_rows_forward(x.data(), stride, rows, columns, y.data());
    elu_rows_backward(y.data(), dy.data(), rows * columns, dx.data());
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t c = 0; c < columns; ++c) {
        const double in = x[i * stride + c], value = in > 0 ? in + 1 : std::exp(in), at = dy[i * columns + c];
        EXPECT_NEAR(y[i * columns + c], value, 1e-6 * value);
        EXPECT_NEAR(dx[i * columns + c], at * (in > 0 ? 1 : value), 1e-6 * at);
      }
  }
}

TEST(EluRows, keeps_what_is_no_number) {
  const float x[3] = {NAN, -INFINITY, INFINITY}, dy[3] = {1.0f, 1.0f, 1.0f};
  float y[3], dx[3];
  elu_rows_forward(x, 3, 1, 3, y);
  elu_rows_backward(y, dy, 3, dx);
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(dx[0]));
  EXPECT_EQ(y[1], 0.0f);
  EXPECT_EQ(y[2], INFINITY);
  EXPECT_EQ(dx[2], 1.0f);
}

}  // namespace
}  // namespace rung::kernels
