#include "rung/adversary/method_list.h"

#include "rung/adversary/state_bits.h"
#include "tests/adversary/targets.h"

namespace rung {
namespace {

void expect_collision(const Target& target, const AttackOutcome& outcome, std::int64_t cut,
                      ClaimLabel label) {
  ASSERT_EQ(outcome.verdict, Evidence::refuted) << outcome.reason;
  const auto& claim = std::get<CollisionClaim>(outcome.certificate->claim);
  EXPECT_EQ(claim.cut, cut);
  EXPECT_EQ(claim.pair.label, label);
  const auto one = states_after(target, claim.pair.first, cut),
             two = states_after(target, claim.pair.second, cut);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(*one, *two);
  EXPECT_EQ(*one, claim.states);
  EXPECT_NE(target.task->answer(claim.pair.first), target.task->answer(claim.pair.second));
  for (std::size_t f = 0; f < claim.pair.first.fields.size(); ++f) {
    const auto length = target.task->fields()[f].length;
    for (std::int64_t t = cut * length; t < target.length() * length; ++t)
      EXPECT_EQ(claim.pair.first.fields[f][static_cast<std::size_t>(t)],
                claim.pair.second.fields[f][static_cast<std::size_t>(t)]);
  }
}

TEST(big_bucket, does_not_apply_to_caches_and_single_states) {
  const auto task = task_of("eva", {{"n", 8}});
  for (const char* architecture :
       {"linear(heads=1,dim=2)", "loglinear(base=linear,heads=1,dim=2)+full(heads=1,dim=2)",
        "loglinear(base=gdelta,form=released,partition=strong,heads=1,dim=2)"}) {
    const auto outcome = attack(random_target({architecture}, task), "big-bucket", {});
    ASSERT_FALSE(outcome);
    EXPECT_NE(outcome.error().message.find("does not apply"), std::string::npos);
  }
}

TEST(big_bucket, counts_one_level_of_every_log_linear_layer) {
  const auto one = random_target({.architecture = "loglinear(base=linear,heads=1,dim=3)", .precision = 5},
                                 task_of("eva", {{"n", 12}}));
  EXPECT_EQ(nominal_state_bits(one.weights, one.layers, 8), 3 * 3 * 5);
  const auto two = random_target(
      {.architecture = "loglinear(base=gdelta,heads=1,dim=2,conv=3,form=plain)+linear(heads=1,dim=2)",
       .precision = 5},
      task_of("eva", {{"n", 12}}));
  EXPECT_EQ(nominal_state_bits(two.weights, two.layers, 8), 2 * 2 * 5 + 2 * (2 + 2 + 2) * 5 + 2 * 3 * 5);
}

TEST(big_bucket, breaks_eva_by_theorem_where_n_is_a_power_of_two_and_where_it_is_not) {
  for (const std::int64_t n : {16, 23}) {
    const auto target =
        random_target({.architecture = "loglinear(base=linear,heads=1,dim=2)", .width = 4, .precision = 6},
                      task_of("eva", {{"n", n}}));
    const auto outcome = attack(target, "big-bucket", {.seconds = 60});
    ASSERT_TRUE(outcome);
    expect_collision(target, *outcome, 16, ClaimLabel::forced);
  }
}

TEST(big_bucket, breaks_other_bases_depths_and_tasks) {
  struct Case {
    const char *architecture, *task;
    TaskSizes sizes;
    std::int64_t cut;
    ClaimLabel label;
  };
  for (const auto& c : std::vector<Case>{
           {"loglinear(base=gdelta,heads=1,dim=2,form=plain)",
            "index",
            {{"n", 40}, {"sigma", 4}},
            32,
            ClaimLabel::forced},
           {"loglinear(base=mamba2,heads=1,dim=2,state=2,form=plain)",
            "mqar",
            {{"n", 10}, {"M", 12}, {"sigma", 5}},
            16,
            ClaimLabel::forced},
           {"loglinear(base=linear,heads=1,dim=2)",
            "retrieval",
            {{"n", 16}, {"D", 8}, {"sigma", 6}},
            16,
            ClaimLabel::forced},
           {"loglinear(base=linear,heads=1,dim=2)*2", "eva", {{"n", 32}}, 32, ClaimLabel::forced},
           {"loglinear(base=linear,heads=1,dim=2)", "two-sum", {{"n", 20}}, 16, ClaimLabel::forced},
           {"loglinear(base=linear,heads=1,dim=2)",
            "seqcomp",
            {{"L", 2}, {"m", 4}, {"n1", 4}},
            16,
            ClaimLabel::forced}}) {
    const auto target =
        random_target({.architecture = c.architecture, .width = 4, .precision = 4}, task_of(c.task, c.sizes));
    const auto outcome = attack(target, "big-bucket", {.seconds = 60});
    ASSERT_TRUE(outcome) << c.architecture;
    SCOPED_TRACE(std::string(c.architecture) + " " + c.task);
    expect_collision(target, *outcome, c.cut, c.label);
  }
}

}  // namespace
}  // namespace rung
