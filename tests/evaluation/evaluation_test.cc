#include "rung/evaluation/evaluation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace rung {
namespace {

// tests/cases/models/first_token.safetensors answers with the first token of its prompt (docs/weights.md
// writes it). On Eva at n = 4 it is right exactly when f(x) = f(0): for x = 0 always, else for a quarter of
// the functions.
Weights first_token() {
  auto weights = read_weights(RUNG_SOURCE_DIR "/tests/cases/models/first_token.safetensors");
  EXPECT_TRUE(weights) << weights.error().message;
  return *weights;
}
constexpr std::uint64_t kInstances = 4 * 4 * 4 * 4 * 4;
constexpr std::uint64_t kRight = kInstances / 4 + kInstances * 3 / 4 / 4;

TEST(Evaluation, counts_a_model_that_is_wrong_as_wrong) {
  const Weights weights = first_token();
  const auto task = make_task("eva", {{"n", 4}});
  ASSERT_TRUE(check_fit(weights, **task)) << check_fit(weights, **task).error().message;
  const auto machine = Machine::load(weights, {.positions = positions_needed(weights, **task)});
  ASSERT_TRUE(machine) << machine.error().message;
  const auto result = evaluate(**machine, weights, **task, {.exhaustive = true, .keep_wrong = 5});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->instances, kInstances);
  EXPECT_EQ(result->right_answers, kRight);
  ASSERT_EQ(result->wrong.size(), 5u);
  for (const auto& wrong : result->wrong) {
    EXPECT_EQ(wrong.instance.answer, (*task)->answer(wrong.instance.prompt));
    EXPECT_NE(wrong.given, wrong.instance.answer);
    EXPECT_EQ(wrong.given[0], wrong.instance.prompt.token(0));
  }
}

TEST(Evaluation, counts_no_answer_where_a_prompt_asks_nothing) {
  const AnswerSpec token{.kind = AnswerSpec::Kind::token, .size = 4};
  EXPECT_EQ(count_right(token, {}, {kNotAsked, 3, kNotAsked, 1}, {2, 3, 0, 0}), 1u);
  // One pair and two places: the model says the key, which is no value, and is asked once a prompt.
  Weights weights = first_token();
  Tensor& positions = weights.tensors.at("embed.position.table");  // a sixth one, as the fifth
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < 30; ++i)
    rows.push_back(positions.integer(std::min<std::int64_t>(i, i % 5 + 20)));
  positions = integer_tensor({6, 5}, rows);
  weights.architecture.dimensions.context = 6;
  const auto task = make_task("mqar", {{"n", 1}, {"M", 1}, {"sigma", 2}, {"queries", 2}}, {{"gaps", "1"}});
  ASSERT_TRUE(task) << task.error().message;
  const auto machine = Machine::load(weights, {.positions = (*task)->prompt_length()});
  ASSERT_TRUE(machine) << machine.error().message;
  const auto result = evaluate(**machine, weights, **task, {.exhaustive = true, .keep_wrong = 5});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->instances, 2u * 2u);
  EXPECT_EQ(result->answers, result->instances);
  EXPECT_EQ(result->right_answers, 0u);
}

TEST(Evaluation, does_not_depend_on_the_number_of_workers) {
  const Weights weights = first_token();
  const auto task = make_task("eva", {{"n", 4}});
  const auto machine = Machine::load(weights, {.positions = 5});
  std::vector<Evaluation> results;
  for (const char* threads : {"1", "2", "7"}) {
    setenv("RUNG_THREADS", threads, 1);
    results.push_back(*evaluate(**machine, weights, **task, {.count = 5000, .keep_wrong = 20}));
  }
  unsetenv("RUNG_THREADS");
  for (const auto& result : results) {
    EXPECT_EQ(result.right_answers, results[0].right_answers);
    ASSERT_EQ(result.wrong.size(), results[0].wrong.size());
    for (std::size_t i = 0; i < result.wrong.size(); ++i)
      EXPECT_EQ(result.wrong[i].index, results[0].wrong[i].index);
  }
}

TEST(Evaluation, refuses_a_task_that_the_model_cannot_be_asked) {
  const Weights weights = first_token();
  const auto larger = make_task("eva", {{"n", 5}});
  EXPECT_FALSE(check_fit(weights, **larger));
  const auto other = make_task("two-sum", {{"n", 4}});
  ASSERT_TRUE(other);
  EXPECT_FALSE(check_fit(weights, **other));
  Weights short_context = weights;
  short_context.architecture.dimensions.context = 4;
  const auto task = make_task("eva", {{"n", 4}});
  const auto fit = check_fit(short_context, **task);
  ASSERT_FALSE(fit);
  EXPECT_NE(fit.error().message.find("context is 4"), std::string::npos);
}

TEST(Evaluation, stops_when_asked_and_says_so) {
  const Weights weights = first_token();
  const auto task = make_task("eva", {{"n", 4}});
  const auto machine = Machine::load(weights, {.positions = 5});
  const auto result = evaluate(**machine, weights, **task, {.count = 100'000, .stop = [] { return true; }});
  EXPECT_TRUE(result->stopped);
  EXPECT_LE(result->instances, 64u);  // of a slow model more would take long
}

TEST(WilsonInterval, holds_the_share_and_closes_at_the_ends) {
  EXPECT_EQ(wilson_interval(0, 10).low, 0);
  EXPECT_EQ(wilson_interval(10, 10).high, 1);
  const auto half = wilson_interval(50, 100);
  EXPECT_NEAR(half.low, 0.4038, 1e-4);
  EXPECT_NEAR(half.high, 0.5962, 1e-4);
}

}  // namespace
}  // namespace rung
