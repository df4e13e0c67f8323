// The matrix recurrence against its definition in float64, forward and backward.
#include "rung/learn/kernels/matrix_recurrence.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/learn/kernels/recurrence_case.h"

namespace rung::kernels {
namespace {

std::string describe(const RecurrenceCase& given) {
  const auto& s = given.shape;
  return fmt::format("N={} T={} H={} dk={} dv={} {} delta={} decay={}", s.sequences, s.positions, s.heads,
                     s.key_size, s.value_size, s.element == Element::f32 ? "f32" : "bf16", s.delta,
                     given.decays);
}

// L = sum of y . dy, by the reference.
double loss(const RecurrenceCase& given) {
  const auto out = recur(given);
  double sum = 0.0;
  for (std::int64_t i = 0; i < given.dy.count(); ++i) sum += out.y[i] * given.dy[i];
  return sum;
}

TEST(MatrixRecurrence, the_reference_has_the_gradient_of_its_differences) {
  for (const bool delta : {false, true}) {
    RecurrenceCase given({1, 5, 2, 3, 2, Element::f32, delta}, true, 7);
    const auto out = recur(given);
    const double h = 1.0 / 1024;  // exact in float32 beside numbers of order 1
    const auto slope = [&](Buffer& buffer, std::int64_t i) {
      const double before = buffer[i];
      buffer.set(i, before + h);
      const double up = loss(given), high = buffer[i];
      buffer.set(i, before - h);
      const double slope = (up - loss(given)) / (high - buffer[i]);
      buffer.set(i, before);
      return slope;
    };
    const std::int64_t columns = given.shape.heads * (2 * given.shape.key_size + given.shape.value_size);
    for (std::int64_t i = 0; i < given.fused.count(); ++i)
      if (i % given.pitch >= 1 && i % given.pitch < 1 + columns) {
        EXPECT_NEAR(slope(given.fused, i), out.gradient[i], 1e-3) << i;
      }
    for (std::int64_t i = 0; i < given.scalars(); ++i) {
      EXPECT_NEAR(slope(given.log_decay, i), out.dlog_decay[i], 1e-3) << i;
      if (delta) {
        EXPECT_NEAR(slope(given.beta, i), out.dbeta[i], 1e-3) << i;
      }
    }
  }
}

TEST(MatrixRecurrence, agrees_with_its_definition_forward_and_backward) {
  for (const auto& shape : recurrence_shapes())
    for (const bool decays : {false, true}) {
      RecurrenceCase given(shape, decays, 11);
      SCOPED_TRACE(describe(given));
      const auto expected = recur(given);
      given.y.fill(NAN);
      given.gradient.fill(0.0);
      matrix_recurrence_forward(shape, given.inputs(), given.output(), given.error.floats());
      matrix_recurrence_backward(shape, given.inputs(), given.error.floats(), given.output_gradient(),
                                 given.gradients());
      EXPECT_LT(distance(given.y, expected.y, given.y.count()), tolerance(shape.element));
      EXPECT_LT(distance(given.gradient, expected.gradient, given.gradient.count()),
                tolerance(shape.element));
      if (decays) {
        EXPECT_LT(distance(given.dlog_decay, expected.dlog_decay, given.scalars()), 1e-4);
      }
      if (shape.delta) {
        EXPECT_LT(distance(given.dbeta, expected.dbeta, given.scalars()), 3e-5);
      }
    }
}

TEST(MatrixRecurrence, normalised_agrees_with_its_weights_also_where_nothing_is_read) {
  for (RecurrenceShape shape : recurrence_shapes()) {
    shape.normalised = true;
    EXPECT_EQ(recurrence_fits_host(shape), shape.element == Element::f32 && !shape.delta);
    if (!recurrence_fits_host(shape)) continue;
    RecurrenceCase given(shape, false, 5);
    SCOPED_TRACE(describe(given));
    make_features(given);
    const auto expected = attend_linearly(given);
    given.y.fill(NAN);
    given.gradient.fill(0.0);
    matrix_recurrence_forward(shape, given.inputs(), given.output(), nullptr);
    matrix_recurrence_backward(shape, given.inputs(), nullptr, given.output_gradient(), given.gradients());
    EXPECT_LT(distance(given.y, expected.y, given.y.count()), 3e-5);
    EXPECT_LT(distance(given.gradient, expected.gradient, given.gradient.count()), 3e-5);
  }
}

TEST(MatrixRecurrence, a_wrong_number_is_seen) {
  RecurrenceCase given({1, 20, 1, 8, 8, Element::f32, true}, true, 3);
  const auto expected = recur(given);
  given.log_decay.set(10, given.log_decay[10] - 0.05);
  matrix_recurrence_forward(given.shape, given.inputs(), given.output(), given.error.floats());
  EXPECT_GT(distance(given.y, expected.y, given.y.count()), 100 * tolerance(Element::f32));
}

TEST(MatrixRecurrence, leaves_what_lies_between_the_slices_alone) {
  RecurrenceCase given({2, 6, 2, 5, 3, Element::bf16, true}, true, 5);
  given.gradient.fill(42.0);
  matrix_recurrence_forward(given.shape, given.inputs(), given.output(), given.error.floats());
  matrix_recurrence_backward(given.shape, given.inputs(), given.error.floats(), given.output_gradient(),
                             given.gradients());
  for (std::int64_t at = 0; at < given.gradient.count(); at += given.pitch) {
    EXPECT_EQ(given.gradient[at], 42.0);
    EXPECT_EQ(given.gradient[at + given.pitch - 1], 42.0);
    EXPECT_EQ(given.gradient[at + given.pitch - 2], 42.0);
  }
}

TEST(MatrixRecurrence, a_sequence_alone_has_the_bits_it_has_among_others) {
  RecurrenceCase given({3, 20, 2, 16, 16, Element::f32, true}, true, 9);
  matrix_recurrence_forward(given.shape, given.inputs(), given.output(), given.error.floats());
  RecurrenceCase again = given;
  again.shape.sequences = 1;
  again.y.fill(0.0);
  matrix_recurrence_forward(again.shape, again.inputs(), again.output(), again.error.floats());
  for (std::int64_t i = 0; i < 20 * 2 * 16; ++i) EXPECT_EQ(given.y[i], again.y[i]);
}

TEST(MatrixRecurrence, wide_heads_fit_up_to_256_and_agree) {
  EXPECT_FALSE(recurrence_fits_host({1, 1, 1, 257, 1, Element::f32, false}));
  for (const std::int64_t size : {100, 256}) {
    RecurrenceCase given({1, 5, 1, size, 356 - size, Element::f32, true}, true, 2);
    ASSERT_TRUE(recurrence_fits_host(given.shape));
    const auto expected = recur(given);
    given.gradient.fill(0.0);
    matrix_recurrence_forward(given.shape, given.inputs(), given.output(), given.error.floats());
    matrix_recurrence_backward(given.shape, given.inputs(), given.error.floats(), given.output_gradient(),
                               given.gradients());
    EXPECT_LT(distance(given.y, expected.y, given.y.count()), tolerance(Element::f32));
    EXPECT_LT(distance(given.gradient, expected.gradient, given.gradient.count()), tolerance(Element::f32));
    // Errors that nobody keeps.
    Buffer kept = given.y;
    matrix_recurrence_forward(given.shape, given.inputs(), given.output(), nullptr);
    EXPECT_EQ(distance(given.y, kept, kept.count()), 0.0);
  }
}

TEST(MatrixRecurrence, no_positions_are_no_trouble) {
  RecurrenceCase given({2, 0, 1, 4, 4, Element::f32, true}, true, 1);
  matrix_recurrence_forward(given.shape, given.inputs(), given.output(), given.error.floats());
  matrix_recurrence_backward(given.shape, given.inputs(), given.error.floats(), given.output_gradient(),
                             given.gradients());
  EXPECT_EQ(given.y.count(), 0);
}

}  // namespace
}  // namespace rung::kernels
