// Linear and log-linear readings on the host against their definitions in float64.
#include "rung/learn/kernels/causal_reading.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/learn/kernels/log_linear_case.h"
#include "tests/learn/kernels/recurrence_case.h"

namespace rung::kernels {
namespace {

constexpr double kReadingTolerance = 2e-5;

void read_on_host(LogLinearCase& given) {
  const LogLinearShape& s = given.shape;
  const CausalReadingShape shape{s.sequences,  s.positions, s.heads, s.key_size,
                                 s.value_size, s.levels,    false};
  const LogLinearInputs in = given.inputs();
  const CausalReadingInputs inputs{in.q, in.k, in.v, in.share, in.log_decay};
  for (Buffer* out : {&given.y, &given.dshare, &given.dlog_decay}) out->fill(NAN);
  given.gradient.fill(0.0);
  causal_reading_forward(shape, inputs, whole(given.y.data(), s.positions, s.heads, s.value_size));
  causal_reading_backward(
      shape, inputs, whole(given.y.data(), s.positions, s.heads, s.value_size),
      whole(given.dy.data(), s.positions, s.heads, s.value_size),
      {given.slice<MutableSlice>(given.gradient, 0), given.slice<MutableSlice>(given.gradient, 1),
       given.slice<MutableSlice>(given.gradient, 2), given.dshare.floats(),
       given.decays ? given.dlog_decay.floats() : nullptr});
}

TEST(CausalReading, by_levels_agrees_with_float64) {
  std::uint64_t seed = 1;
  for (const std::int64_t positions : {1, 2, 15, 16, 17, 40, 64, 129})
    for (const auto& [keys, values] : {std::pair{1, 1}, {5, 9}, {16, 16}, {32, 20}})
      for (const bool decays : {false, true}) {
        SCOPED_TRACE(fmt::format("T={} dk={} dv={} decay={}", positions, keys, values, decays));
        LogLinearCase given({2, positions, 2, keys, values, log_linear_levels(positions) + 1}, decays,
                            seed++);
        read_on_host(given);
        const LogLinearReference expected = attend(given);
        EXPECT_LT(distance(given.y, expected.y, given.y.count()), kReadingTolerance);
        EXPECT_LT(distance(given.gradient, expected.gradient, given.gradient.count()), kReadingTolerance);
        EXPECT_LT(distance(given.dshare, expected.dshare, given.dshare.count()), kReadingTolerance);
        if (decays) {
          EXPECT_LT(distance(given.dlog_decay, expected.dlog_decay, given.dlog_decay.count()), 1e-4);
        }
      }
}

TEST(CausalReading, a_wrong_share_is_seen) {
  LogLinearCase given({1, 40, 1, 8, 8, 7}, false, 3);
  read_on_host(given);
  given.share.set(39 * 7 + 6, given.share[39 * 7 + 6] + 0.1);
  const LogLinearReference other = attend(given);
  EXPECT_GT(distance(given.y, other.y, given.y.count()), kReadingTolerance);
  EXPECT_GT(distance(given.gradient, other.gradient, given.gradient.count()), kReadingTolerance);
}

void read_linearly(RecurrenceCase& given, bool normalised) {
  const RecurrenceShape& s = given.shape;
  const CausalReadingShape shape{s.sequences, s.positions, s.heads, s.key_size, s.value_size, 0, normalised};
  const RecurrenceInputs in = given.inputs();
  const CausalReadingInputs inputs{in.q, in.k, in.v, nullptr, in.log_decay};
  const RecurrenceGradients out = given.gradients();
  given.y.fill(NAN);
  given.gradient.fill(0.0);
  causal_reading_forward(shape, inputs, given.output());
  causal_reading_backward(shape, inputs, given.output(), given.output_gradient(),
                          {out.dq, out.dk, out.dv, nullptr, out.dlog_decay});
}

TEST(CausalReading, agrees_with_the_recurrence_that_it_unrolls) {
  for (const RecurrenceShape& shape : recurrence_shapes())
    for (const bool decays : {false, true}) {
      if (shape.delta || shape.element != Element::f32) continue;
      SCOPED_TRACE(fmt::format("T={} dk={} dv={} decay={}", shape.positions, shape.key_size, shape.value_size,
                               decays));
      RecurrenceCase given(shape, decays, 11);
      read_linearly(given, false);
      const RecurrenceReference expected = recur(given);
      EXPECT_LT(distance(given.y, expected.y, given.y.count()), kReadingTolerance);
      EXPECT_LT(distance(given.gradient, expected.gradient, given.gradient.count()), kReadingTolerance);
      if (decays) {
        EXPECT_LT(distance(given.dlog_decay, expected.dlog_decay, given.scalars()), 1e-4);
      }
    }
}

TEST(CausalReading, normalised_agrees_with_float64_also_where_nothing_is_read) {
  for (const RecurrenceShape& shape : recurrence_shapes()) {
    if (shape.delta || shape.element != Element::f32) continue;
    SCOPED_TRACE(fmt::format("T={} dk={} dv={}", shape.positions, shape.key_size, shape.value_size));
    RecurrenceCase given(shape, false, 5);
    make_features(given);
    read_linearly(given, true);
    const RecurrenceReference expected = attend_linearly(given);
    EXPECT_LT(distance(given.y, expected.y, given.y.count()), kReadingTolerance);
    EXPECT_LT(distance(given.gradient, expected.gradient, given.gradient.count()), kReadingTolerance);
  }
}

}  // namespace
}  // namespace rung::kernels
