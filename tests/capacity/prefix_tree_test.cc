#include "rung/capacity/prefix_tree.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "rung/tasks/token_task.h"

namespace rung {
namespace {

constexpr TreeLimits kRoomy{.prompts = 10'000'000, .bytes = std::int64_t{1} << 30};

std::unique_ptr<Task> small_task(const char* name, const TaskSizes& sizes) {
  auto made = make_task(name, sizes);
  RUNG_REQUIRE(made.ok(), "{}", made.ok() ? "" : made.error().message);
  return std::move(*made);
}

// A deterministic automaton with outputs at given positions, run as a task.
class AutomatonTask final : public TokenTask {
 public:
  AutomatonTask(int length, int letters, std::vector<std::vector<int>> step, std::vector<int> output,
                std::vector<std::int64_t> queries)
      : length_(length),
        letters_(letters),
        step_(std::move(step)),
        output_(std::move(output)),
        queries_(std::move(queries)) {}
  std::string_view name() const override { return "automaton"; }
  SizeList size() const override { return {{"n", length_}}; }
  AnswerSpec answer_spec() const override { return token_answer(8); }
  std::int64_t prompt_length() const override { return length_; }
  std::vector<std::int64_t> query_positions() const override { return queries_; }
  bool supports(Variant) const override { return true; }
  Instance generate(Variant, std::uint64_t, std::uint64_t) const override { return {}; }
  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    std::vector<std::int64_t> answers;
    int state = 0;
    std::size_t query = 0;
    for (std::int64_t t = 0; t < length_; ++t) {
      state = step_[state][prompt.token(t)];
      if (query < queries_.size() && queries_[query] == t) answers.push_back(output_[state]), ++query;
    }
    return answers;
  }

 protected:
  std::int64_t vocabulary() const override { return letters_; }
  Range range(std::int64_t) const override { return {0, letters_}; }

 private:
  int length_, letters_;
  std::vector<std::vector<int>> step_;
  std::vector<int> output_;
  std::vector<std::int64_t> queries_;
};

// The slow way: every prefix of t tokens, its whole row of later answers, compared as vectors.
void complete(const Task& task, Prompt& prefix, std::int64_t cut, std::vector<std::int64_t>& row) {
  if (prefix.positions == task.prompt_length()) {
    const auto answers = task.answer(prefix);
    const auto queries = task.query_positions();
    for (std::size_t q = 0; q < queries.size(); ++q)
      if (queries[q] >= cut) row.push_back(answers[q]);
    return;
  }
  for (std::int64_t c = 0, choices = task.choices(prefix); c < choices; ++c) {
    task.extend(prefix, c);
    complete(task, prefix, cut, row);
    task.retract(prefix);
  }
}
void slow_rows(const Task& task, Prompt& prefix, std::int64_t cut,
               std::set<std::vector<std::int64_t>>& rows) {
  if (prefix.positions == cut) {
    std::vector<std::int64_t> row;
    complete(task, prefix, cut, row);
    rows.insert(row);
    return;
  }
  for (std::int64_t c = 0, choices = task.choices(prefix); c < choices; ++c) {
    task.extend(prefix, c);
    slow_rows(task, prefix, cut, rows);
    task.retract(prefix);
  }
}
std::int64_t slow_count(const Task& task, std::int64_t cut) {
  std::set<std::vector<std::int64_t>> rows;
  Prompt prefix = task.empty_prompt();
  slow_rows(task, prefix, cut, rows);
  return static_cast<std::int64_t>(rows.size());
}

void expect_slow_counts(const Task& task) {
  const auto tree = fold_prefix_tree(task, kRoomy);
  ASSERT_TRUE(tree) << tree.error().message;
  ASSERT_TRUE(tree->complete);
  ASSERT_EQ(tree->cuts.size(), static_cast<std::size_t>(task.prompt_length() + 1));
  for (std::int64_t cut = 0; cut <= task.prompt_length(); ++cut) {
    const RowCount& count = tree->cuts[static_cast<std::size_t>(cut)];
    EXPECT_EQ(count.position, cut);
    EXPECT_EQ(count.lower, count.upper);
    EXPECT_EQ(count.upper, slow_count(task, cut)) << task.name() << " cut " << cut;
  }
}

TEST(PrefixTree, a_task_that_forgets_its_first_token_has_one_class_there) {
  // Two states; the second token alone decides.
  expect_slow_counts(AutomatonTask(2, 2, {{0, 1}, {0, 1}}, {0, 1}, {1}));
  const auto tree = fold_prefix_tree(AutomatonTask(2, 2, {{0, 1}, {0, 1}}, {0, 1}, {1}), kRoomy);
  EXPECT_EQ(tree->cuts[1].upper, 1);
}

RC_GTEST_PROP(PrefixTree, random_automata_agree_with_comparing_all_rows, ()) {
  const int states = *rc::gen::inRange(1, 6), letters = *rc::gen::inRange(1, 4),
            length = *rc::gen::inRange(1, 6);
  std::vector<std::vector<int>> step;
  for (int s = 0; s < states; ++s)
    step.push_back(*rc::gen::container<std::vector<int>>(letters, rc::gen::inRange(0, states)));
  const auto output = *rc::gen::container<std::vector<int>>(states, rc::gen::inRange(-2, 3));
  std::vector<std::int64_t> queries;
  for (int t = 0; t + 1 < length; ++t)
    if (*rc::gen::arbitrary<bool>()) queries.push_back(t);
  queries.push_back(length - 1);
  const AutomatonTask automaton(length, letters, step, output, queries);
  expect_slow_counts(automaton);
}

TEST(PrefixTree, eva_needs_every_function) {
  std::int64_t functions[] = {0, 1, 4, 27, 256, 3125, 46656};
  for (int n = 1; n <= 6; ++n) {
    const auto eva = small_task("eva", {{"n", n}});
    const auto tree = fold_prefix_tree(*eva, kRoomy);
    ASSERT_TRUE(tree && tree->complete);
    EXPECT_EQ(tree->cuts[static_cast<std::size_t>(n)].upper, functions[n]);
    EXPECT_EQ(tree->cuts[static_cast<std::size_t>(n)].lower, functions[n]);
    if (n <= 4) expect_slow_counts(*eva);
  }
}

TEST(PrefixTree, index_needs_every_word) {
  for (int sigma : {1, 2, 3})
    for (int n : {1, 3, 5}) {
      const auto tree = fold_prefix_tree(*small_task("index", {{"n", n}, {"sigma", sigma}}), kRoomy);
      ASSERT_TRUE(tree && tree->complete);
      EXPECT_EQ(tree->cuts[static_cast<std::size_t>(n)].upper, static_cast<std::int64_t>(std::pow(sigma, n)));
    }
}

TEST(PrefixTree, two_sum_needs_every_set_of_seen_values) {
  for (int n = 1; n <= 4; ++n)
    for (int M = 1; M <= 6; ++M) {
      std::int64_t sets = 0, choose = 1;
      for (int j = 1; j <= std::min(n, M); ++j) sets += choose = choose * (M - j + 1) / j;
      const auto two_sum = small_task("two-sum", {{"n", n}, {"M", M}});
      const auto tree = fold_prefix_tree(*two_sum, kRoomy);
      ASSERT_TRUE(tree && tree->complete);
      EXPECT_EQ(tree->cuts[static_cast<std::size_t>(n)].upper, sets) << n << " " << M;
      if (n <= 3 && M <= 4) expect_slow_counts(*two_sum);
    }
}

TEST(PrefixTree, several_workers_count_what_one_counts) {
  const auto eva = small_task("eva", {{"n", 6}});  // above the sequential limit
  setenv("RUNG_THREADS", "1", 1);
  const auto one = fold_prefix_tree(*eva, kRoomy);
  setenv("RUNG_THREADS", "3", 1);
  const auto three = fold_prefix_tree(*eva, kRoomy);
  unsetenv("RUNG_THREADS");
  ASSERT_TRUE(one && three && one->complete && three->complete);
  EXPECT_EQ(one->prompts, 6 * 46656);
  for (std::size_t t = 0; t < one->cuts.size(); ++t) EXPECT_EQ(one->cuts[t].upper, three->cuts[t].upper);
}

// Both values of the second token are legal only after a first token of 2; otherwise it repeats the first.
class RepeatTask final : public TokenTask {
 public:
  explicit RepeatTask(bool acausal = false) : acausal_(acausal) {}
  std::string_view name() const override { return "repeat"; }
  SizeList size() const override { return {}; }
  AnswerSpec answer_spec() const override { return token_answer(3); }
  std::int64_t prompt_length() const override { return 2; }
  std::vector<std::int64_t> query_positions() const override {
    return acausal_ ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>{1};
  }
  bool supports(Variant) const override { return true; }
  Instance generate(Variant, std::uint64_t, std::uint64_t) const override { return {}; }
  std::vector<std::int64_t> answer(const Prompt& prompt) const override { return {prompt.token(1)}; }
  std::int64_t choices(const Prompt& prefix) const override {
    return prefix.positions == 0 ? 3 : prefix.token(0) == 2 ? 2 : 1;
  }
  void extend(Prompt& prefix, std::int64_t choice) const override {
    prefix.fields[0].push_back(prefix.positions == 0 || prefix.token(0) == 2 ? choice : prefix.token(0));
    ++prefix.positions;
  }

 protected:
  std::int64_t vocabulary() const override { return 3; }
  Range range(std::int64_t) const override { return {0, 3}; }

 private:
  bool acausal_;
};

TEST(PrefixTree, prefixes_with_different_legal_continuations_need_not_be_told_apart) {
  const auto tree = fold_prefix_tree(RepeatTask(), kRoomy);
  ASSERT_TRUE(tree && tree->complete);
  EXPECT_EQ(tree->cuts[1].upper, 3);  // 0 | 1 | 2, as lists of continuations
  EXPECT_EQ(tree->cuts[1].lower, 1);  // one state serves: it copies the next token
}

TEST(PrefixTree, an_answer_that_needs_later_tokens_is_refused) {
  const auto tree = fold_prefix_tree(RepeatTask(true), kRoomy);
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code, ErrorCode::unsupported);
}

TEST(PrefixTree, limits_end_the_count_and_say_so) {
  const auto eva = small_task("eva", {{"n", 6}});
  const auto tree = fold_prefix_tree(*eva, {.prompts = 10'000'000, .bytes = 1000});
  ASSERT_TRUE(tree);
  EXPECT_FALSE(tree->complete);
  EXPECT_TRUE(tree->cuts.empty());
}

}  // namespace
}  // namespace rung
