// Every form of sequential composition: all inputs at the smallest sizes, samples above, and failures one
// layer, one head or one bit below.
#include <gtest/gtest.h>

#include <cmath>

#include "rung/constructions/precision_search.h"

namespace rung {
namespace {

using Options = std::map<std::string, std::string>;

struct Case {
  std::string name;
  TaskSizes sizes;
  Options options;
  std::size_t layers;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

Construction build(const TaskSizes& sizes, const Options& options,
                   std::optional<int> precision = std::nullopt) {
  auto made =
      build_construction({.name = "seqcomp", .sizes = sizes, .options = options, .precision = precision});
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

const TaskSizes kSmallest2 = {{"L", 2}, {"m", 2}, {"n1", 2}};

class EveryForm : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Seqcomp, EveryForm,
                         testing::Values(Case{"full_L1", {{"L", 1}, {"m", 3}}, {}, 2},
                                         Case{"full", kSmallest2, {}, 3},
                                         Case{"full_named", kSmallest2, {{"pattern", "FFF"}}, 3},
                                         Case{"early_L1", {{"L", 1}, {"m", 3}}, {{"pattern", "RF"}}, 2},
                                         Case{"late_L1", {{"L", 1}, {"m", 3}}, {{"pattern", "FR"}}, 2},
                                         Case{"early", kSmallest2, {{"pattern", "RFF"}}, 3},
                                         Case{"late", kSmallest2, {{"pattern", "FRF"}}, 3},
                                         Case{"precomposed", kSmallest2, {{"pattern", "FF"}}, 2},
                                         Case{"absorbed_L1", {{"L", 1}, {"m", 4}}, {{"pattern", "RR"}}, 2},
                                         Case{"absorbed", kSmallest2, {{"pattern", "RRF"}}, 3},
                                         Case{"absorbed_all", kSmallest2, {{"pattern", "RRR"}}, 3},
                                         Case{"encoder_L1", {{"L", 1}, {"m", 4}}, {{"encoder", "yes"}}, 2},
                                         Case{"encoder", kSmallest2, {{"encoder", "yes"}}, 3},
                                         Case{"thought_L1", {{"L", 1}, {"m", 4}}, {{"cot", "yes"}}, 1},
                                         Case{"thought", kSmallest2, {{"cot", "yes"}}, 1}),
                         [](const auto& info) { return info.param.name; });

TEST_P(EveryForm, answers_every_input_of_its_smallest_size) {
  const Construction made = build(GetParam().sizes, GetParam().options);
  EXPECT_EQ(made.weights.architecture.stack.layers.size(), GetParam().layers);
  const auto found = verify(made, {});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->mode, VerificationMode::exhaustive);
  if (GetParam().sizes == kSmallest2) {
    EXPECT_EQ(found->instances, 4096u);
  }
  EXPECT_EQ(found->errors, 0u) << show_failure(*made.task, *found->failure);
  ASSERT_TRUE(found->interval);
  EXPECT_TRUE(found->interval->holds) << found->interval->reason;
}

TEST_P(EveryForm, reports_the_invariant_of_every_layer) {
  const Construction made = build(GetParam().sizes, GetParam().options);
  const std::string& invariant = made.weights.notes.at("invariant");
  for (std::size_t layer = 1; layer <= GetParam().layers; ++layer)
    EXPECT_NE(invariant.find(fmt::format("after layer {} ", layer)), std::string::npos);
}

// Larger sizes, with odd alphabets so that no power of two helps.
class LargerForm : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(
    Seqcomp, LargerForm,
    testing::Values(
        Case{"full_L2", {{"L", 2}, {"m", 11}, {"n1", 3}}, {}, 3},
        Case{"full_L3", {{"L", 3}, {"m", 5}, {"n1", 3}, {"n2", 2}}, {}, 4},
        Case{"full_L5", {{"L", 5}, {"m", 3}, {"n1", 2}, {"n2", 1}, {"n3", 3}, {"n4", 2}}, {}, 6},
        Case{"early_L3", {{"L", 3}, {"m", 5}, {"n1", 3}, {"n2", 2}}, {{"pattern", "RFFF"}}, 4},
        Case{"late_L3", {{"L", 3}, {"m", 5}, {"n1", 3}, {"n2", 2}}, {{"pattern", "FRFF"}}, 4},
        Case{"precomposed_L2", {{"L", 2}, {"m", 7}, {"n1", 5}}, {{"pattern", "FF"}}, 2},
        Case{"precomposed_L2_one", {{"L", 2}, {"m", 7}, {"n1", 1}}, {{"pattern", "FF"}}, 2},
        Case{"precomposed_L3", {{"L", 3}, {"m", 5}, {"n1", 2}, {"n2", 3}}, {{"pattern", "FFF"}}, 3},
        Case{"precomposed_L4",
             {{"L", 4}, {"m", 3}, {"n1", 2}, {"n2", 2}, {"n3", 2}},
             {{"pattern", "FFFF"}},
             4},
        Case{"precomposed_early_L3", {{"L", 3}, {"m", 5}, {"n1", 2}, {"n2", 3}}, {{"pattern", "RFF"}}, 3},
        Case{"precomposed_early_L4",
             {{"L", 4}, {"m", 3}, {"n1", 2}, {"n2", 2}, {"n3", 2}},
             {{"pattern", "RFFF"}},
             4},
        Case{"absorbed_L2", {{"L", 2}, {"m", 11}, {"n1", 3}}, {{"pattern", "RRF"}}, 3},
        Case{"absorbed_L3", {{"L", 3}, {"m", 5}, {"n1", 3}, {"n2", 2}}, {{"pattern", "RRRF"}}, 4},
        Case{"encoder_L2", {{"L", 2}, {"m", 7}, {"n1", 3}}, {{"encoder", "yes"}}, 3},
        Case{"encoder_L3", {{"L", 3}, {"m", 5}, {"n1", 2}, {"n2", 2}}, {{"encoder", "yes"}}, 3},
        Case{"encoder_L4", {{"L", 4}, {"m", 3}, {"n1", 2}, {"n2", 2}, {"n3", 1}}, {{"encoder", "yes"}}, 4},
        Case{"encoder_L5",
             {{"L", 5}, {"m", 2}, {"n1", 2}, {"n2", 2}, {"n3", 1}, {"n4", 2}},
             {{"encoder", "yes"}},
             4},
        Case{"thought_L3", {{"L", 3}, {"m", 5}, {"n1", 3}, {"n2", 2}}, {{"cot", "yes"}}, 1},
        Case{"thought_L5",
             {{"L", 5}, {"m", 3}, {"n1", 2}, {"n2", 1}, {"n3", 3}, {"n4", 2}},
             {{"cot", "yes"}},
             1}),
    [](const auto& info) { return info.param.name; });

TEST_P(LargerForm, answers_adversarial_and_random_inputs) {
  const Construction made = build(GetParam().sizes, GetParam().options);
  EXPECT_EQ(made.weights.architecture.stack.layers.size(), GetParam().layers);
  const auto found = verify(made, {.budget = 1, .samples = 60});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->mode, VerificationMode::interval);
  EXPECT_EQ(found->errors, 0u) << show_failure(*made.task, *found->failure);
}

TEST(SeqcompThought, writes_the_whole_chain) {
  const Construction made = build({{"L", 3}, {"m", 5}, {"n1", 3}, {"n2", 2}}, {{"cot", "yes"}});
  const auto machine = Machine::load(made.weights, {.positions = made.task->prompt_length() + 4});
  ASSERT_TRUE(machine) << machine.error().message;
  for (std::uint64_t i = 0; i < 50; ++i) {
    const Instance instance = made.task->generate(Variant::uniform, 3, i);
    EXPECT_EQ(*(*machine)->generate(instance.prompt), *made.task->chain_of_thought(instance.prompt));
  }
}

// One layer less: the same weights with their last lookup taken away answer with what the layer before holds.
TEST(SeqcompFull, fails_with_one_layer_less) {
  Construction made = build(kSmallest2, {});
  auto& weights = made.weights;
  weights.architecture.stack.layers.pop_back();
  std::erase_if(weights.tensors, [](const auto& entry) { return entry.first.starts_with("layers.2."); });
  const auto found = verify(made, {});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_GT(found->errors, 0u);
  ASSERT_TRUE(found->failure);
  EXPECT_NE(found->failure->expected, found->failure->answered);
}

// One head less: pre-composition without its last head cannot know the values for the last w.
TEST(SeqcompPrecomposed, fails_with_one_head_less) {
  Construction made = build({{"L", 2}, {"m", 2}, {"n1", 3}}, {{"pattern", "FF"}});
  auto& value = made.weights.tensors["layers.0.v.weight"];
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < value.size(); ++i) numbers.push_back(value.integer(i));
  const std::int64_t third = value.size() / 3;
  std::fill(numbers.end() - third, numbers.end(), 0);
  value = integer_tensor(value.shape, numbers);
  const auto found = verify(made, {.budget = 1, .samples = 200});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_GT(found->errors, 0u);
  ASSERT_TRUE(found->failure);
  EXPECT_EQ(found->failure->prompt.token(9), 2) << "only inputs with the last w fail";
}

TEST(SeqcompFull, fails_at_one_bit_less_than_measured) {
  const TaskSizes sizes = {{"L", 2}, {"m", 32}, {"n1", 2}};
  const auto search = search_precision({.name = "seqcomp", .sizes = sizes}, {.samples = 20}, 2, 8);
  ASSERT_TRUE(search) << search.error().message;
  EXPECT_EQ(search->p_measured, 4);
  EXPECT_EQ(search->failed_at, 3);
  ASSERT_TRUE(search->failure);
}

TEST(SeqcompForms, refuse_words_that_nothing_is_known_for) {
  for (const char* word : {"F", "FRR", "RFR", "FFFFF", "X", "rff"})
    EXPECT_FALSE(build_construction({.name = "seqcomp", .sizes = kSmallest2, .options = {{"pattern", word}}}))
        << word;
  EXPECT_FALSE(build_construction(
      {.name = "seqcomp", .sizes = kSmallest2, .options = {{"pattern", "RFF"}, {"cot", "yes"}}}));
}

}  // namespace
}  // namespace rung
