// The diagonal scan against its definition in float64, forward and backward.
#include "rung/learn/kernels/diagonal_scan.h"

#include <gtest/gtest.h>

#include "tests/learn/kernels/scan_case.h"

namespace rung::kernels {
namespace {

TEST(DiagonalScan, the_reference_has_the_gradient_of_its_differences) {
  ScanCase given({1, 1, 6, 2, 3, Element::f32}, 4);
  const ScanReference expected = scan(given);
  const auto loss = [&] {
    const ScanReference out = scan(given);
    double sum = 0.0;
    for (std::int64_t i = 0; i < given.dy.count(); ++i) sum += out.y[i] * given.dy[i];
    return sum;
  };
  const auto check = [&](Buffer& buffer, std::int64_t i, double slope) {
    EXPECT_NEAR(difference_slope(buffer, i, loss), slope, 1e-3) << i;
  };
  for (std::int64_t i = 0; i < given.a.count(); ++i) check(given.a, i, expected.da[i]);
  for (std::int64_t i = 0; i < given.fused.count(); ++i) check(given.fused, i, expected.gradient[i]);
}

TEST(DiagonalScan, agrees_with_its_definition_forward_and_backward) {
  for (const ScanShape& shape : scan_shapes()) {
    ScanCase given(shape, 6);
    const ScanReference expected = scan(given);
    diagonal_scan_forward(shape, given.inputs(), given.output());
    diagonal_scan_backward(shape, given.inputs(), given.output_gradient(), given.gradients());
    EXPECT_LT(distance(given.y, expected.y, given.y.count()), tolerance(shape.element));
    EXPECT_LT(distance(given.gradient, expected.gradient, given.gradient.count()), tolerance(shape.element));
    EXPECT_LT(distance(given.da, expected.da, given.da.count()), 3e-5);
  }
}

}  // namespace
}  // namespace rung::kernels
