// The worked example of docs/adding_a_theorem.md: a bound as data and a function, its hypotheses broken in
// turn, and its count compared with the exact number of classes.
#include <algorithm>
#include <cmath>

#include "rung/capacity/capacity.h"
#include "rung/theory/recurrent_cut.h"
#include "tests/docs/page_code.h"
#include "tests/theory/asked.h"

namespace rung {
namespace {

// Dyck-(k,D) against recurrent stacks: after t = min(D, n/2) opening brackets the state must determine their
// types.
//
// Claim. s >= min(D, ⌊n/2⌋) lg k for even n. Two different strings of t opening brackets differ at some
// place; the closing brackets of the first, filled up with pairs to n, make the first a well-nested word and
// the second none. So all k^t beginnings are told apart. Status: proved; any chain of thought; every
// arithmetic.
std::optional<Verdict> recurrent_dyck(const Theorem& theorem, const Setting& setting,
                                      const Question& question) {
  const std::int64_t types = question.size("k"), depth = question.size("depth");
  const bool odd = question.fixed && question.size("n") % 2 != 0;  // an odd number of brackets never nests
  auto v = cut_verdict(theorem, setting, question,
                       {.prefix = "min(D, n/2) opening brackets",
                        .symbolic = "min(D, n/2) lg k",
                        .classes = [=](std::int64_t n) -> std::optional<Count> {
                          if (odd) return std::nullopt;
                          return Count::power(types, std::min(depth, n / 2));
                        },
                        .n = question.size("n")});
  v.parameters["k"] = types;
  v.parameters["depth"] = depth;
  return v;
}

std::vector<Theorem> recurrent_bracket_theorems() {
  return {
      {.id = "recurrent-dyck", .tasks = {"dyck"}, .variants = kEveryPrompt, .evaluate = recurrent_dyck},
  };
}

Verdict asked(const Asked& asked, const std::string& line, const TaskSizes& sizes) {
  static const auto theorem = recurrent_bracket_theorems().front();
  const Setting setting = asked.setting(line);
  const auto question = make_question("dyck", sizes, setting.context, false);
  EXPECT_TRUE(question);
  return *apply(theorem, setting, *question);
}

// An Elman layer of 3 numbers, 4 bits each: 12 state bits.
Asked small() { return Asked().width(3).heads(1).bits(4); }

TEST(example_theorem, says_nothing_where_a_hypothesis_fails) {
  const TaskSizes deep{{"n", 64}, {"k", 4}, {"depth", 7}};
  EXPECT_EQ(asked(small(), "rnn", deep).outcome, Outcome::impossible);
  EXPECT_NE(asked(small(), "rnn+full", deep).outcome, Outcome::impossible);
  EXPECT_NE(asked(small().encoder(), "linear", deep).outcome, Outcome::impossible);
  EXPECT_NE(asked(small(), "rnn", {{"n", 63}, {"k", 4}, {"depth", 7}}).outcome, Outcome::impossible);
}

TEST(example_theorem, says_impossible_exactly_where_the_stacks_outnumber_the_states) {
  const auto fits = asked(small(), "rnn", {{"n", 64}, {"k", 4}, {"depth", 6}});
  EXPECT_EQ(fits.outcome, Outcome::vacuous);
  EXPECT_EQ(*fits.left, 12);
  EXPECT_EQ(*fits.right, 12);
  EXPECT_EQ(*asked(small(), "rnn", {{"n", 64}, {"k", 4}, {"depth", 7}}).left, 14);
  EXPECT_EQ(asked(small(), "rnn", {{"n", 12}, {"k", 4}, {"depth", 7}}).outcome,
            Outcome::vacuous);  // 6 brackets at most
  EXPECT_EQ(asked(small().bf16().thought(), "rnn", {{"n", 128}, {"k", 4}, {"depth", 25}}).outcome,
            Outcome::impossible);
}

TEST(example_theorem, asks_for_no_more_than_the_classes_that_there_are) {
  for (const std::int64_t n : {2, 4, 6})
    for (const std::int64_t types : {1, 2, 3})
      for (const std::int64_t depth : {1, 2, 3}) {
        auto task = make_task("dyck", {{"n", n}, {"k", types}, {"depth", depth}});
        ASSERT_TRUE(task);
        const auto counted = count_capacity(**task, {});
        ASSERT_TRUE(counted);
        const auto v = asked(small(), "rnn", {{"n", n}, {"k", types}, {"depth", depth}});
        const auto& most = counted->cuts[counted->largest];
        EXPECT_TRUE(most.exact());
        EXPECT_LE(*v.left, std::log2(static_cast<double>(most.classes)) + 1e-9)
            << n << " " << types << " " << depth;
      }
}

TEST(example_theorem, stands_in_the_page_word_for_word) {
  expect_shown("docs/adding_a_theorem.md", "tests/theory/example_theorem_test.cc", "// Dyck");
}

}  // namespace
}  // namespace rung
