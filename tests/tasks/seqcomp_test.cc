#include <gtest/gtest.h>

#include "rung/tasks/seqcomp_layout.h"
#include "rung/tasks/task.h"

namespace rung {
namespace {

// z_2 = (3,0,2,1), z_1 = (1,0), z_0 = 0, w_1 = 1: i_1 = 1, the argument of z_2 is 1·2+1 = 3, the answer 1.
const Prompt kWorked{9, {{3, 0, 2, 1, 1, 0, 0, 1, 4}}};

TEST(SeqComp, answers_the_worked_example) {
  const auto task = std::move(*make_task("seqcomp", {{"L", 2}, {"m", 2}, {"n1", 2}}));
  ASSERT_TRUE(task->validate(kWorked));
  EXPECT_EQ(task->answer(kWorked), std::vector<std::int64_t>{1});
  EXPECT_EQ(task->text(kWorked), "3 0 2 1 | 1 0 | 0 | 1 | =");
  EXPECT_EQ(*task->chain_of_thought(kWorked), (std::vector<std::int64_t>{0, 3, 1}));
}

TEST(SeqComp, puts_the_same_instance_in_easy_order) {
  const auto task = std::move(*make_task("seqcomp", {{"L", 2}, {"m", 2}, {"n1", 2}}, {{"order", "easy"}}));
  const Prompt prompt{9, {{1, 0, 1, 0, 3, 0, 2, 1, 4}}};
  ASSERT_TRUE(task->validate(prompt));
  EXPECT_EQ(task->answer(prompt), std::vector<std::int64_t>{1});
  EXPECT_EQ(task->text(prompt), "1 | 0 | 1 0 | 3 0 2 1 | =");
}

TEST(SeqComp, counts_the_tokens_of_its_prompt) {
  for (std::int64_t m : {1, 2, 5})
    for (std::int64_t n1 : {1, 3})
      for (std::int64_t n2 : {1, 4}) {
        const auto layout = *SeqCompLayout::make(m, {n1, n2}, SeqCompLayout::Order::hard);
        EXPECT_EQ(layout.length(), m + m * n1 + m * n1 * n2 + 3 + 1);
        EXPECT_EQ(layout.equals_token(), m * n1 * n2);
        EXPECT_EQ(layout.table_position(3), 0);
        EXPECT_EQ(layout.table_position(2), m * n1 * n2);
        EXPECT_EQ(layout.start_position(), m * n1 * n2 + m * n1 + m);
        EXPECT_EQ(layout.branch_position(2), layout.equals_position() - 1);
      }
}

TEST(SeqComp, refuses_sizes_that_do_not_fit_without_allocating) {
  for (const TaskSizes& sizes :
       std::vector<TaskSizes>{{{"m", std::int64_t{1} << 31}},
                              {{"m", 1 << 20}, {"n1", 1 << 20}},
                              {{"L", 8}, {"m", 1 << 30}, {"n1", 1 << 30}, {"n7", 1 << 30}},
                              {{"L", 9}},
                              {{"L", 0}},
                              {{"m", -1}},
                              {{"L", 2}, {"n2", 2}},
                              {{"m", 3}, {"n", 4}}})
    EXPECT_FALSE(make_task("seqcomp", sizes));
  EXPECT_TRUE(make_task("seqcomp", {{"n", 5}}));
}

TEST(SeqComp, refuses_an_unknown_order) {
  const auto made = make_task("seqcomp", {}, {{"order", "esay"}});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "[task] unknown order \"esay\" of seqcomp; did you mean \"easy\"?");
}

}  // namespace
}  // namespace rung
