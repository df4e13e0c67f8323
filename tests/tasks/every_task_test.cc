// What every task must satisfy, on all prompts of small sizes. tests/tasks/reference_answers_test.cc compares
// the answers with second formulas.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "rung/tasks/task.h"

namespace rung {
namespace {

struct EveryTaskCase {
  std::string name;
  TaskSizes sizes;
  std::uint64_t prompts;  // how many prompts there are, counted by hand; 0: cannot be enumerated
  std::map<std::string, std::string> options = {};
};

std::string describe(const EveryTaskCase& c) {
  std::string text = c.name;
  for (const auto& [name, value] : c.sizes) text += "_" + name + std::to_string(value);
  for (const auto& [name, value] : c.options) text += "_" + value;
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return text;
}

std::vector<EveryTaskCase> every_task_cases() {
  return {
      {"eva", {{"n", 1}}, 1},
      {"eva", {{"n", 3}}, 27 * 3},
      {"eva", {{"n", 4}}, 256 * 4},
      {"index", {{"n", 4}, {"sigma", 2}}, 16 * 4},
      {"index", {{"n", 2}, {"sigma", 5}}, 25 * 2},
      {"retrieval", {{"n", 1}, {"D", 1}, {"sigma", 1}}, 2},
      {"retrieval", {{"n", 2}, {"D", 1}, {"sigma", 2}}, 2 * 4 * 2},
      {"retrieval", {{"n", 3}, {"D", 2}, {"sigma", 2}}, 4 * 3 * 2 * 8 * 3},
      {"retrieval", {{"n", 2}, {"D", 3}, {"sigma", 3}}, 8 * 7 * 9 * 2},
      {"mqar", {{"n", 1}, {"M", 1}, {"sigma", 2}, {"queries", 1}}, 2},
      {"mqar", {{"n", 2}, {"M", 2}, {"sigma", 2}, {"queries", 2}}, (2 * 4 + 2 * 1) * 4},
      {"mqar", {{"n", 3}, {"M", 2}, {"sigma", 2}, {"queries", 1}}, (6 * 2 + 2 * 1) * 8},
      {"mqar", {{"n", 1}, {"M", 1}, {"sigma", 1}, {"queries", 1}}, 1, {{"gaps", "1"}}},
      {"mqar", {{"n", 1}, {"M", 2}, {"sigma", 3}, {"queries", 2}}, 2 * 3 * 2, {{"gaps", "0.5"}}},
      {"mqar", {{"n", 2}, {"M", 3}, {"sigma", 2}, {"queries", 4}}, 3 * 2 * 2 * 4 * 3, {{"gaps", "0.01"}}},
      {"mqar", {{"n", 3}, {"M", 3}, {"sigma", 3}, {"queries", 3}}, 6 * 6 * 6, {{"gaps", "0.01"}}},
      {"two-sum", {{"n", 3}, {"M", 5}}, 625},
      {"two-sum", {{"n", 2}, {"M", 1}}, 1},
      {"two-sum", {{"n", 4}, {"M", 2}}, 32},
      {"two-sum-exists", {{"n", 3}, {"M", 5}}, 125},
      {"two-sum-exists", {{"n", 3}, {"M", 6}}, 216},
      {"two-sum-exists", {{"n", 4}, {"M", 4}}, 256},
      {"two-sum-exists", {{"n", 1}, {"M", 3}}, 3},
      {"two-sum-exists", {{"n", 2}, {"M", 2}}, 4},
      {"two-sum-exists", {{"n", 3}, {"M", 2}}, 8},
      {"two-sum-exists", {{"n", 2}, {"M", 1}}, 1},
      {"three-sum", {{"n", 3}, {"M", 10}}, 1000},
      {"three-sum", {{"n", 4}, {"M", 4}}, 256},
      {"three-sum", {{"n", 5}, {"M", 7}}, 16807},
      {"three-sum", {{"n", 2}, {"M", 5}}, 25},
      {"sparse-average", {{"n", 2}, {"q", 1}, {"d", 1}, {"f", 0}}, 36},
      {"sparse-average", {{"n", 3}, {"q", 2}, {"d", 1}, {"f", 0}}, 729},
      {"sparse-average", {{"n", 2}, {"q", 2}, {"d", 2}, {"f", 0}}, 81},
      {"sparse-average", {{"n", 3}, {"q", 3}, {"d", 1}, {"f", 1}}, 125, {{"read", "last"}}},
      {"equality", {{"n", 1}}, 4},
      {"equality", {{"n", 4}}, 256},
      {"disjointness", {{"n", 1}}, 4},
      {"disjointness", {{"n", 4}}, 256},
      {"nearest", {{"n", 5}, {"d", 2}, {"sigma", 3}, {"f", 6}}, 0},
      {"nearest", {{"n", 1}, {"d", 1}, {"f", 1}}, 0},
      {"nearest", {{"n", 3}, {"d", 1}, {"f", 4}, {"margin", 8}}, 0},
      {"nearest", {{"n", 6}, {"d", 16}, {"sigma", 6}, {"f", 8}, {"margin", 0}}, 0},
      {"dyck", {{"n", 4}, {"k", 2}, {"depth", 2}}, 256},
      {"dyck", {{"n", 6}, {"k", 1}, {"depth", 1}}, 64},
      {"dyck", {{"n", 3}, {"k", 2}, {"depth", 3}}, 64},
      {"cgram", {{"n", 4}, {"c", 2}, {"sigma", 2}}, 14},
      {"cgram", {{"n", 5}, {"c", 3}, {"sigma", 2}}, 18},
      {"cgram", {{"n", 6}, {"c", 3}, {"sigma", 2}}, 44},
      {"cgram", {{"n", 4}, {"c", 2}, {"sigma", 4}}, 256 - 4 * 27},
      {"counting", {{"n", 3}, {"sigma", 2}}, 8 * 2 * 3},
      {"counting", {{"n", 4}, {"sigma", 2}, {"k", 2}}, 16 * 2},
      {"counting", {{"n", 2}, {"sigma", 1}}, 2},
      {"istree", {{"n", 2}}, 4},
      {"istree", {{"n", 3}}, 81},
      {"istree", {{"n", 4}}, 4096},
      {"khop", {{"n", 3}, {"k", 1}, {"sigma", 2}}, 8},
      {"khop", {{"n", 5}, {"k", 2}, {"sigma", 3}}, 243},
      {"khop", {{"n", 6}, {"k", 2}, {"sigma", 3}}, 729, {{"read", "all"}}},
      {"khop", {{"n", 5}, {"k", 2}, {"sigma", 3}}, 3 * 16, {{"neighbours", "different"}}},
      {"khop", {{"n", 4}, {"k", 1}, {"sigma", 2}}, 2, {{"read", "all"}, {"neighbours", "different"}}},
      {"seqcomp", {{"L", 1}, {"m", 3}}, 27 * 3},
      {"seqcomp", {{"L", 2}, {"m", 2}, {"n1", 2}}, 256 * 4 * 2 * 2},
      {"seqcomp", {{"L", 2}, {"m", 2}, {"n1", 2}}, 256 * 4 * 2 * 2, {{"order", "easy"}}},
      {"seqcomp", {{"L", 3}, {"m", 1}, {"n1", 2}, {"n2", 1}}, 4 * 4 * 1 * 2},
      {"seqcomp", {{"L", 1}, {"m", 1}}, 1},
      {"parity", {{"n", 1}}, 2},
      {"parity", {{"n", 5}}, 32},
      {"parity", {{"n", 4}}, 16, {{"read", "all"}}},
      {"modulo", {{"n", 3}, {"m", 3}}, 27},
      {"modulo", {{"n", 2}, {"m", 5}}, 25, {{"read", "all"}}},
      {"group", {{"n", 3}}, 216},
      {"group", {{"n", 2}}, 64, {{"name", "Q8"}}},
      {"group", {{"n", 3}}, 27, {{"letters", "generators"}}},
      {"group", {{"n", 4}}, 81, {{"name", "A4"}, {"letters", "generators"}, {"read", "all"}}},
      {"group", {{"n", 3}}, 64, {{"name", "Z2xZ2"}}},
      {"flipflop", {{"n", 3}}, 27},
      {"flipflop", {{"n", 2}, {"k", 3}}, 16, {{"read", "all"}}},
      {"tracked-recall", {{"n", 2}, {"sigma", 2}, {"w", 2}}, 8 * 4},
      {"tracked-recall", {{"n", 3}, {"sigma", 2}, {"w", 1}}, 6 * 8 * 2, {{"group", "cyclic"}}},
      {"tracked-recall", {{"n", 4}, {"sigma", 1}, {"w", 2}}, 24 * 9, {{"group", "xor"}}},
      {"tracked-recall", {{"n", 3}, {"w", 2}}, 6 * 27 * 9},
      {"copy", {{"n", 3}, {"sigma", 2}}, 8},
      {"copy", {{"n", 1}, {"sigma", 1}}, 1},
      {"selective-copy", {{"n", 2}, {"m", 4}, {"sigma", 3}}, 6 * 9},
      {"selective-copy", {{"n", 2}, {"m", 2}, {"sigma", 2}}, 4},
      {"selective-copy", {{"n", 1}, {"m", 1}, {"sigma", 1}}, 1},
  };
}

constexpr Variant kVariants[] = {Variant::uniform, Variant::permutation, Variant::zipf, Variant::adversarial};

using Key = std::vector<std::vector<std::int64_t>>;

class EveryTask : public testing::TestWithParam<EveryTaskCase> {
 protected:
  std::unique_ptr<Task> task_ = [] {
    auto made = make_task(GetParam().name, GetParam().sizes, GetParam().options);
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }();
};

TEST_P(EveryTask, enumerates_each_prompt_once_and_each_is_valid) {
  if (GetParam().prompts == 0) {
    EXPECT_EQ(task_->choices(task_->empty_prompt()), 0);
    return;
  }
  std::set<Key> seen;
  const std::uint64_t visited = enumerate(*task_, [&](const Instance& instance) {
    EXPECT_TRUE(task_->validate(instance.prompt));
    EXPECT_EQ(instance.prompt.positions, task_->prompt_length());
    seen.insert(instance.prompt.fields);
    return !testing::Test::HasFailure();
  });
  EXPECT_EQ(visited, GetParam().prompts);
  EXPECT_EQ(seen.size(), visited);
}

TEST_P(EveryTask, validates_exactly_the_prompts_that_it_enumerates) {
  // Negative control: one number changed at one place gives a prompt that is enumerated, or one that is
  // refused.
  if (GetParam().prompts == 0) return;
  std::set<Key> all;
  enumerate(*task_, [&](const Instance& instance) { return all.insert(instance.prompt.fields).second; });
  Random random(5);
  const auto fields = task_->fields();
  for (int trial = 0; trial < 300; ++trial) {
    auto member = all.begin();
    std::advance(member, random.below(all.size()));
    Prompt prompt{task_->prompt_length(), *member};
    const std::size_t f = random.below(fields.size());
    prompt.fields[f][random.below(prompt.fields[f].size())] =
        random.between(fields[f].low - 1, fields[f].low + fields[f].size);
    EXPECT_EQ(task_->validate(prompt).ok(), all.contains(prompt.fields)) << task_->text(prompt);
  }
  Prompt cut{task_->prompt_length(), *all.begin()};
  task_->retract(cut);
  EXPECT_FALSE(task_->validate(cut));
}

TEST_P(EveryTask, generates_valid_prompts_with_their_reference_answer) {
  const auto spec = task_->answer_spec();
  const std::size_t group = spec.kind == AnswerSpec::Kind::vector ? static_cast<std::size_t>(spec.size) : 1;
  for (const Variant variant : kVariants) {
    if (!task_->supports(variant)) continue;
    for (std::uint64_t index = 0; index < 200; ++index) {
      const Instance instance = task_->generate(variant, 3, index);
      const auto valid = task_->validate(instance.prompt);
      ASSERT_TRUE(valid) << valid.error().message;
      ASSERT_EQ(instance.answer, task_->answer(instance.prompt)) << task_->text(instance.prompt);
      ASSERT_EQ(instance.answer.size(), task_->query_positions().size() * group);
      std::int64_t asked = 0;
      for (const auto a : instance.answer) {
        if (spec.kind == AnswerSpec::Kind::vector) continue;
        if (a == kNotAsked) continue;
        ++asked;
        ASSERT_GE(a, 0);
        ASSERT_LT(a, spec.size);
      }
      if (spec.kind != AnswerSpec::Kind::vector) {
        ASSERT_EQ(asked, task_->asked());
      }
    }
  }
}

TEST_P(EveryTask, repeats_for_a_seed_and_changes_with_it) {
  for (const Variant variant : kVariants) {
    if (!task_->supports(variant)) continue;
    std::set<Key> seen;
    for (std::uint64_t index = 0; index < 20; ++index) {
      EXPECT_EQ(task_->generate(variant, 7, index), task_->generate(variant, 7, index));
      seen.insert(task_->generate(variant, 7, index).prompt.fields);
      seen.insert(task_->generate(variant, 8, index).prompt.fields);
    }
    if (GetParam().prompts != 1) {
      EXPECT_GT(seen.size(), 1u) << variant_name(variant);
    }
  }
}

TEST_P(EveryTask, gives_adversarial_pairs_different_answers) {
  if (!task_->supports(Variant::adversarial)) return;
  for (std::uint64_t k = 0; k < 50; ++k) {
    const Instance one = task_->generate(Variant::adversarial, 11, 2 * k);
    const Instance two = task_->generate(Variant::adversarial, 11, 2 * k + 1);
    EXPECT_NE(one.answer, two.answer) << task_->text(one.prompt) << " and " << task_->text(two.prompt);
  }
}

TEST_P(EveryTask, balances_yes_and_no_where_both_are_possible) {
  if (task_->answer_spec().kind != AnswerSpec::Kind::boolean || GetParam().prompts == 0) return;
  std::set<std::int64_t> possible;
  enumerate(*task_, [&](const Instance& instance) {
    return possible.insert(instance.answer.front()), possible.size() < 2;
  });
  for (const Variant variant : kVariants) {
    if (!task_->supports(variant)) continue;
    int yes = 0;
    for (std::uint64_t index = 0; index < 1000; ++index)
      yes += task_->generate(variant, 13, index).answer.front() == 1;
    if (possible.size() == 2) {
      EXPECT_NEAR(yes, 500, 80) << variant_name(variant);
    } else {
      EXPECT_EQ(yes, *possible.begin() * 1000) << variant_name(variant);
    }
  }
}

TEST_P(EveryTask, is_made_again_from_its_own_size_and_options) {
  TaskSizes sizes;
  const SizeList own = task_->size();
  for (const auto& [name, value] : own) sizes[name] = value;
  auto again = make_task(task_->name(), sizes, task_->options());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)->size(), task_->size());
  EXPECT_EQ((*again)->generate(Variant::uniform, 1, 1), task_->generate(Variant::uniform, 1, 1));
}

TEST_P(EveryTask, ends_its_chain_of_thought_with_the_answer) {
  const Instance instance = task_->generate(Variant::uniform, 1, 1);
  const auto thoughts = task_->chain_of_thought(instance.prompt);
  if (!thoughts) return;
  EXPECT_EQ(thoughts->back(), instance.answer.front());
  for (const auto token : *thoughts) {
    EXPECT_GE(token, 0);
    EXPECT_LT(token, task_->fields().front().size);
  }
}

INSTANTIATE_TEST_SUITE_P(small, EveryTask, testing::ValuesIn(every_task_cases()),
                         [](const auto& info) { return describe(info.param); });

TEST(EveryTask, has_a_word_a_summary_and_works_with_its_defaults) {
  std::set<std::string_view> names;
  for (const auto& word : task_words()) {
    EXPECT_TRUE(names.insert(word.name).second) << word.name;
    EXPECT_FALSE(word.summary.empty()) << word.name;
    auto task = make_task(word.name, {});
    ASSERT_TRUE(task) << word.name << ": " << task.error().message;
    EXPECT_TRUE((*task)->supports(Variant::uniform)) << word.name;
    EXPECT_TRUE((*task)->supports(Variant::adversarial)) << word.name;
  }
}

}  // namespace
}  // namespace rung
