// The feed-forward block on the host against its definition in float64.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstring>

#include "rung/learn/kernels/feed_forward.h"
#include "tests/learn/kernels/feed_forward_case.h"

namespace rung::kernels {
namespace {

MemberValuesOf<float> floats_of_members(const MemberBuffer& buffer, std::int64_t first = 0) {
  return {static_cast<const float*>(buffer.numbers.data()) + first * buffer.stride, buffer.stride};
}

// The members from `first` on that the shape names.
FeedForwardOutputs on_host(const FeedForwardCase& given, const FeedForwardShape& shape,
                           std::int64_t first = 0) {
  FeedForwardOutputs out(shape, Element::f32);
  const std::int64_t skipped = first * shape.rows * shape.width;
  const FeedForwardWeightsOf<float> weights{
      floats_of_members(given.gain, first), floats_of_members(given.w1, first),
      floats_of_members(given.b1, first), floats_of_members(given.w2, first),
      floats_of_members(given.b2, first)};
  const auto* x = static_cast<const float*>(given.x.data()) + skipped;
  feed_forward_forward(shape, x, weights, out.y.floats());
  feed_forward_backward(shape, x, weights, static_cast<const float*>(given.dy.data()) + skipped,
                        {out.dx.floats(), out.dgain.floats(), out.dw1.floats(), out.db1.floats(),
                         out.dw2.floats(), out.db2.floats()});
  return out;
}

// A unit that rounding turns on or off is rarer than these numbers here.
constexpr double kHostTolerance = 2e-5;

TEST(HostFeedForward, a_wrong_bias_counts_as_wrong) {
  FeedForwardCase given({.rows = 9, .width = 24, .hidden = 40}, 3, Element::f32);
  const FeedForwardOutputs out = on_host(given, given.shape);
  EXPECT_LT(worst_distance(out, feed_forward(given, false)), kHostTolerance);
  given.b1.numbers.set(17, given.b1.numbers[17] + 0.1);
  EXPECT_GT(worst_distance(out, feed_forward(given, false)), 10 * kHostTolerance);
}

TEST(HostFeedForward, agrees_with_its_definition_at_sizes_that_fill_no_vector_and_no_block) {
  std::uint64_t seed = 1;
  for (const std::int64_t rows : {1, 5, 191, 192, 193, 400})
    for (const auto& [width, hidden] : {std::pair{1, 1}, {12, 48}, {16, 16}, {33, 65}, {64, 256}}) {
      if (rows > 200 && width == 64) continue;
      SCOPED_TRACE(fmt::format("rows={} width={} hidden={}", rows, width, hidden));
      const FeedForwardCase given({.members = 2, .rows = rows, .width = width, .hidden = hidden}, seed++,
                                  Element::f32);
      EXPECT_LT(worst_distance(on_host(given, given.shape), feed_forward(given, false)), kHostTolerance);
    }
}

TEST(HostFeedForward, a_member_alone_has_the_bits_it_has_among_others) {
  const FeedForwardCase given({.members = 3, .rows = 211, .width = 20, .hidden = 36}, 5, Element::f32);
  const FeedForwardOutputs all = on_host(given, given.shape);
  FeedForwardShape one = given.shape;
  one.members = 1;
  for (std::int64_t e = 0; e < 3; ++e) {
    const FeedForwardOutputs alone = on_host(given, one, e);
    const auto same = [e](const Buffer& among, const Buffer& single) {
      return std::memcmp(among.at(e * single.count()), single.data(), single.bytes()) == 0;
    };
    EXPECT_TRUE(same(all.y, alone.y) && same(all.dx, alone.dx) && same(all.dgain, alone.dgain) &&
                same(all.dw1, alone.dw1) && same(all.db1, alone.db1) && same(all.dw2, alone.dw2) &&
                same(all.db2, alone.db2))
        << e;
  }
}

}  // namespace
}  // namespace rung::kernels
