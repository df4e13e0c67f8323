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

TEST(TaskInstances, sizes_that_no_int32_holds_are_refused) {
  EXPECT_FALSE(instances_fit({.kind = InstanceKind::evaluation, .n = 4, .sigma = std::int64_t{1} << 40}));
  EXPECT_FALSE(instances_fit({.kind = InstanceKind::two_sum, .n = 0, .modulus = 5}));
  EXPECT_FALSE(
      instances_fit({.kind = InstanceKind::mqar, .n = 4, .sigma = 2147483647, .keys = 8, .queries = 1}));
  EXPECT_FALSE(instances_fit({.kind = InstanceKind::seqcomp, .levels = 2, .domain = {4, 6}}));
  EXPECT_FALSE(instances_fit({.kind = InstanceKind::seqcomp, .levels = 9}));
}

TEST(TaskInstances, a_bound_that_rejects_half_of_its_draws_is_still_the_tasks_own) {
  Random expected(3, 5);
  InstanceRandom drawn(3, 5);
  for (const std::uint64_t bound : {1ULL, 3ULL, (1ULL << 63) + 1, ~0ULL, 12345678901234567ULL})
    for (int i = 0; i < 200; ++i) ASSERT_EQ(drawn.below(bound), expected.below(bound));
}

}  // namespace
}  // namespace rung::kernels
