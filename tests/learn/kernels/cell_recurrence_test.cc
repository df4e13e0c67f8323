// The cells against their definition in float64, forward and backward.
#include "rung/learn/kernels/cell_recurrence.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/learn/kernels/cell_case.h"

namespace rung::kernels {
namespace {

TEST(CellRecurrence, the_reference_has_the_gradient_of_its_differences) {
  for (const CellKind kind : {CellKind::tanh, CellKind::relu, CellKind::gru}) {
    CellCase given({1, 1, 6, 3, kind, 0, Element::f32}, 4);
    const CellReference expected = run_cell(given);
    const auto loss = [&] {
      const CellReference out = run_cell(given);
      double sum = 0.0;
      for (std::int64_t i = 0; i < given.dy.count(); ++i) sum += out.y[i] * given.dy[i];
      return sum;
    };
    for (std::int64_t i = 0; i < given.fused.count(); ++i)
      EXPECT_NEAR(difference_slope(given.fused, i, loss), expected.gradient[i], 2e-3) << i;
    // e is what U and b have of it.
    const std::int64_t rows = cell_rows(given.shape);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t j = 0; j < given.shape.size; ++j) {
        double slope = 0.0;
        for (std::int64_t t = 1; t < given.shape.positions; ++t)
          slope += expected.e[t * rows + r] * expected.y[(t - 1) * given.shape.size + j];
        EXPECT_NEAR(difference_slope(given.state, r * given.shape.size + j, loss), slope, 2e-3)
            << r << " " << j;
      }
  }
}

TEST(CellRecurrence, agrees_with_its_definition_forward_and_backward) {
  for (const CellShape& shape : cell_shapes()) {
    CellCase given(shape, 6);
    const CellReference expected = run_cell(given);
    cell_forward(shape, given.inputs(), given.states.floats(), given.output());
    cell_backward(shape, given.inputs(), given.states.floats(), given.output_gradient(),
                  given.sums_gradient(), given.e.floats());
    EXPECT_LT(distance(given.y, expected.y, given.y.count()), tolerance(shape.element));
    EXPECT_LT(distance(given.states, expected.y, given.y.count()), 3e-5);
    EXPECT_LT(distance(given.gradient, expected.gradient, given.gradient.count()), tolerance(shape.element));
    EXPECT_LT(distance(given.e, expected.e, given.e.count()), 3e-5);
  }
}

TEST(CellRecurrence, rounds_states_to_so_many_values_and_hands_gradients_on) {
  for (const CellKind kind : {CellKind::tanh, CellKind::gru}) {
    CellCase given({1, 3, 40, 5, kind, 2, Element::f32}, 8);
    cell_forward(given.shape, given.inputs(), given.states.floats(), given.output());
    std::set<double> values;
    for (std::int64_t i = 0; i < given.y.count(); ++i) values.insert(given.y[i]);
    EXPECT_EQ(values.size(), 3u);  // -2/3, 0, 2/3
    // Near a tie float32 and float64 may part for good, so the definition is compared at a precision without any.
    CellCase fine({1, 3, 40, 5, kind, 6, Element::f32}, 9);
    const CellReference expected = run_cell(fine);
    cell_forward(fine.shape, fine.inputs(), fine.states.floats(), fine.output());
    cell_backward(fine.shape, fine.inputs(), fine.states.floats(), fine.output_gradient(),
                  fine.sums_gradient(), fine.e.floats());
    EXPECT_LT(distance(fine.y, expected.y, fine.y.count()), 1e-5);
    EXPECT_LT(distance(fine.gradient, expected.gradient, fine.gradient.count()), 3e-5);
  }
}

}  // namespace
}  // namespace rung::kernels
