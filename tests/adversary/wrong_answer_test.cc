#include "tests/adversary/targets.h"

namespace rung {
namespace {

TEST(wrong_answer, cannot_be_found_where_every_answer_is_right) {
  const auto target = constructed_target("eva", {{"n", 4}});
  const auto outcome = attack(target, "wrong-answer", {.seconds = 60});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->verdict, Evidence::verified);
  EXPECT_EQ(outcome->evaluations, 4 * 4 * 4 * 4 * 4);
  EXPECT_FALSE(outcome->certificate);
}

TEST(wrong_answer, is_found_in_a_random_model) {
  const auto target = random_target({"full(heads=1,dim=2)"}, task_of("eva", {{"n", 16}}));
  const auto outcome = attack(target, "wrong-answer", {.seconds = 60});
  ASSERT_TRUE(outcome);
  ASSERT_EQ(outcome->verdict, Evidence::refuted);
  const auto& claim = std::get<WrongAnswerClaim>(outcome->certificate->claim);
  EXPECT_NE(claim.answer, claim.expected);
  EXPECT_EQ(target.task->answer(claim.prompt), claim.expected);
}

TEST(wrong_answer, ends_at_the_budget_without_a_verdict) {
  const auto target = constructed_target("eva", {{"n", 64}});
  const auto outcome = attack(target, "wrong-answer", {.seconds = 0.05});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->verdict, Evidence::unverified);
}

TEST(attack, names_the_nearest_method) {
  const auto target = constructed_target("eva", {{"n", 4}});
  const auto outcome = attack(target, "wrong-anwser", {});
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("did you mean \"wrong-answer\"?"), std::string::npos)
      << outcome.error().message;
}

TEST(separation, finds_the_query_where_two_functions_differ) {
  const auto task = task_of("eva", {{"n", 3}});
  const Prompt first{3, {{0, 1, 2}}}, second{3, {{0, 2, 2}}};
  const auto pair = separate(*task, first, second, 100, 1);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->first.token(3), 1);
  EXPECT_NE(task->answer(pair->first), task->answer(pair->second));
  EXPECT_FALSE(separate(*task, first, first, 100, 1));
}

}  // namespace
}  // namespace rung
