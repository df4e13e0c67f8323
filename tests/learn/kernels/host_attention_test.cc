// Causal attention on the host against its definition in float64.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/learn/kernels/attention_case.h"

namespace rung::kernels {
namespace {

constexpr double kHostAttentionTolerance = 2e-5;

void run_attention_on_host(AttentionCase& given) {
  for (Buffer* out : {&given.y, &given.gradient, &given.log_sums}) out->fill(NAN);
  causal_attention_forward(given.shape, given.inputs(), given.output(), given.log_sums.floats());
  causal_attention_backward(given.shape, given.inputs(), given.output(), given.log_sums.floats(),
                            given.output_gradient(), given.gradients());
}

CausalAttentionShape host_shape(std::int64_t sequences, std::int64_t positions, std::int64_t heads,
                                std::int64_t size, float tau) {
  return {.sequences = sequences,
          .positions = positions,
          .heads = heads,
          .size = size,
          .element = Element::f32,
          .tau = tau};
}

TEST(HostAttention, a_wrong_scale_is_seen) {
  AttentionCase given(host_shape(1, 40, 1, 16, 0.25f), 1);
  run_attention_on_host(given);
  given.shape.tau = 0.2502f;
  const AttentionReference other = attention_reference(given);
  EXPECT_GT(output_distance(given, given.y, other), kHostAttentionTolerance);
  EXPECT_GT(distance(given.log_sums, other.log_sums, given.log_sums.count()), kLogSumTolerance);
  for (int which = 0; which < 3; ++which)
    EXPECT_GT(gradient_distance(given, given.gradient, other, which), kHostAttentionTolerance) << which;
}

TEST(HostAttention, agrees_with_float64_and_leaves_gaps_alone) {
  std::uint64_t seed = 1;
  for (const std::int64_t size : {1, 6, 16, 33})
    for (const std::int64_t positions : {1, 2, 5, 15, 16, 17, 33, 48, 128, 200}) {
      SCOPED_TRACE(fmt::format("T={} d={}", positions, size));
      AttentionCase given(host_shape(2, positions, 2, size, 1 / std::sqrt(static_cast<float>(size))), seed++);
      run_attention_on_host(given);
      const AttentionReference expected = attention_reference(given);
      EXPECT_LT(output_distance(given, given.y, expected), kHostAttentionTolerance);
      EXPECT_LT(distance(given.log_sums, expected.log_sums, given.log_sums.count()), kLogSumTolerance);
      for (int which = 0; which < 3; ++which)
        EXPECT_LT(gradient_distance(given, given.gradient, expected, which), kHostAttentionTolerance)
            << which;
      EXPECT_TRUE(gaps_untouched(given.y, expected.y));
      EXPECT_TRUE(gaps_untouched(given.gradient, expected.gradient));
    }
}

TEST(HostAttention, large_scores_do_not_overflow) {
  AttentionCase given(host_shape(1, 50, 1, 32, 30.0f), 3);
  run_attention_on_host(given);
  for (std::int64_t t = 0; t < 50; ++t)
    for (std::int64_t c = 0; c < 32; ++c) {
      EXPECT_TRUE(std::isfinite(given.y[given.output_place(0, t, 0) + c]));
      for (int which = 0; which < 3; ++which)
        EXPECT_TRUE(std::isfinite(given.gradient[given.place(which, 0, t, 0) + c]));
    }
}

// What is left of one sequence in the scratch does not reach the next.
TEST(HostAttention, bits_depend_on_the_sequence_alone) {
  AttentionCase given(host_shape(2, 77, 2, 20, 0.2f), 5);
  run_attention_on_host(given);
  AttentionCase other = given;
  for (std::int64_t i = 0; i < 77 * given.pitch; ++i) other.fused.set(i, NAN);
  run_attention_on_host(other);
  const auto same_second = [&](const Buffer& a, const Buffer& b, std::int64_t pitch) {
    for (std::int64_t i = 77 * pitch; i < 2 * 77 * pitch; ++i)
      if (!(std::isnan(a[i]) && std::isnan(b[i])) && a[i] != b[i]) return false;
    return true;
  };
  EXPECT_TRUE(same_second(given.gradient, other.gradient, given.pitch));
  EXPECT_TRUE(same_second(given.y, other.y, given.output_pitch));
}

TEST(HostAttention, shapes_that_the_host_lacks_are_named) {
  EXPECT_TRUE(causal_attention_fits_host(host_shape(1, 1024, 1, 24, 1.0f)));
  EXPECT_FALSE(causal_attention_fits_host(host_shape(1, 1025, 1, 24, 1.0f)));
  EXPECT_FALSE(causal_attention_fits_host(host_shape(1, 0, 1, 24, 1.0f)));
  EXPECT_FALSE(causal_attention_fits_host(host_shape(1, 8, 1, 24, 0.0f)));
  CausalAttentionShape narrow = host_shape(1, 8, 1, 32, 1.0f);
  narrow.element = Element::bf16;
  EXPECT_FALSE(causal_attention_fits_host(narrow));
}

}  // namespace
}  // namespace rung::kernels
