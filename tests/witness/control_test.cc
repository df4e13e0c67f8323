// The negative control: theories that are wrong on purpose. Each witness must catch those that it is there
// for.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/witness/comparisons.h"

namespace rung {
namespace {

const std::vector<TinyTask>& few_tasks() {
  // Not the tasks that exist at every length, nor forms that no theorem is about: their many tiny ones would leave
  // few draws for the others.
  static const auto tasks = [] {
    auto all = tiny_tasks(300, 60);
    std::erase_if(all, [](const TinyTask& one) {
      for (const char* name :
           {"parity", "modulo", "group", "flipflop", "tracked-recall", "copy", "selective-copy"})
        if (one.name == name) return true;
      const auto neighbours = one.options.find("neighbours"), gaps = one.options.find("gaps");
      return (neighbours != one.options.end() && neighbours->second != "any") ||
             (gaps != one.options.end() && gaps->second != "none");
    });
    return all;
  }();
  return tasks;
}

// A verdict of another outcome, proved.
void turn(Verdict& verdict, Outcome outcome) {
  verdict.outcome = outcome;
  verdict.status = Status::proved;
}

// Every count lowered by one bit: what just fits is called impossible.
Result<Answered> one_bit_short(const WitnessCase& given) {
  auto answered = ask(given);
  if (answered)
    for (auto& verdict : answered->verdicts)
      if (verdict.outcome == Outcome::vacuous && verdict.left && verdict.right &&
          *verdict.left > *verdict.right - 1)
        turn(verdict, Outcome::impossible);
  return answered;
}

// The task's words go unheard: every form is the usual one.
Result<Answered> deaf(const WitnessCase& given) {
  WitnessCase usual = given;
  usual.options.clear();
  return ask(usual);
}

// A construction is promised with this many bits less, or without its position code.
Result<Answered> generous(const WitnessCase& given) {
  WitnessCase more = given;
  const auto precision = parse_precision(given.architecture.precision.value_or("16"));
  if (precision && precision->format == NumberFormat::fixed)
    more.architecture.precision = fmt::format("{}", precision->bits + 1);
  more.architecture.position = "table";
  auto answered = ask(more);
  const auto own = ask(given);
  if (answered && own) answered->setting = own->setting;
  return answered;
}

// Where the theory says nothing, it promises.
Result<Answered> promising(const WitnessCase& given) {
  auto answered = ask(given);
  if (answered)
    for (auto& verdict : answered->verdicts)
      if (verdict.outcome != Outcome::possible) turn(verdict, Outcome::possible);
  return answered;
}

// A softmax, or a state, with half the bits that it has.
Result<Answered> half_counted(const WitnessCase& given) {
  auto answered = ask(given);
  if (answered)
    for (auto& verdict : answered->verdicts)
      if (verdict.outcome == Outcome::vacuous && verdict.left && verdict.right &&
          *verdict.left > *verdict.right / 4)
        turn(verdict, Outcome::impossible);
  return answered;
}

// Long stacks are impossible.
Result<Answered> shallow(const WitnessCase& given) {
  auto answered = ask(given);
  if (answered && answered->setting.layers.size() >= 3)
    for (auto& verdict : answered->verdicts) turn(verdict, Outcome::impossible);
  return answered;
}

// What is impossible becomes possible at even lengths.
Result<Answered> forgetful(const WitnessCase& given) {
  auto answered = ask(given);
  if (answered && answered->question.prompt % 2 == 0)
    for (auto& verdict : answered->verdicts) turn(verdict, Outcome::possible);
  return answered;
}

void expect_caught(const Tally& tally) {
  EXPECT_GT(tally.compared, 0);
  EXPECT_FALSE(tally.found.empty()) << tally.compared << " compared";
  for (const auto& one : tally.found) EXPECT_TRUE(one.line.starts_with("rung bound '")) << one.line;
}

TEST(wrong_theories, are_caught_by_capacity) {
  expect_caught(compare_with_capacity(one_bit_short, few_tasks(), {.cases = 3000}));
  expect_caught(compare_with_capacity(deaf, few_tasks(), {.cases = 6000}));
  expect_caught(compare_with_capacity(promising, few_tasks(), {.cases = 1000}));
}

TEST(wrong_theories, are_caught_by_build) {
  expect_caught(compare_with_build(generous, few_tasks(), {.cases = 2000}));
  expect_caught(compare_with_build(promising, few_tasks(), {.cases = 300}));
  expect_caught(compare_with_build(half_counted, few_tasks(), {.cases = 3000}));
}

TEST(wrong_theories, are_caught_by_all_weights) {
  const auto searched = search_cells(few_tasks(), 2000);
  expect_caught(compare_with_search(one_bit_short, searched, {.cases = 5000}));
  expect_caught(compare_with_search(promising, searched, {.cases = 5000}));
}

TEST(wrong_theories, are_caught_by_eval) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "rung_witness_control";
  std::filesystem::create_directories(folder);
  expect_caught(compare_with_eval(half_counted, few_tasks(), folder.string(), {.cases = 3000}));
}

TEST(wrong_theories, are_caught_by_the_theory_itself) {
  expect_caught(compare_with_itself(shallow, few_tasks(), {.cases = 20000}));
  expect_caught(compare_with_itself(forgetful, few_tasks(), {.cases = 20000}));
}

// The searches too: a cell with one state cannot tell two functions apart, and is exhausted; a table that
// was changed in one place no longer solves its task, on the exact machine.
TEST(wrong_theories, and_wrong_weights_are_refuted_on_the_exact_machine) {
  std::int64_t caught = 0;
  for (const auto& task : few_tasks()) {
    const auto cell = linear_cell({.p = 2});
    auto found = search_weights(task.tree, *cell, {});
    if (found.outcome != Searched::solved || task.tree.upper() < 2) continue;
    for (auto& actions : found.actions) std::fill(actions.begin(), actions.end(), 0);
    const auto agrees = machine_agrees(task.tree, *cell, found.actions, true);
    ASSERT_TRUE(agrees) << agrees.error().message;
    caught += !*agrees;
  }
  EXPECT_GT(caught, 10);
}

}  // namespace
}  // namespace rung
