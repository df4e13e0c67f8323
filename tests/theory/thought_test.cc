// A recurrence with arbitrary transition and output: all of them at a tiny size, with and without a chain of thought.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "tests/theory/asked.h"

namespace rung {
namespace {

constexpr int kThoughtStates = 3, kThoughtTokens = 2, kThoughtSteps = 2;
using ThoughtTransition = std::array<int, kThoughtStates * kThoughtTokens>;  // g(h, x)
using ThoughtOutput = std::array<int, kThoughtStates>;  // f(h): the token that is written

template <class Table>
bool next_table(Table& table, int base) {  // the next table; false after the last
  for (auto& entry : table)
    if (++entry < base)
      return true;
    else
      entry = 0;
  return false;
}

// Answers to all prompts of four tokens: with `steps` more tokens written and read, the last of which is the answer.
std::array<int, 16> answers_of(const ThoughtTransition& g, const ThoughtOutput& f, int steps) {
  std::array<int, 16> out{};
  for (int prompt = 0; prompt < 16; ++prompt) {
    int h = 0;
    for (int t = 0; t < 4; ++t) h = g[static_cast<std::size_t>(h * kThoughtTokens + (prompt >> t & 1))];
    for (int step = 0; step < steps; ++step)
      h = g[static_cast<std::size_t>(h * kThoughtTokens + f[static_cast<std::size_t>(h)])];
    out[static_cast<std::size_t>(prompt)] = f[static_cast<std::size_t>(h)];
  }
  return out;
}

TEST(thought, adds_no_function_to_recurrences_with_arbitrary_output) {
  std::set<std::array<int, 16>> without, with;
  ThoughtTransition g{};
  do {
    ThoughtOutput f{};
    do {
      without.insert(answers_of(g, f, 0));
      for (int steps = 1; steps <= kThoughtSteps; ++steps) with.insert(answers_of(g, f, steps));
    } while (next_table(f, kThoughtTokens));
  } while (next_table(g, kThoughtStates));
  EXPECT_GT(without.size(), 50u);
  EXPECT_GT(with.size(), 20u);
  for (const auto& function : with) EXPECT_TRUE(without.contains(function));
}

TEST(thought, changes_no_recurrent_verdict) {
  for (const std::string task : {"eva", "index", "mqar", "two-sum", "equality", "istree"})
    for (const std::int64_t n : {4, 16, 64}) {
      const TaskSizes sizes{{"n", n}};
      const auto plain = Asked().width(3).bits(4).on("rnn*2", task, sizes),
                 thinking = Asked().width(3).bits(4).thought().on("rnn*2", task, sizes);
      EXPECT_EQ(plain.outcome, thinking.outcome) << task << " " << n;
      EXPECT_EQ(plain.left, thinking.left) << task << " " << n;
      EXPECT_EQ(plain.right, thinking.right) << task << " " << n;
    }
}

TEST(status, has_a_word_for_what_rests_on_a_hypothesis) {
  EXPECT_EQ(status_name(Status::conditional), "conditional");
  for (const std::string id : {"cited-retrieval", "cited-thought-gain"})
    EXPECT_EQ(theorem(id).status, Status::conditional) << id;
  for (const std::string id : {"three-sum-layers", "two-sparse-layers"})
    EXPECT_EQ(theorem(id).status, Status::conjecture) << id;
}

}  // namespace
}  // namespace rung
