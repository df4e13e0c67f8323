// Log-linear attention on the host against its definition in float64.
#include "rung/learn/kernels/host_log_linear.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/learn/kernels/log_linear_case.h"

namespace rung::kernels {
namespace {

constexpr double kHostLogLinearTolerance = 2e-5;

void attend_on_host(LogLinearCase& given) {
  const LogLinearShape& s = given.shape;
  for (Buffer* out : {&given.y, &given.dshare, &given.dlog_decay}) out->fill(NAN);
  given.gradient.fill(0.0);
  log_linear_forward(s, given.inputs(), whole(given.y.data(), s.positions, s.heads, s.value_size));
  log_linear_backward(
      s, given.inputs(), whole(given.dy.data(), s.positions, s.heads, s.value_size),
      {given.slice<MutableSlice>(given.gradient, 0), given.slice<MutableSlice>(given.gradient, 1),
       given.slice<MutableSlice>(given.gradient, 2), given.dshare.floats(),
       given.decays ? given.dlog_decay.floats() : nullptr});
}

TEST(HostLogLinear, agrees_with_float64_with_decays_and_without) {
  std::uint64_t seed = 1;
  for (const std::int64_t positions : {1, 2, 15, 16, 17, 40, 64, 129})
    for (const auto& [keys, values] : {std::pair{1, 1}, {5, 9}, {16, 16}, {32, 20}})
      for (const bool decays : {false, true}) {
        SCOPED_TRACE(fmt::format("T={} dk={} dv={} decay={}", positions, keys, values, decays));
        LogLinearCase given({2, positions, 2, keys, values, log_linear_levels(positions) + 1}, decays,
                            seed++);
        attend_on_host(given);
        const LogLinearReference expected = attend(given);
        EXPECT_LT(distance(given.y, expected.y, given.y.count()), kHostLogLinearTolerance);
        EXPECT_LT(distance(given.gradient, expected.gradient, given.gradient.count()),
                  kHostLogLinearTolerance);
        EXPECT_LT(distance(given.dshare, expected.dshare, given.dshare.count()), kHostLogLinearTolerance);
        if (decays) {
          EXPECT_LT(distance(given.dlog_decay, expected.dlog_decay, given.dlog_decay.count()), 1e-4);
        }
      }
}

TEST(HostLogLinear, a_wrong_share_is_seen) {
  LogLinearCase given({1, 40, 1, 8, 8, 7}, false, 3);
  attend_on_host(given);
  given.share.set(39 * 7 + 6, given.share[39 * 7 + 6] + 0.1);
  const LogLinearReference other = attend(given);
  EXPECT_GT(distance(given.y, other.y, given.y.count()), kHostLogLinearTolerance);
  EXPECT_GT(distance(given.gradient, other.gradient, given.gradient.count()), kHostLogLinearTolerance);
}

}  // namespace
}  // namespace rung::kernels
