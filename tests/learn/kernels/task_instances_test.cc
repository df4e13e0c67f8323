// Instances drawn by the kernel's own source are those of the tasks, bit for bit.
#include "rung/learn/kernels/task_instances.h"

#include <gtest/gtest.h>

#include "rung/tasks/task.h"
#include "tests/learn/kernels/instance_case.h"

namespace rung::kernels {
namespace {

TEST(TaskInstances, are_those_of_the_tasks) {
  for (const InstanceCase& given : instance_cases()) {
    const auto task = make_task(given.name, given.sizes);
    ASSERT_TRUE(task.ok()) << given.name;
    const std::int64_t length = instance_length(given.task), answers = instance_answers(given.task);
    ASSERT_EQ(length, (*task)->prompt_length()) << given.name;
    ASSERT_TRUE(instances_fit(given.task));
    const std::uint64_t seeds[] = {1, 0xFEEDFACECAFEBEEFULL, 0};
    const std::int64_t batch = 40;
    for (const std::int64_t step : {0, 1, 1000000007}) {
      std::vector<std::int32_t> tokens(3 * batch * length);
      std::vector<std::int64_t> targets(3 * batch * answers);
      task_instances(given.task, {3, batch, seeds, &step, tokens.data(), targets.data()});
      for (std::int64_t row = 0; row < 3 * batch; ++row) {
        const Instance expected =
            (*task)->generate(Variant::uniform, seeds[row / batch], step * batch + row % batch);
        const std::vector<std::int64_t> drawn(tokens.begin() + row * length,
                                              tokens.begin() + (row + 1) * length);
        ASSERT_EQ(drawn, expected.prompt.fields[0]) << given.name << " row " << row;
        ASSERT_EQ((std::vector<std::int64_t>(targets.begin() + row * answers,
                                             targets.begin() + (row + 1) * answers)),
                  expected.answer)
            << given.name << " row " << row;
      }
    }
  }
}

TEST(TaskInstances, further_questions_are_about_the_same_tables_and_rightly_answered) {
  for (InstanceCase given : instance_cases()) {
    if (given.task.kind == InstanceKind::mqar) continue;
    const auto task = make_task(given.name, given.sizes);
    ASSERT_TRUE(task.ok()) << given.name;
    const std::int64_t base = instance_length(given.task), batch = 30, step = 2;
    given.task.questions = 7;
    const std::int64_t length = instance_length(given.task), question = question_length(given.task);
    ASSERT_EQ(length, base + 7 * question);
    const std::uint64_t seed = 11;
    std::vector<std::int32_t> tokens(batch * length);
    std::vector<std::int64_t> targets(batch * 8);
    task_instances(given.task, {1, batch, &seed, &step, tokens.data(), targets.data()});
    std::int64_t ones = 0, different = 0;
    for (std::int64_t row = 0; row < batch; ++row) {
      const Instance plain = (*task)->generate(Variant::uniform, seed, step * batch + row);
      const auto start = tokens.begin() + row * length;
      ASSERT_TRUE(std::equal(plain.prompt.fields[0].begin(), plain.prompt.fields[0].end(), start));
      ASSERT_EQ(targets[row * 8], plain.answer[0]);
      for (std::int64_t i = 1; i <= 7; ++i) {
        Prompt asked = plain.prompt;
        const auto from = start + base + (i - 1) * question;
        std::copy(from, from + question, asked.fields[0].end() - question);
        ASSERT_EQ(targets[row * 8 + i], (*task)->answer(asked)[0]) << given.name << " question " << i;
        ones += targets[row * 8 + i];
        different += asked.fields[0] != plain.prompt.fields[0];
      }
    }
    if (given.name == "two-sum" && given.sizes.at("n") == 16) {
      EXPECT_GT(ones, batch * 7 / 3) << "yes and no in equal parts";
      EXPECT_LT(ones, batch * 7 * 2 / 3);
    }
    if (given.name == "eva" && given.sizes.at("n") == 33) {
      EXPECT_GT(different, batch * 6);
    }
  }
}

TEST(TaskInstances, sizes_that_no_int32_holds_are_refused) {
  EXPECT_FALSE(instances_fit({.kind = InstanceKind::evaluation, .n = 4, .sigma = std::int64_t{1} << 40}));
  EXPECT_FALSE(instances_fit({.kind = InstanceKind::two_sum, .n = 0, .modulus = 5}));
  EXPECT_FALSE(
      instances_fit({.kind = InstanceKind::mqar, .n = 4, .sigma = 2147483647, .keys = 8, .queries = 1}));
  EXPECT_FALSE(instances_fit({.kind = InstanceKind::seqcomp, .levels = 2, .domain = {4, 6}}));
  EXPECT_FALSE(instances_fit({.kind = InstanceKind::seqcomp, .levels = 9}));
  EXPECT_FALSE(instances_fit({.kind = InstanceKind::mqar, .n = 4, .sigma = 4, .keys = 8, .questions = 1}));
  EXPECT_FALSE(instances_fit({.kind = InstanceKind::evaluation, .n = 4, .sigma = 4, .questions = -1}));
}

TEST(TaskInstances, a_bound_that_rejects_half_of_its_draws_is_still_the_tasks_own) {
  Random expected(3, 5);
  InstanceRandom drawn(3, 5);
  for (const std::uint64_t bound : {1ULL, 3ULL, (1ULL << 63) + 1, ~0ULL, 12345678901234567ULL})
    for (int i = 0; i < 200; ++i) ASSERT_EQ(drawn.below(bound), expected.below(bound));
}

}  // namespace
}  // namespace rung::kernels
