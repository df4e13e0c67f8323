#include "rung/adversary/state_collision.h"

#include "rung/adversary/state_bits.h"
#include "rung/exact/mixer.h"
#include "rung/exact/model_parts.h"
#include "tests/adversary/targets.h"

namespace rung {
namespace {

TEST(state_collision, needs_a_state_that_does_not_grow) {
  EXPECT_FALSE(
      attack(random_target({"linear(heads=1,dim=2)+full(heads=1,dim=2)"}, task_of("eva", {{"n", 8}})),
             "states", {}));
  EXPECT_FALSE(attack(random_target({"none"}, task_of("eva", {{"n", 8}})), "states", {}));
}

// A count below what the machine keeps would force collisions that are none.
TEST(state_bits, are_those_that_the_machine_hands_over) {
  for (const char* line :
       {"loglinear(base=gdelta,form=plain,heads=1,dim=2)",
        "loglinear(base=mamba2,form=released,heads=1,dim=2,state=2,conv=3)",
        "loglinear(base=mamba2,form=released,partition=strong,heads=1,dim=2,state=2,conv=3)",
        "loglinear(base=gdelta,form=released,partition=strong,heads=2,dim=1)",
        "mamba(form=released,inner=2,state=2)", "mamba(form=released,norms=after,inner=2,state=2,conv=3)"}) {
    const auto target = random_target({line}, task_of("eva", {{"n", 40}}));
    const auto mixers = target.machine->parts()->mixers(0);
    for (std::int64_t t = 1; t <= 40; ++t) {
      std::int64_t kept = 0;
      for (const int width : mixers.front()->state_widths(t)) kept += width;
      EXPECT_EQ(nominal_state_bits(target.weights, target.layers, t), kept) << line << " after " << t;
    }
  }
}

TEST(state_collision, cannot_break_a_model_that_keeps_everything) {
  const auto target = constructed_target("eva", {{"n", 5}}, {{"by", "linear"}});
  const auto outcome = attack(target, "states", {.seconds = 0.5});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->verdict, Evidence::unverified) << outcome->reason;
}

TEST(state_collision, stays_one_at_a_later_cut_where_it_is_forced) {
  const auto task = task_of("eva", {{"n", 6}});
  const auto target =
      random_target({.architecture = "linear(heads=1,dim=1)", .width = 2, .precision = 3}, task);
  AttackOutcome outcome;
  ASSERT_TRUE(
      collide_states(target, 2, {.seconds = 30}, outcome));  // 6^2 functions, 2^6 states; 6^6 after six
  ASSERT_TRUE(outcome.certificate) << outcome.reason;
  const auto& claim = std::get<CollisionClaim>(outcome.certificate->claim);
  EXPECT_EQ(claim.cut, 6);
  EXPECT_EQ(claim.alphabet, 6);
}

TEST(state_collision, finds_the_cut_where_something_must_be_remembered) {
  // Of a string and its copy only the first half matters; before the last symbol nearly nothing does.
  const auto target = random_target({.architecture = "linear(heads=1,dim=1)", .width = 2, .precision = 3},
                                    task_of("equality", {{"n", 8}}));
  const auto outcome = attack(target, "states", {.seconds = 30});
  ASSERT_TRUE(outcome);
  ASSERT_EQ(outcome->verdict, Evidence::refuted) << outcome->reason;
  const auto& claim = std::get<CollisionClaim>(outcome->certificate->claim);
  EXPECT_EQ(claim.cut, 8);  // 2^8 strings, 2^6 states
  EXPECT_EQ(claim.pair.label, ClaimLabel::forced);
  const auto one = states_after(target, claim.pair.first, claim.cut),
             two = states_after(target, claim.pair.second, claim.cut);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(*one, *two);
  EXPECT_NE(target.task->answer(claim.pair.first), target.task->answer(claim.pair.second));
}

}  // namespace
}  // namespace rung
