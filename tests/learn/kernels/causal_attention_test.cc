// The kernels of causal attention on an emulated multiprocessor (emulated_core.h), against float64.
#include "rung/learn/kernels/causal_attention.h"

#include <gtest/gtest.h>

#include "rung/learn/kernels/causal_attention_stream.cuh"
#include "tests/learn/kernels/attention_case.h"
#include "tests/learn/kernels/emulated_core.h"

namespace rung::kernels {
namespace {

EmulatedLaunch attention_launch(const CausalAttentionShape& shape, const AttentionPlan& plan, unsigned bytes,
                                bool backwards) {
  return {.blocks = static_cast<int>(shape.sequences * shape.heads) * plan.blocks,
          .threads = 32 * plan.warps,
          .shared = bytes,
          .backwards = backwards};
}

// Forward, then backward with what forward kept. The room is the kernel's own unless given.
template <int D, bool Whole>
void run_attention_forward(AttentionCase& given, const AttentionPlan& plan, bool backwards) {
  emulate(attention_launch(given.shape, plan, AttentionShared<D>(plan, false).size, backwards), [&] {
    attention_forward_block<EmulatedCore, D, Whole>(plan, given.inputs(), given.output(),
                                                    given.log_sums.floats());
  });
}
template <int D>
void run_attention_backward(AttentionCase& given, const AttentionPlan& plan, bool backwards) {
  emulate(attention_launch(given.shape, plan, AttentionShared<D>(plan, true).size, backwards), [&] {
    attention_backward_block<EmulatedCore, D>(plan, given.inputs(), given.output(), given.log_sums.floats(),
                                              given.output_gradient(), given.gradients());
  });
}
template <int D>
void run_attention_stream(AttentionCase& given, bool backwards) {
  const AttentionPlan plan = attention_stream_plan(given.shape);
  const std::int64_t items =
      given.shape.sequences * given.shape.heads * stream_positions(given.shape.positions);
  Buffer stats(Element::f32, 2 * items);
  stats.fill(NAN);
  emulate(
      {.blocks = static_cast<int>(items / kStatsRows<D>), .threads = 32 * plan.warps, .backwards = backwards},
      [&] {
        gather_stats<EmulatedCore, D>(plan, given.output(), given.output_gradient(), given.log_sums.floats(),
                                      stats.floats());
      });
  emulate(attention_launch(given.shape, plan, StreamShared<D>::kSize, backwards), [&] {
    attention_stream_block<EmulatedCore, D>(plan, given.inputs(), stats.floats(), given.output_gradient(),
                                            given.gradients());
  });
}
template <int D>
void run_attention(AttentionCase& given, bool backwards, const AttentionRoom* room) {
  for (Buffer* out : {&given.y, &given.gradient, &given.log_sums}) out->fill(NAN);
  AttentionPlan plan = attention_plan(given.shape, room ? *room : kForwardAttentionRoom);
  plan.blocks == 1 ? run_attention_forward<D, true>(given, plan, backwards)
                   : run_attention_forward<D, false>(given, plan, backwards);
  plan = attention_plan(given.shape, room ? *room : backward_attention_room(D, true));
  plan.blocks == 1 ? run_attention_backward<D>(given, plan, backwards)
                   : run_attention_stream<D>(given, backwards);
}
void run_attention(AttentionCase& given, bool backwards, const AttentionRoom* room = nullptr) {
  if (given.shape.size == 16) run_attention<16>(given, backwards, room);
  if (given.shape.size == 32) run_attention<32>(given, backwards, room);
  if (given.shape.size == 64) run_attention<64>(given, backwards, room);
}

void expect_attention_near(const AttentionCase& given) {
  const AttentionReference expected = attention_reference(given);
  EXPECT_LT(output_distance(given, given.y, expected), kAttentionTolerance);
  EXPECT_LT(distance(given.log_sums, expected.log_sums, given.log_sums.count()), kLogSumTolerance);
  for (int which = 0; which < 3; ++which)
    EXPECT_LT(gradient_distance(given, given.gradient, expected, which), kAttentionTolerance) << which;
  EXPECT_TRUE(gaps_untouched(given.y, expected.y));
  EXPECT_TRUE(gaps_untouched(given.gradient, expected.gradient));
}

std::string attention_words(const CausalAttentionShape& shape) {
  return "T=" + std::to_string(shape.positions) + " H=" + std::to_string(shape.heads) +
         " d=" + std::to_string(shape.size);
}

TEST(CausalAttention, a_wrong_scale_is_seen) {
  AttentionCase given({.sequences = 1, .positions = 40, .heads = 1, .size = 16, .tau = 0.25f}, 1);
  run_attention(given, false);
  given.shape.tau = 0.26f;
  const AttentionReference other = attention_reference(given);
  EXPECT_GT(output_distance(given, given.y, other), kAttentionTolerance);
  EXPECT_GT(distance(given.log_sums, other.log_sums, given.log_sums.count()), kLogSumTolerance);
  for (int which = 0; which < 3; ++which)
    EXPECT_GT(gradient_distance(given, given.gradient, other, which), kAttentionTolerance) << which;
}

TEST(CausalAttention, agrees_with_float64_and_leaves_gaps_alone) {
  std::uint64_t seed = 1;
  for (const CausalAttentionShape& shape : attention_shapes()) {
    SCOPED_TRACE(attention_words(shape));
    AttentionCase given(shape, seed++);
    if (shape.heads == 1 && shape.positions > 65) continue;  // two heads say more, in the same time
    run_attention(given, seed % 2 == 0);
    expect_attention_near(given);
  }
}

TEST(CausalAttention, heads_shared_among_blocks_agree_with_float64) {
  for (const std::int64_t size : {16, 32, 64})
    for (const std::int64_t positions : {129, 257, 390}) {
      const CausalAttentionShape shape{
          .sequences = 1, .positions = positions, .heads = 1, .size = size, .tau = 0.2f};
      SCOPED_TRACE(attention_words(shape));
      AttentionCase given(shape, 7);
      const AttentionRoom small{128, 128, 2};
      run_attention(given, true, &small);
      expect_attention_near(given);
    }
}

// Scores that grow along the keys: what is subtracted from them has to follow, in small steps and in large ones.
TEST(CausalAttention, scores_that_grow_agree_with_float64) {
  for (const double growth : {0.01, 0.3}) {
    AttentionCase given({.sequences = 1, .positions = 200, .heads = 1, .size = 16, .tau = 0.25f}, 9);
    for (std::int64_t t = 0; t < 200; ++t) {
      given.fused.set(given.place(0, 0, t, 0), 4.0);
      given.fused.set(given.place(1, 0, t, 0), growth * static_cast<double>(t));
    }
    run_attention(given, false);
    const AttentionReference expected = attention_reference(given);
    EXPECT_LT(output_distance(given, given.y, expected), kAttentionTolerance);
    EXPECT_LT(distance(given.log_sums, expected.log_sums, given.log_sums.count()), kLogSumTolerance);
    // dq cancels where keys are large and nearly alike: rounding s is seen there.
    for (const int which : {1, 2})
      EXPECT_LT(gradient_distance(given, given.gradient, expected, which), kAttentionTolerance) << which;
  }
}

TEST(CausalAttention, large_scores_do_not_overflow) {
  AttentionCase given({.sequences = 1, .positions = 100, .heads = 1, .size = 32, .tau = 30.0f}, 3);
  run_attention(given, false);
  for (std::int64_t t = 0; t < 100; ++t)
    for (std::int64_t c = 0; c < 32; ++c) {
      EXPECT_TRUE(std::isfinite(given.y[given.output_place(0, t, 0) + c]));
      for (int which = 0; which < 3; ++which)
        EXPECT_TRUE(std::isfinite(given.gradient[given.place(which, 0, t, 0) + c]));
    }
}

// Neither the order in which lanes and warps run nor the other sequences change a bit.
TEST(CausalAttention, bits_depend_on_the_sequence_alone) {
  for (const auto& [positions, size] : {std::pair{77, 32}, {300, 32}, {300, 64}}) {
    AttentionCase given({.sequences = 2, .positions = positions, .heads = 1, .size = size, .tau = 0.2f}, 5);
    run_attention(given, false);
    AttentionCase other = given;
    for (std::int64_t i = 0; i < positions * given.pitch; ++i) other.fused.set(i, 0.5);
    run_attention(other, true);
    for (std::int64_t i = positions * given.pitch; i < 2 * positions * given.pitch; ++i)
      ASSERT_TRUE(std::isnan(given.gradient[i]) || given.gradient[i] == other.gradient[i]) << i;
    for (std::int64_t i = positions * given.output_pitch; i < 2 * positions * given.output_pitch; ++i)
      ASSERT_TRUE(std::isnan(given.y[i]) || given.y[i] == other.y[i]) << i;
  }
}

TEST(CausalAttention, shapes_that_the_kernels_lack_are_named) {
  const CausalAttentionShape fine{.sequences = 1, .positions = 4096, .heads = 1, .size = 64, .tau = 1.0f};
  EXPECT_TRUE(causal_attention_has(fine));
  for (const auto change :
       {+[](CausalAttentionShape& s) { s.positions = 4097; },
        +[](CausalAttentionShape& s) { s.positions = 0; }, +[](CausalAttentionShape& s) { s.size = 24; },
        +[](CausalAttentionShape& s) { s.size = 128; },
        +[](CausalAttentionShape& s) { s.element = Element::f32; },
        +[](CausalAttentionShape& s) { s.tau = 0.0f; }, +[](CausalAttentionShape& s) { s.tau = NAN; },
        +[](CausalAttentionShape& s) { s.sequences = std::int64_t{1} << 26; }}) {
    CausalAttentionShape bad = fine;
    change(bad);
    EXPECT_FALSE(causal_attention_has(bad));
  }
}

}  // namespace
}  // namespace rung::kernels
