// The levels of log-linear attention: binary digits of i xor j are the buckets that the set bits of i cut. Its kernels
// on an emulated multiprocessor (emulated_core.h), against float64.
#include "rung/learn/kernels/log_linear_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "rung/learn/kernels/log_linear_gradient.cuh"
#include "tests/learn/kernels/emulated_core.h"
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

template <int D>
EmulatedLaunch tile_launch(const LogLinearShape& s, const LogLinearPlan& plan, bool backward,
                           bool backwards) {
  return {.blocks = static_cast<int>(s.sequences * s.heads) * plan.tiles.blocks,
          .threads = 32 * plan.tiles.warps,
          .shared = LogLinearShared<D>(plan, backward).size,
          .backwards = backwards};
}
template <int D, bool Whole>
void run_tiles_forward(LogLinearCase& given, const LogLinearPlan& plan, const float* prefix, bool backwards) {
  const LogLinearShape& s = given.shape;
  emulate(tile_launch<D>(s, plan, false, backwards), [&] {
    log_linear_forward_block<EmulatedCore, D, Whole>(
        plan, given.inputs(), whole(given.y.data(), s.positions, s.heads, s.value_size), prefix);
  });
}
template <int D, bool Whole>
void run_tiles_backward(LogLinearCase& given, const LogLinearPlan& plan, const float* prefix, float* inner,
                        bool backwards) {
  const LogLinearShape& s = given.shape;
  const LogLinearGradients out{given.slice<MutableSlice>(given.gradient, 0),
                               given.slice<MutableSlice>(given.gradient, 1),
                               given.slice<MutableSlice>(given.gradient, 2), given.dshare.floats(), nullptr};
  const void* dy = given.dy.data();
  emulate(tile_launch<D>(s, plan, true, backwards), [&] {
    log_linear_backward_block<EmulatedCore, D, Whole>(
        plan, given.inputs(), whole(dy, s.positions, s.heads, s.value_size), out, prefix, inner);
  });
}
// Forward and backward, with the sums of decays that the device takes in kernels of their own.
template <int D>
void run_tiles(LogLinearCase& given, bool packed, bool backwards, bool large = true) {
  const LogLinearShape& s = given.shape;
  for (Buffer* out : {&given.y, &given.dshare, &given.dlog_decay}) out->fill(NAN);
  given.gradient.fill(0.0);
  std::vector<float> prefix(static_cast<std::size_t>(given.log_decay.count())),
      inner(prefix.size(), std::numeric_limits<float>::quiet_NaN());
  const auto scalar = [&](std::int64_t n, std::int64_t t, std::int64_t h) {
    return (n * s.positions + t) * s.heads + h;
  };
  for (std::int64_t n = 0; n < s.sequences; ++n)
    for (std::int64_t h = 0; h < s.heads; ++h) {
      double sum = 0.0;
      for (std::int64_t t = 0; t < s.positions; ++t)
        prefix[(n * s.heads + h) * s.positions + t] =
            static_cast<float>(sum += given.log_decay[scalar(n, t, h)]);
    }
  const float* decays = given.decays ? prefix.data() : nullptr;
  float* sums = given.decays ? inner.data() : nullptr;
  LogLinearPlan plan = log_linear_plan(s, log_linear_room(D, false, large), packed);
  plan.tiles.blocks == 1 ? run_tiles_forward<D, true>(given, plan, decays, backwards)
                         : run_tiles_forward<D, false>(given, plan, decays, backwards);
  plan = log_linear_plan(s, log_linear_room(D, true, large), packed);
  plan.tiles.blocks == 1 ? run_tiles_backward<D, true>(given, plan, decays, sums, backwards)
                         : run_tiles_backward<D, false>(given, plan, decays, sums, backwards);
  if (!given.decays) return;
  for (std::int64_t n = 0; n < s.sequences; ++n)
    for (std::int64_t h = 0; h < s.heads; ++h) {
      double sum = 0.0;
      for (std::int64_t t = s.positions - 1; t >= 0; --t)
        given.dlog_decay.set(scalar(n, t, h), sum += inner[scalar(n, t, h)]);
    }
}
void run_tiles(LogLinearCase& given, bool packed, bool backwards, bool large = true) {
  const std::int64_t size = std::max(given.shape.key_size, given.shape.value_size);
  if (size <= 16)
    run_tiles<16>(given, packed, backwards, large);
  else if (size <= 32)
    run_tiles<32>(given, packed, backwards, large);
  else
    run_tiles<64>(given, packed, backwards, large);
}

void expect_log_linear_near(const LogLinearCase& given, double decay_tolerance = 1e-5) {
  const LogLinearReference expected = attend(given);
  EXPECT_LT(distance(given.y, expected.y, given.y.count()), tolerance(Element::bf16));
  EXPECT_LT(distance(given.gradient, expected.gradient, given.gradient.count()), tolerance(Element::bf16));
  EXPECT_LT(distance(given.dshare, expected.dshare, given.dshare.count()), 1e-5);
  if (given.decays) {
    EXPECT_LT(distance(given.dlog_decay, expected.dlog_decay, given.dlog_decay.count()), decay_tolerance);
  }
}

TEST(LogLinear, tiles_with_a_wrong_level_or_decay_are_seen) {
  LogLinearCase given({1, 40, 1, 16, 16, 7, Element::bf16}, true, 2, 8);
  run_tiles(given, true, false);
  expect_log_linear_near(given);
  for (Buffer* changed : {&given.share, &given.log_decay}) {
    LogLinearCase other = given;
    Buffer& wrong = changed == &given.share ? other.share : other.log_decay;
    const std::int64_t at = changed == &given.share ? 33 * 7 + 6 : 20;  // the farthest bucket of position 33
    wrong.set(at, wrong[at] - 0.5);
    const LogLinearReference expected = attend(other);
    EXPECT_GT(distance(given.y, expected.y, given.y.count()), tolerance(Element::bf16));
    EXPECT_GT(distance(given.gradient, expected.gradient, given.gradient.count()), tolerance(Element::bf16));
    EXPECT_GT(distance(given.dlog_decay, expected.dlog_decay, given.dlog_decay.count()), 1e-5);
  }
}

TEST(LogLinear, tiles_agree_with_float64) {
  std::uint64_t seed = 1;
  for (const LogLinearShape& shape : log_linear_shapes(Element::bf16))
    for (const bool decays : {false, true})
      for (const bool packed : {false, true}) {
        if (packed && (shape.key_size % 8 != 0 || shape.value_size % 8 != 0)) continue;
        if (shape.positions > 200 && packed != decays) continue;  // each once, in half the time
        SCOPED_TRACE(::testing::Message() << "T=" << shape.positions << " dk=" << shape.key_size
                                          << " dv=" << shape.value_size << " decay=" << decays);
        LogLinearCase given(shape, decays, seed++, packed ? 8 : 1);
        run_tiles(given, packed, seed % 2 == 0, seed % 4 < 2);
        expect_log_linear_near(given);
      }
}

// What decays within a square, between squares and between chunks is beyond float32's range.
TEST(LogLinear, strong_decays_neither_overflow_nor_vanish_nearby) {
  for (const double decay : {-3.0, -40.0}) {
    LogLinearCase given({1, 300, 1, 16, 16, 10, Element::bf16}, true, 5, 8);
    given.log_decay.fill(decay);
    run_tiles(given, true, false);
    expect_log_linear_near(given, 1e-4);  // A reaches -900 in float32, in steps of 6e-5
  }
}

// Neither the order in which lanes and warps run nor the other sequences change a bit.
TEST(LogLinear, bits_of_tiles_depend_on_the_sequence_alone) {
  for (const std::int64_t positions : {77, 270}) {
    LogLinearCase given({2, positions, 1, 16, 16, 10, Element::bf16}, true, 4, 8);
    run_tiles(given, true, false);
    LogLinearCase other = given;
    for (std::int64_t i = 0; i < positions * given.pitch; ++i) other.fused.set(i, 0.5);
    run_tiles(other, true, true);
    for (const auto of :
         {&LogLinearCase::y, &LogLinearCase::gradient, &LogLinearCase::dshare, &LogLinearCase::dlog_decay})
      for (std::int64_t i = (given.*of).count() / 2; i < (given.*of).count(); ++i)
        ASSERT_EQ((given.*of)[i], (other.*of)[i]) << i;
  }
}

}  // namespace
}  // namespace rung::kernels
