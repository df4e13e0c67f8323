// Where the heads of constructions look, against what their proofs say.
#include "rung/exact/attention_pattern.h"

#include <gtest/gtest.h>

#include <numeric>

#include "rung/constructions/construction.h"
#include "rung/exact/machine.h"

namespace rung {
namespace {

std::size_t strongest(const std::vector<double>& row) {
  return static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

TEST(AttentionPattern, refuses_encoders_and_long_prompts) {
  const auto encoder =
      build_construction(
          {.name = "seqcomp", .sizes = {{"L", 2}, {"m", 2}, {"n1", 2}}, .options = {{"encoder", "yes"}}})
          .value();
  EXPECT_FALSE(
      attention_patterns(encoder.weights, encoder.task->generate(Variant::uniform, 1, 0).prompt).ok());
  const auto eva = build_construction({.name = "eva", .sizes = {{"n", 600}}}).value();
  EXPECT_FALSE(attention_patterns(eva.weights, eva.task->generate(Variant::uniform, 1, 0).prompt).ok());
}

TEST(AttentionPattern, eva_looks_at_its_argument_with_more_than_half) {
  const auto made = build_construction({.name = "eva", .sizes = {{"n", 7}}}).value();
  for (std::uint64_t index = 0; index < 20; ++index) {
    const Instance instance = made.task->generate(Variant::uniform, 1, index);
    const auto patterns = attention_patterns(made.weights, instance.prompt).value();
    ASSERT_EQ(patterns.size(), 1u);
    ASSERT_EQ(patterns[0].weights.size(), 8u);
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_EQ(patterns[0].weights[i].size(), i + 1);
      EXPECT_NEAR(std::accumulate(patterns[0].weights[i].begin(), patterns[0].weights[i].end(), 0.0), 1,
                  1e-12);
    }
    const auto& last = patterns[0].weights.back();
    const auto argument = static_cast<std::size_t>(instance.prompt.token(7));
    EXPECT_EQ(strongest(last), argument);
    EXPECT_GT(last[argument], 0.5);
  }
}

// F F F on 2-SeqComp: `=` looks at z_0, then at z_1(z_0), then at the entry of z_2 that w_1 and z_1(z_0)
// name.
TEST(AttentionPattern, three_full_layers_follow_the_pointers) {
  const auto made = build_construction({.name = "seqcomp", .sizes = {{"L", 2}, {"m", 2}, {"n1", 2}}}).value();
  for (std::uint64_t index = 0; index < 50; ++index) {
    const Instance instance = made.task->generate(Variant::uniform, 3, index);
    const Prompt& prompt = instance.prompt;  // z_2: 0..3, z_1: 4..5, z_0: 6, w_1: 7, =: 8
    const auto patterns = attention_patterns(made.weights, prompt).value();
    ASSERT_EQ(patterns.size(), 4u);  // two heads, one, one
    EXPECT_EQ(patterns[0].layer, 0);
    EXPECT_EQ(patterns[1].head, 1);
    EXPECT_EQ(patterns[3].layer, 2);
    const auto first = prompt.token(4 + prompt.token(6));
    EXPECT_EQ(strongest(patterns[0].weights[8]), 6u);
    EXPECT_EQ(strongest(patterns[1].weights[8]), 7u);
    EXPECT_EQ(strongest(patterns[2].weights[8]), static_cast<std::size_t>(4 + prompt.token(6)));
    EXPECT_EQ(strongest(patterns[3].weights[8]), static_cast<std::size_t>(prompt.token(7) * 2 + first));
  }
}

TEST(AttentionPattern, recurrent_layers_have_none) {
  const auto made =
      build_construction(
          {.name = "seqcomp", .sizes = {{"L", 2}, {"m", 2}, {"n1", 2}}, .options = {{"pattern", "RFF"}}})
          .value();
  const auto patterns =
      attention_patterns(made.weights, made.task->generate(Variant::uniform, 1, 0).prompt).value();
  ASSERT_EQ(patterns.size(), 2u);
  EXPECT_EQ(patterns[0].layer, 1);
  EXPECT_EQ(patterns[1].layer, 2);
}

}  // namespace
}  // namespace rung
