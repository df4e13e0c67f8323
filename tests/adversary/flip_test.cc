#include "rung/adversary/forced_proof.h"
#include "rung/adversary/prompt_family.h"
#include "rung/theory/one_full_layer.h"
#include "tests/adversary/targets.h"

namespace rung {
namespace {

// Both prompts rerun here, apart from the attack: equal activations, answers that differ.
void expect_fooled(const Target& target, const Certificate& certificate) {
  const auto& claim = std::get<FoolingPairClaim>(certificate.claim);
  const std::vector<std::int64_t> wanted{claim.pair.position};
  const auto one = target.machine->forward(claim.pair.first, wanted),
             two = target.machine->forward(claim.pair.second, wanted);
  ASSERT_TRUE(one && two);
  EXPECT_EQ((*one)[0].activation, claim.pair.activation);
  EXPECT_EQ((*two)[0].activation, claim.pair.activation);
  EXPECT_EQ(target.task->answer(claim.pair.first), claim.pair.first_answer);
  EXPECT_EQ(target.task->answer(claim.pair.second), claim.pair.second_answer);
  EXPECT_NE(claim.pair.first_answer, claim.pair.second_answer);
}

TEST(flip, cannot_fool_models_that_solve_their_task) {
  for (const std::string name : {"seqcomp", "eva"}) {
    const auto target = constructed_target(
        name, name == "eva" ? TaskSizes{{"n", 6}} : TaskSizes{{"L", 2}, {"m", 3}, {"n1", 2}});
    const auto outcome = attack(target, "flip", {.seconds = 0.5});
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->verdict, Evidence::unverified);
    EXPECT_FALSE(outcome->certificate);
  }
}

TEST(prompt_family, varies_the_end_of_the_last_function_and_always_reads_its_last_entry) {
  const auto task = task_of("seqcomp", {{"L", 3}, {"m", 3}, {"n1", 2}, {"n2", 4}});
  const PromptFamily family(*task, 5);
  const Prompt base = family.member(0);
  bool moved = false;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Prompt member = family.member(i);
    ASSERT_TRUE(task->validate(member));
    EXPECT_EQ(task->answer(member), std::vector<std::int64_t>{member.token(23)});
    for (std::int64_t t = 0; t < member.positions; ++t)
      if (t < family.first_varying() || t >= 24) {
        EXPECT_EQ(member.token(t), base.token(t));
      }
    moved = moved || member.token(23) != base.token(23);
  }
  EXPECT_TRUE(moved);
}

// The smallest sizes, a token at a time below which the theorem says nothing.
TEST(forced_proof, speaks_where_the_count_reaches_and_nowhere_below) {
  const RandomTarget model{
      .architecture = "full(heads=1,dim=2)+linear(heads=1,dim=2)", .width = 2, .precision = 4};
  const auto certified = random_target(model, task_of("seqcomp", {{"L", 2}, {"m", 64}, {"n1", 64}}));
  const auto bits = one_full_layer_bits(certified);
  ASSERT_TRUE(bits);
  EXPECT_EQ(bits->after, 1 * 2 * 3 * 4);  // H d (d+1) p
  EXPECT_EQ(bits->partial, 2 * (16 + 4 + 13 + 1) + 16 + 13);
  const auto proof = forced_proof(certified);
  ASSERT_TRUE(proof);
  EXPECT_LE(proof->T * proof->x0, 64);
  EXPECT_LE(proof->y, 64);
  EXPECT_GT(static_cast<double>(proof->T * proof->x0 * proof->y) * 12,
            static_cast<double>((proof->x0 + proof->y + 1) * bits->partial + proof->T * bits->after));
  EXPECT_FALSE(forced_proof(random_target(model, task_of("seqcomp", {{"L", 2}, {"m", 5}, {"n1", 5}}))));
  const RandomTarget early{
      .architecture = "linear(heads=1,dim=2)+full(heads=1,dim=2)", .width = 2, .precision = 4};
  EXPECT_FALSE(forced_proof(random_target(early, task_of("seqcomp", {{"L", 2}, {"m", 64}, {"n1", 64}}))));
  const RandomTarget shifted{
      .architecture = "full(heads=1,dim=2,conv=4)+linear(heads=1,dim=2)", .width = 2, .precision = 4};
  EXPECT_FALSE(forced_proof(random_target(shifted, task_of("seqcomp", {{"L", 2}, {"m", 64}, {"n1", 64}}))));
}

TEST(flip, one_full_layer_and_a_hundred_linear_ones_are_fooled_where_theory_says_all_must_be) {
  // The smallest prompt at which the count reaches these shapes: 803 tokens, and not one entry of z_1 less.
  const RandomTarget model{
      .architecture = "full(heads=1,dim=2)+linear(heads=1,dim=2)*100", .width = 4, .precision = 4};
  const auto task = task_of("seqcomp", {{"L", 2}, {"m", 25}, {"n1", 31}});
  ASSERT_EQ(task->prompt_length(), 803);
  EXPECT_FALSE(forced_proof(random_target(model, task_of("seqcomp", {{"L", 2}, {"m", 24}, {"n1", 31}}))));
  const auto target = random_target(model, task);
  EXPECT_EQ(target.layers.size(), 101u);
  const auto outcome = attack(target, "flip", {.seconds = 60});
  ASSERT_TRUE(outcome);
  ASSERT_EQ(outcome->verdict, Evidence::refuted) << outcome->reason;
  expect_fooled(target, *outcome->certificate);
  const auto& claim = std::get<FoolingPairClaim>(outcome->certificate->claim);
  EXPECT_EQ(claim.pair.label, ClaimLabel::forced);
  ASSERT_TRUE(claim.proof);
  for (std::int64_t t = 25 * 31; t < task->prompt_length(); ++t)
    EXPECT_EQ(claim.pair.first.token(t), claim.pair.second.token(t));
}

TEST(flip, finds_pairs_of_other_tasks_and_architectures) {
  const auto eva = random_target({.architecture = "full(heads=1,dim=2)*2", .width = 3, .precision = 4},
                                 task_of("eva", {{"n", 16}}));
  const auto outcome = attack(eva, "flip", {.seconds = 60});
  ASSERT_TRUE(outcome);
  ASSERT_EQ(outcome->verdict, Evidence::refuted) << outcome->reason;
  expect_fooled(eva, *outcome->certificate);
  EXPECT_EQ(std::get<FoolingPairClaim>(outcome->certificate->claim).pair.label, ClaimLabel::found);
}

}  // namespace
}  // namespace rung
