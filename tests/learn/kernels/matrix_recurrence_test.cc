// The matrix recurrence against its definition in float64, forward and backward.
#include "rung/learn/kernels/matrix_recurrence.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/learn/kernels/recurrence_case.h"

namespace rung::kernels {
namespace {

std::string describe(const RecurrenceCase& given) {
  const auto& s = given.shape;
  return fmt::format("N={} T={} H={} dk={} dv={} {} delta={} decay={} channels={} low_rank={}", s.sequences,
                     s.positions, s.heads, s.key_size, s.value_size,
                     s.element == Element::f32 ? "f32" : "bf16", s.delta, given.decays, s.channels,
                     s.low_rank);
}

// L = sum of y . dy, by the reference.
double loss(const RecurrenceCase& given) {
  const auto out = recur(given);
  double sum = 0.0;
  for (std::int64_t i = 0; i < given.dy.count(); ++i) sum += out.y[i] * given.dy[i];
  return sum;
}

TEST(MatrixRecurrence, the_reference_has_the_gradient_of_its_differences) {
  auto shapes = channel_forms({1, 5, 2, 3, 2, Element::f32});
  for (const bool delta : {false, true}) shapes.push_back({1, 5, 2, 3, 2, Element::f32, delta});
  for (const RecurrenceShape& shape : shapes) {
    RecurrenceCase given(shape, true, 7);
    SCOPED_TRACE(describe(given));
    const auto out = recur(given);
    const auto slope = [&](Buffer& buffer, std::int64_t i) {
      return difference_slope(buffer, i, [&] { return loss(given); });
    };
    for (std::int64_t i = 0; i < given.fused.count(); ++i)
      if (i % given.pitch >= 1 && i % given.pitch < 1 + given.columns()) {
        EXPECT_NEAR(slope(given.fused, i), out.gradient[i], 1e-3) << i;
      }
    for (std::int64_t i = 0; i < given.decay_count(); ++i)
      EXPECT_NEAR(slope(given.log_decay, i), out.dlog_decay[i], 1e-3) << i;
    for (std::int64_t i = 0; shape.delta && i < given.scalars(); ++i)
      EXPECT_NEAR(slope(given.beta, i), out.dbeta[i], 1e-3) << i;
  }
}

void expect_the_definition(RecurrenceCase& given) {
  const auto expected = recur(given);
  SCOPED_TRACE(describe(given));
  for (Buffer* out : {&given.y, &given.dlog_decay, &given.dbeta, &given.error}) out->fill(NAN);
  given.gradient.fill(0.0);
  matrix_recurrence_forward(given.shape, given.inputs(), given.output(), given.error.floats());
  matrix_recurrence_backward(given.shape, given.inputs(), given.error.floats(), given.output_gradient(),
                             given.gradients());
  const double allowed = tolerance(given.shape.element);
  EXPECT_LT(distance(given.y, expected.y, given.y.count()), allowed);
  EXPECT_LT(distance(given.gradient, expected.gradient, given.gradient.count()), allowed);
  if (given.decays) {
    EXPECT_LT(distance(given.dlog_decay, expected.dlog_decay, given.decay_count()), 1e-4);
  }
  if (given.shape.delta) {
    EXPECT_LT(distance(given.dbeta, expected.dbeta, given.scalars()), 3e-5);
  }
}

TEST(MatrixRecurrence, agrees_with_its_definition_forward_and_backward) {
  for (const auto& shape : recurrence_shapes())
    for (const bool decays : {false, true}) {
      RecurrenceCase given(shape, decays, 11);
      expect_the_definition(given);
    }
}

TEST(MatrixRecurrence, decays_by_channel_agree_with_the_definition_forward_and_backward) {
  for (const RecurrenceShape& any : recurrence_shapes()) {
    if (any.delta) continue;
    for (const RecurrenceShape& shape : channel_forms(any)) {
      RecurrenceCase given(shape, true, 11);
      expect_the_definition(given);
    }
  }
  for (const std::int64_t size : {100, 256})
    for (const RecurrenceShape& shape : channel_forms({1, 5, 1, size, 356 - size, Element::f32})) {
      ASSERT_TRUE(recurrence_fits_host(shape));
      RecurrenceCase given(shape, true, 2);
      expect_the_definition(given);
    }
}

TEST(MatrixRecurrence, decays_of_0_and_1_and_between_agree_by_channel) {
  for (const RecurrenceShape& shape : channel_forms({2, 40, 3, 7, 19, Element::f32})) {
    RecurrenceCase given(shape, true, 13);
    const double cases[] = {-INFINITY, -1000.0, -88.0, -20.0, -1.0, -1e-3, 0.0, -0.3};
    for (std::int64_t i = 0; i < given.decay_count(); ++i) given.log_decay.set(i, cases[i * 5 % 8]);
    expect_the_definition(given);
    // Nothing is kept.
    given.log_decay.fill(-INFINITY);
    for (std::int64_t i = 0; i < given.scalars(); ++i) given.beta.set(i, 0.0);
    matrix_recurrence_forward(shape, given.inputs(), given.output(), given.error.floats());
    matrix_recurrence_backward(shape, given.inputs(), given.error.floats(), given.output_gradient(),
                               given.gradients());
    for (std::int64_t i = 0; i < given.decay_count(); ++i) EXPECT_NEAR(given.dlog_decay[i], 0.0, 1e-4);
  }
}

TEST(MatrixRecurrence, equal_decays_of_all_channels_are_the_decay_of_the_head) {
  for (const bool delta : {false, true}) {
    RecurrenceCase head({2, 33, 2, 12, 20, Element::f32, delta}, true, 17);
    RecurrenceShape shape = head.shape;
    shape.channels = true;
    RecurrenceCase channels(shape, true, 17);
    channels.fused = head.fused, channels.dy = head.dy, channels.beta = head.beta;
    for (std::int64_t i = 0; i < channels.decay_count(); ++i)
      channels.log_decay.set(i, head.log_decay[i / shape.key_size]);
    for (RecurrenceCase* one : {&head, &channels}) {
      one->gradient.fill(0.0);
      matrix_recurrence_forward(one->shape, one->inputs(), one->output(), one->error.floats());
      matrix_recurrence_backward(one->shape, one->inputs(), one->error.floats(), one->output_gradient(),
                                 one->gradients());
    }
    EXPECT_LT(distance(channels.y, head.y, head.y.count()), 1e-5);
    EXPECT_LT(distance(channels.gradient, head.gradient, head.gradient.count()), 1e-5);
    std::vector<double> summed(head.scalars());
    for (std::int64_t i = 0; i < channels.decay_count(); ++i)
      summed[i / shape.key_size] += channels.dlog_decay[i];
    EXPECT_LT(distance(summed, head.dlog_decay, head.scalars()), 1e-4);
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
  for (const RecurrenceShape& shape : channel_forms(given.shape)) {
    RecurrenceCase one(shape, true, 3);
    const auto right = recur(one);
    one.log_decay.set(80, one.log_decay[80] - 0.05);
    matrix_recurrence_forward(shape, one.inputs(), one.output(), one.error.floats());
    EXPECT_GT(distance(one.y, right.y, one.y.count()), 10 * tolerance(Element::f32));
  }
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
