// The feed-forward block against its definition in float64: the device's kernels, on an emulated multiprocessor.
#include "rung/learn/kernels/feed_forward_gradient.cuh"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/learn/kernels/emulated_core.h"
#include "tests/learn/kernels/feed_forward_case.h"

namespace rung::kernels {
namespace {

MemberValues values_of(const MemberBuffer& buffer) {
  return {static_cast<const Bf16*>(buffer.numbers.data()), buffer.stride};
}
FeedForwardWeights weights_of(const FeedForwardCase& given) {
  return {values_of(given.gain), values_of(given.w1), values_of(given.b1), values_of(given.w2),
          values_of(given.b2)};
}

template <int W, Activation kind>
FeedForwardOutputs emulated(const FeedForwardCase& given, int forward_blocks, bool backwards) {
  const FeedForwardShape& shape = given.shape;
  const int hidden = static_cast<int>(shape.hidden), members = static_cast<int>(shape.members);
  FeedForwardOutputs out(shape);
  const auto place = [](Buffer& buffer) { return static_cast<Bf16*>(buffer.data()); };
  const auto *x = static_cast<const Bf16*>(given.x.data()), *dy = static_cast<const Bf16*>(given.dy.data());
  emulate({forward_blocks, members, kForwardThreads, ForwardShared(W, hidden).size, backwards}, [&] {
    feed_forward_tiles<EmulatedCore, W, kind>(shape, x, weights_of(given), place(out.y), forward_blocks);
  });
  const int blocks = static_cast<int>(backward_blocks(shape.rows));
  std::vector<float> scratch(static_cast<std::size_t>(members * blocks * block_floats(W, hidden)),
                             std::nanf(""));
  emulate({blocks, members, kBackwardThreads, BackwardShared(W, hidden).size, backwards}, [&] {
    feed_forward_gradient_tiles<EmulatedCore, W, kind>(shape, x, weights_of(given), dy, place(out.dx),
                                                       scratch.data(), blocks,
                                                       static_cast<int>(backward_block_rows(shape.rows)));
  });
  const FeedForwardGradients to{place(out.dx),  place(out.dgain), place(out.dw1),
                                place(out.db1), place(out.dw2),   place(out.db2)};
  for (int e = 0; e < members; ++e)
    for (int i = 0; i < part_floats(W, hidden) + 2 * W; ++i)
      sum_feed_forward_blocks(shape, scratch.data(), to, blocks, e, i);
  return out;
}

FeedForwardOutputs emulated(const FeedForwardCase& given, int forward_blocks = 2, bool backwards = false) {
  const bool narrow = given.shape.width == 32;
  switch (given.shape.activation) {
    case Activation::relu:
      return (narrow ? emulated<32, Activation::relu> : emulated<64, Activation::relu>)(given, forward_blocks,
                                                                                        backwards);
    case Activation::gelu:
      return (narrow ? emulated<32, Activation::gelu> : emulated<64, Activation::gelu>)(given, forward_blocks,
                                                                                        backwards);
    case Activation::silu:
      break;
  }
  return (narrow ? emulated<32, Activation::silu> : emulated<64, Activation::silu>)(given, forward_blocks,
                                                                                    backwards);
}

#if defined(__SANITIZE_ADDRESS__)
#define NEEDS_FIBERS() GTEST_SKIP() << "the sanitizer does not follow fibers"
#else
#define NEEDS_FIBERS() static_cast<void>(0)
#endif

TEST(FeedForward, a_wrong_sign_of_one_gradient_counts_as_wrong) {
  const FeedForwardCase given({.members = 1, .rows = 5, .width = 32, .hidden = 32}, 3);
  FeedForwardReference expected = feed_forward(given);
  FeedForwardOutputs out(given.shape);
  for (std::int64_t i = 0; i < out.y.count(); ++i) out.y.set(i, expected.y[i]), out.dx.set(i, expected.dx[i]);
  for (std::int64_t i = 0; i < 32; ++i) {
    out.dgain.set(i, expected.dgain[i]), out.db1.set(i, expected.db1[i]), out.db2.set(i, expected.db2[i]);
  }
  EXPECT_FALSE(worst_distance(out, expected) < kFeedForwardTolerance);  // NaN where nothing was written
  for (std::int64_t i = 0; i < 32 * 32; ++i) out.dw1.set(i, expected.dw1[i]), out.dw2.set(i, expected.dw2[i]);
  EXPECT_LT(worst_distance(out, expected), kFeedForwardTolerance);
  out.db1.set(7, -expected.db1[7]);
  EXPECT_GT(worst_distance(out, expected), kFeedForwardTolerance);
}

TEST(FeedForward, the_reference_has_the_gradient_of_its_differences) {
  for (const Activation activation : {Activation::relu, Activation::gelu, Activation::silu}) {
    FeedForwardCase given({.members = 2, .rows = 3, .width = 32, .hidden = 32, .activation = activation}, 2);
    const FeedForwardReference expected = feed_forward(given, false);
    const auto loss = [&] {
      const FeedForwardReference out = feed_forward(given, false);
      double sum = 0.0;
      for (std::int64_t i = 0; i < given.dy.count(); ++i) sum += out.y[i] * given.dy[i];
      return sum;
    };
    // A step that bfloat16 keeps: up and down to its next numbers but one.
    const auto slope = [&](Buffer& buffer, std::int64_t i) {
      const double before = buffer[i];
      buffer.set(i, before + std::abs(before) / 64);
      const double up = loss(), high = buffer[i];
      buffer.set(i, before - std::abs(before) / 64);
      const double slope = (up - loss()) / (high - buffer[i]);
      buffer.set(i, before);
      return slope;
    };
    for (std::int64_t i = 0; i < 6; ++i) {
      const std::int64_t e = i % 2;
      const auto check = [&](const char* name, double differences, double derivative) {
        EXPECT_NEAR(differences, derivative, 0.02 * std::max(1.0, std::abs(derivative)))
            << name << " " << i << " " << name_of(activation);
      };
      check("x", slope(given.x, 17 * i), expected.dx[17 * i]);
      check("gain", slope(given.gain.numbers, e * given.gain.stride + i), expected.dgain[e * 32 + i]);
      check("w1", slope(given.w1.numbers, e * given.w1.stride + 37 * i), expected.dw1[e * 1024 + 37 * i]);
      check("b1", slope(given.b1.numbers, e * given.b1.stride + i), expected.db1[e * 32 + i]);
      check("w2", slope(given.w2.numbers, e * given.w2.stride + 37 * i), expected.dw2[e * 1024 + 37 * i]);
      check("b2", slope(given.b2.numbers, e * given.b2.stride + i), expected.db2[e * 32 + i]);
    }
  }
}

TEST(FeedForward, columns_have_a_place_each) {
  for (const int width : {32, 64}) {
    std::vector<bool> taken(static_cast<std::size_t>(width));
    for (int c = 0; c < width; ++c) {
      ASSERT_LT(place_of(c), width);
      EXPECT_FALSE(taken[static_cast<std::size_t>(place_of(c))]);
      taken[static_cast<std::size_t>(place_of(c))] = true;
    }
  }
}

// RUNG_ALL_FEED_FORWARD=1: every combination of sizes, in minutes.
TEST(FeedForward, agrees_with_its_definition_forward_and_backward) {
  NEEDS_FIBERS();
  std::vector<FeedForwardShape> shapes{
      {.members = 1, .rows = 1, .width = 64, .hidden = 32, .activation = Activation::silu},
      {.members = 1, .rows = 17, .width = 32, .hidden = 256, .activation = Activation::relu},
      {.members = 3, .rows = 128, .width = 32, .hidden = 96, .activation = Activation::gelu},
      {.members = 2, .rows = 200, .width = 64, .hidden = 64, .activation = Activation::relu},
      {.members = 1, .rows = 553, .width = 32, .hidden = 32, .activation = Activation::silu}};
  if (std::getenv("RUNG_ALL_FEED_FORWARD")) {
    for (const std::int64_t members : {1, 3})
      for (const std::int64_t rows : {1, 17, 128, 200, 333})
        for (const std::int64_t hidden : {32, 64, 128, 160, 256})
          for (const std::int64_t width : {32, 64})
            for (const Activation activation : {Activation::relu, Activation::gelu, Activation::silu})
              shapes.push_back({members, rows, width, hidden, activation});
  }
  for (const FeedForwardShape& shape : shapes) {
    SCOPED_TRACE(fmt::format("members={} rows={} width={} hidden={} {}", shape.members, shape.rows,
                             shape.width, shape.hidden, name_of(shape.activation)));
    const FeedForwardCase given(shape, 5);
    EXPECT_LT(worst_distance(emulated(given), feed_forward(given)), kFeedForwardTolerance);
  }
}

TEST(FeedForward, has_the_same_bits_in_any_order_of_threads_and_for_a_member_alone) {
  NEEDS_FIBERS();
  const FeedForwardCase given({.members = 2, .rows = 150, .width = 32, .hidden = 64}, 8);
  const FeedForwardOutputs one = emulated(given, 1), other = emulated(given, 3, true);
  FeedForwardCase last({.members = 1, .rows = 150, .width = 32, .hidden = 64}, 8);
  for (std::int64_t i = 0; i < last.x.count(); ++i) {
    last.x.set(i, given.x[last.x.count() + i]);
    last.dy.set(i, given.dy[last.x.count() + i]);
  }
  const auto take = [](MemberBuffer& to, const MemberBuffer& from) {
    for (std::int64_t i = 0; i < to.size; ++i) to.numbers.set(i, from.at(1, i));
  };
  take(last.gain, given.gain), take(last.w1, given.w1), take(last.b1, given.b1), take(last.w2, given.w2);
  take(last.b2, given.b2);
  const FeedForwardOutputs alone = emulated(last);
  const auto compare = [](const Buffer& a, const Buffer& b, const Buffer& c) {
    for (std::int64_t i = 0; i < a.count(); ++i) ASSERT_EQ(a[i], b[i]) << i;
    for (std::int64_t i = 0; i < c.count(); ++i) ASSERT_EQ(a[c.count() + i], c[i]) << i;
  };
  compare(one.y, other.y, alone.y), compare(one.dx, other.dx, alone.dx);
  compare(one.dgain, other.dgain, alone.dgain), compare(one.dw1, other.dw1, alone.dw1);
  compare(one.db1, other.db1, alone.db1), compare(one.dw2, other.dw2, alone.dw2);
  compare(one.db2, other.db2, alone.db2);
}

}  // namespace
}  // namespace rung::kernels
