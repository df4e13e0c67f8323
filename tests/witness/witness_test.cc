// Four witnesses against the theory, on random architectures and every tiny task: exact Nerode classes,
// files that `rung build` makes, all weights of the smallest layers, and the evaluation of files. Each test
// counts what it compared, so that none of them can pass by comparing nothing.
#include <gtest/gtest.h>

#include <filesystem>

#include "rung/capacity/capacity.h"
#include "tests/witness/comparisons.h"

namespace rung {
namespace {

const std::vector<TinyTask>& all_tasks() {
  static const auto tasks = tiny_tasks(5000, 300);
  return tasks;
}
// Those that are enumerated by machines, not only by their prompts.
const std::vector<TinyTask>& small_tasks() {
  static const auto tasks = tiny_tasks(700, 100);
  return tasks;
}
const std::vector<SearchedCell>& searched_cells() {
  static const auto searched = search_cells(small_tasks(), 3000);
  return searched;
}
std::string scratch() {
  const auto folder = std::filesystem::path(testing::TempDir()) / "rung_witness";
  std::filesystem::create_directories(folder);
  return folder.string();
}

void expect_agreement(const Tally& tally, std::int64_t at_least) {
  testing::Test::RecordProperty("compared", std::to_string(tally.compared));
  EXPECT_GE(tally.compared, at_least * witness_scale());
  EXPECT_TRUE(tally.found.empty()) << tally.report();
}

TEST(witnesses, count_the_classes_of_every_tiny_task_alike) {
  std::int64_t compared = 0;
  for (const auto& task : all_tasks()) {
    if (task.variant) continue;
    const auto capacity = count_capacity(*task.task, {});
    ASSERT_TRUE(capacity) << task.name << ": " << capacity.error().message;
    ASSERT_EQ(capacity->method, CapacityMethod::enumeration) << task.name;
    for (const auto& cut : capacity->cuts) {
      const auto& level = task.tree.levels[static_cast<std::size_t>(cut.position)];
      EXPECT_EQ(*cut.upper, static_cast<std::int64_t>(level.nodes.size()))
          << task.name << " at " << cut.position;
      EXPECT_LE(cut.classes, static_cast<std::int64_t>(level.nodes.size()));
      if (cut.exact()) {
        EXPECT_EQ(level.told_apart, cut.classes) << task.name << " at " << cut.position;
      }
      ++compared;
    }
  }
  EXPECT_GE(compared, 1000);
}

TEST(witnesses, capacity_agrees_with_bound) {
  expect_agreement(compare_with_capacity(ask, all_tasks(), {.seed = 1, .cases = 130'000 * witness_scale()}),
                   5000);
}

TEST(witnesses, build_agrees_with_bound) {
  expect_agreement(compare_with_build(ask, small_tasks(), {.seed = 2, .cases = 10'000 * witness_scale()}),
                   1000);
}

TEST(witnesses, all_weights_agree_with_bound) {
  expect_agreement(compare_with_search(ask, searched_cells(), {.seed = 3, .cases = 30'000 * witness_scale()}),
                   8000);
}

TEST(witnesses, eval_agrees_with_bound) {
  expect_agreement(
      compare_with_eval(ask, small_tasks(), scratch(), {.seed = 4, .cases = 8000 * witness_scale()}), 5000);
}

TEST(witnesses, bound_agrees_with_itself) {
  expect_agreement(compare_with_itself(ask, all_tasks(), {.seed = 5, .cases = 135'000 * witness_scale()}),
                   4000);
}

TEST(witnesses, run_found_weights_on_the_exact_machine) {
  std::int64_t solved = 0;
  for (const auto& one : searched_cells()) {
    if (one.result.outcome != Searched::solved || one.cell->channels().empty()) continue;
    const auto agrees = machine_agrees(one.task->tree, *one.cell, one.result.actions, one.positions);
    ASSERT_TRUE(agrees) << one.cell->line << " on " << one.task->name << ": " << agrees.error().message;
    EXPECT_TRUE(*agrees) << one.cell->line << " at " << one.cell->p << " bits on " << one.task->name;
    ++solved;
  }
  EXPECT_GE(solved, 500);
}

}  // namespace
}  // namespace rung
