// The worked examples of docs/tasks.md.
#include <gtest/gtest.h>

#include "rung/tasks/task.h"

namespace rung {
namespace {

using Numbers = std::vector<std::int64_t>;

struct Example {
  std::string name;
  TaskSizes sizes;
  std::vector<Numbers> fields;
  Numbers answer;
  std::string text;
};

TEST(WorkedExamples, are_prompts_with_the_stated_answers) {
  const std::vector<Example> examples = {
      {"eva", {{"n", 4}}, {{3, 1, 0, 2, 1}}, {1}, "3 1 0 2 1"},
      {"index", {{"n", 4}, {"sigma", 2}}, {{0, 1, 1, 0, 2}}, {1}, "0 1 1 0 2"},
      {"retrieval",
       {{"n", 3}, {"D", 3}, {"sigma", 4}},
       {{5, 7, 4, 7}, {1, 0, 3, 4}, {0, 0, 0, 1}},
       {0},
       "5:1 7:0 4:3 7:?"},
      {"mqar",
       {{"n", 4}, {"queries", 2}},
       {{7, 3, 8, 0, 7, 0, 8, 3, 8, 7}},
       {3, 0},
       "k3 3 k4 0 k3 0 k4 3 k4 k3"},
      {"two-sum", {{"n", 4}, {"M", 9}}, {{4, 7, 1, 3, 2}}, {1}, "4 7 1 3 2"},
      {"two-sum-exists", {{"n", 3}, {"M", 9}}, {{4, 4, 5}}, {1}, "4 4 5"},
      {"two-sum-exists", {{"n", 3}, {"M", 9}}, {{0, 4, 4}}, {0}, "0 4 4"},
      {"three-sum", {{"n", 4}, {"M", 10}}, {{1, 2, 7, 9}}, {1}, "1 2 7 9"},
      {"seqcomp", {}, {{3, 0, 2, 1, 1, 0, 0, 1, 4}}, {1}, "3 0 2 1 | 1 0 | 0 | 1 | ="},
      {"equality", {{"n", 3}}, {{0, 1, 1, 2, 0, 1, 1, 2}}, {1}, "0 1 1 # 0 1 1 #"},
      {"disjointness", {{"n", 3}}, {{0, 1, 1, 2, 0, 1, 1, 2}}, {0}, "0 1 1 # 0 1 1 #"},
      {"dyck", {{"n", 4}}, {{0, 1, 3, 2}}, {1}, "( [ ] )"},
      {"cgram", {}, {{2, 1, 3, 1, 1, 0, 2, 1}}, {3}, "2 1 3 1 1 0 2 1"},
      {"counting", {{"n", 4}}, {{1, 1, 0, 1, 1, 6}}, {1}, "1 1 0 1 | 1 | 3"},
      {"istree", {{"n", 4}}, {{0, 1, 1, 2, 1, 3}}, {1}, "0-1 1-2 1-3"},
      {"khop", {}, {{2, 3, 1, 2, 0, 0, 3, 1}}, {3}, "2 3 1 2 0 0 3 1"},
      {"parity", {{"n", 4}}, {{2, 1, 0, 1, 1}}, {1}, "^ 1 0 1 1"},
      {"modulo", {{"n", 4}, {"m", 3}}, {{3, 2, 0, 1, 2}}, {2}, "^ 2 0 1 2"},
      {"group", {{"n", 3}}, {{6, 2, 1, 2}}, {5}, "^ 102 021 102"},
      {"flipflop", {{"n", 4}}, {{3, 2, 0, 1, 0}}, {0}, "^ w1 hold w0 hold"},
      {"tracked-recall",
       {{"n", 3}, {"sigma", 4}, {"w", 3}},
       {{2, 0, 1, 1, 0, 2, 0}, {3, 1, 0, 4, 4, 4, 4}, {0, 0, 0, 1, 1, 1, 2}},
       {3},
       "2:3 0:1 1:0 g1 g0 g2 ="},
      {"copy", {{"n", 3}, {"sigma", 4}}, {{3, 0, 2, 4, 4, 4}}, {3, 0, 2}, "3 0 2 _ _ _"},
      {"selective-copy", {{"n", 2}, {"m", 4}, {"sigma", 4}}, {{4, 3, 4, 0, 5, 5}}, {3, 0}, ". 3 . 0 _ _"},
  };
  for (const auto& example : examples) {
    const auto task = std::move(*make_task(example.name, example.sizes));
    const Prompt prompt{task->prompt_length(), example.fields};
    const auto valid = task->validate(prompt);
    ASSERT_TRUE(valid) << valid.error().message;
    EXPECT_EQ(task->answer(prompt), example.answer) << example.name;
    EXPECT_EQ(task->text(prompt), example.text);
  }
}

}  // namespace
}  // namespace rung
