// The levels of log-linear attention: binary digits of i xor j are the buckets that the set bits of i cut.
#include "rung/learn/kernels/log_linear_attention.h"

#include <gtest/gtest.h>

#include "tests/learn/kernels/log_linear_case.h"

namespace rung::kernels {
namespace {

TEST(LogLinear, levels_are_the_buckets_of_the_set_bits) {
  for (std::int64_t i = 0; i < 300; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      ASSERT_EQ(log_linear_level(i, j), bucket_level(i, j)) << i << " " << j;
      ASSERT_LT(log_linear_level(i, j), log_linear_levels(i + 1));
    }
  EXPECT_EQ(log_linear_levels(1), 1);
  EXPECT_EQ(log_linear_levels(2), 2);
  EXPECT_EQ(log_linear_levels(256), 9);
}

TEST(LogLinear, the_reference_has_the_gradient_of_its_differences) {
  LogLinearCase given({1, 7, 1, 2, 3, 4, Element::f32}, true, 3);
  const LogLinearReference expected = attend(given);
  const auto loss = [&] {
    const LogLinearReference out = attend(given);
    double sum = 0.0;
    for (std::int64_t i = 0; i < given.dy.count(); ++i) sum += out.y[i] * given.dy[i];
    return sum;
  };
  const auto check = [&](Buffer& buffer, std::int64_t i, double slope) {
    EXPECT_NEAR(difference_slope(buffer, i, loss), slope, 1e-3) << i;
  };
  for (std::int64_t i = 0; i < given.fused.count(); ++i) check(given.fused, i, expected.gradient[i]);
  for (std::int64_t i = 0; i < given.share.count(); ++i) check(given.share, i, expected.dshare[i]);
  for (std::int64_t i = 0; i < given.log_decay.count(); ++i)
    check(given.log_decay, i, expected.dlog_decay[i]);
}

}  // namespace
}  // namespace rung::kernels
