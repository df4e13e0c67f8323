// Linear attention in both of its forms, over whole models: equal where sums are exact or wrap, and not where the
// state is rounded. linear_forms_test.cc compares one layer with formulas of its own.
#include "rung/exact/parallel_form.h"

#include <gtest/gtest.h>

#include "rung/base/random.h"
#include "rung/exact/random_model.h"
#include "tests/exact/hand_made.h"

namespace rung {
namespace {

constexpr std::int64_t kFormTokens = 13;

Weights form_model(const std::string& line, Accumulator accumulator, std::uint64_t seed) {
  RandomModel model;
  auto stack = parse_stack(line);
  EXPECT_TRUE(stack) << line;
  model.architecture.stack = *stack;
  auto& d = model.architecture.dimensions;
  d.width = 6;
  d.heads = 2;
  d.context = kFormTokens;
  d.precision.bits = 6;
  if (seed % 2 == 1) d.norm = Norm::rms;
  model.fields = {FieldSpec{"token", 5, 1, 0}};
  model.output = {OutputSpec::Kind::logits, 5, 0};
  model.accumulator = accumulator;
  model.seed = seed;
  auto weights = random_weights(model);
  EXPECT_TRUE(weights) << line << ": " << (weights ? "" : weights.error().message);
  return *weights;
}

Prompt form_prompt(std::uint64_t seed) {
  Random random(seed);
  Prompt prompt{kFormTokens, {{}}};
  for (std::int64_t t = 0; t < kFormTokens; ++t)
    prompt.fields[0].push_back(static_cast<std::int64_t>(random.below(5)));
  return prompt;
}

FormComparison compared(const Weights& weights, const Prompt& prompt) {
  const auto machine = Machine::load(weights, {.positions = prompt.positions});
  EXPECT_TRUE(machine) << (machine ? "" : machine.error().message);
  const auto comparison = compare_forms(**machine, weights.fields, prompt);
  EXPECT_TRUE(comparison) << (comparison ? "" : comparison.error().message);
  return *comparison;
}

TEST(parallel_form, equals_the_recurrence_bit_for_bit_with_exact_and_wrapping_sums) {
  for (const std::string line :
       {"linear", "linear(normalised=no)", "linear(feature=identity,normalised=no)", "linear(feature=relu)",
        "linear(feature=exp)", "linear(feature=taylor2)", "linear(conv=3)", "linear(vdim=2)*3",
        "linear+full+linear", "heads(full:1,linear:1)", "delta(form=plain)+linear",
        "linear+none+mamba2(form=plain)"})
    for (const auto accumulator : {Accumulator::exact, Accumulator::wrap})
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const Weights weights = form_model(line, accumulator, seed);
        const auto comparison = compared(weights, form_prompt(seed));
        EXPECT_FALSE(comparison.first) << line << " seed " << seed;
        EXPECT_FALSE(comparison.rounds);
        EXPECT_EQ(comparison.rows,
                  kFormTokens * static_cast<std::int64_t>(weights.architecture.stack.layers.size()));
      }
}

TEST(parallel_form, differs_from_the_recurrence_when_random_states_are_rounded) {
  int differ = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto comparison = compared(form_model("linear", Accumulator::round, seed), form_prompt(seed));
    EXPECT_TRUE(comparison.rounds);
    differ += comparison.first.has_value();
  }
  EXPECT_GT(differ, 5);
}

HandMade rounding_layer() {
  HandMade layer("linear(heads=1,dim=1,vdim=1,feature=identity,normalised=no)",
                 {{"q", 1}, {"k", 1}, {"v", 1}});
  layer.weights.accumulator = Accumulator::round;
  layer.scalar("y.bits", 48);
  return layer;
}

TEST(parallel_form, shows_where_a_rounded_state_parts_from_its_sum) {
  // update.shift = 1, q = k = v = 1: the recurrence adds 1/2 -> 0 every time. At once: 1/2 -> 0, 2/2 = 1.
  HandMade layer = rounding_layer();
  layer.scalar("update.shift", 1);
  const auto comparison = compared(layer.weights, layer.prompt_of(std::vector<Numbers>(3, Numbers{1, 1, 1})));
  ASSERT_TRUE(comparison.first);
  EXPECT_EQ(comparison.first->layer, 0);
  EXPECT_EQ(comparison.first->position, 1);
  EXPECT_EQ(comparison.first->coordinate, 0);
  EXPECT_EQ(comparison.first->parallel - comparison.first->recurrent, 1);
}

TEST(parallel_form, shows_where_a_saturated_state_parts_from_its_sum) {
  // a = 4, values 7, 7, -7: step by step 7, 7, 0; at once 7, 7 (14 is cut), 7.
  HandMade layer = rounding_layer();
  layer.dimensions().accumulator_bits = 4;
  const auto comparison = compared(layer.weights, layer.prompt_of({{1, 1, 7}, {1, 1, 7}, {1, 1, -7}}));
  ASSERT_TRUE(comparison.first);
  EXPECT_EQ(comparison.first->position, 2);
  EXPECT_EQ(comparison.first->parallel - comparison.first->recurrent, 7);
}

TEST(parallel_form, agrees_with_a_rounding_accumulator_that_has_nothing_to_round) {
  HandMade layer = rounding_layer();
  layer.dimensions().accumulator_bits = 20;
  EXPECT_FALSE(compared(layer.weights, layer.prompt_of({{1, 1, 7}, {2, 1, 7}, {1, 3, -7}})).first);
}

TEST(parallel_form, wraps_a_sum_that_leaves_its_width_as_the_steps_do) {
  HandMade layer = rounding_layer();
  layer.weights.accumulator = Accumulator::wrap;
  layer.dimensions().accumulator_bits = 4;
  const std::vector<Numbers> rows{{3, 1, 5}, {3, 1, 5}};
  EXPECT_EQ(layer.outputs(rows)[1][0], -18);  // 10 wraps to -6
  EXPECT_FALSE(compared(layer.weights, layer.prompt_of(rows)).first);
}

TEST(parallel_form, is_refused_where_there_is_none) {
  const Prompt prompt = form_prompt(1);
  for (const std::string line : {"full", "delta(form=plain)", "loglinear", "mamba2(form=plain)+full"}) {
    const Weights weights = form_model(line, Accumulator::wrap, 0);
    const auto machine = Machine::load(weights, {.positions = kFormTokens});
    const auto comparison = compare_forms(**machine, weights.fields, prompt);
    ASSERT_FALSE(comparison) << line;
    EXPECT_NE(comparison.error().message.find("no layer has a parallel form"), std::string::npos);
  }
  const Weights weights = form_model("linear", Accumulator::exact, 0);
  const auto reals = Machine::load(weights, {.positions = kFormTokens, .unrounded = true});
  EXPECT_FALSE(compare_forms(**reals, weights.fields, prompt));
}

}  // namespace
}  // namespace rung
