#include "rung/adversary/full_layer_view.h"
#include "tests/adversary/targets.h"

namespace rung {
namespace {

void expect_pair(const Target& target, const Result<AttackOutcome>& outcome) {
  expect_fooling_pair(target, outcome);
  if (testing::Test::HasFatalFailure()) return;
  const auto& claim = std::get<FoolingPairClaim>(outcome->certificate->claim);
  // The sums of z_2 at the queries of the last tokens are the same, which is more than equal activations.
  const auto view = FullLayerView::make(target);
  ASSERT_TRUE(view);
  const std::int64_t T = target.length(), domain = target.task->answer_spec().size;
  for (const auto& input : view->inputs(claim.pair.first, T - 3, T)) {
    const auto query = view->query(input);
    EXPECT_EQ(view->sums(view->inputs(claim.pair.first, 0, domain), query),
              view->sums(view->inputs(claim.pair.second, 0, domain), query));
  }
}

TEST(full_layer_view, adds_up_to_the_layers_own_output) {
  const auto target = random_target(
      {.architecture = "none+full(heads=2,dim=2,vdim=3)", .width = 5, .precision = 6, .mlp = {4}},
      task_of("seqcomp", {{"L", 2}, {"m", 3}, {"n1", 2}}));
  const auto view = FullLayerView::make(target);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->layer(), 1);
  EXPECT_TRUE(view->first());
  const Prompt prompt = target.task->generate(Variant::uniform, 1, 0).prompt;
  const auto inputs = view->inputs(prompt, 0, target.length());
  const auto query = view->query(inputs.back());
  const auto whole = view->sums(inputs, query);
  ASSERT_EQ(whole.size(), 2u * (3 + 1));
  std::vector<std::int64_t> total(whole.size(), 0);
  for (const auto& input : inputs) {
    const auto share = view->sums({input}, query);
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += share[i];
  }
  EXPECT_EQ(total, whole);
}

TEST(additive_sums, apply_to_a_first_full_layer) {
  const auto task = task_of("seqcomp", {{"L", 2}, {"m", 4}, {"n1", 4}});
  EXPECT_FALSE(attack(random_target({"linear(heads=1,dim=2)+full(heads=1,dim=2)"}, task), "additive", {}));
  EXPECT_FALSE(attack(random_target({"full(heads=1,dim=2)"}, task_of("eva", {{"n", 8}})), "additive", {}));
}

TEST(additive_sums, leave_nothing_to_one_full_layer_alone) {
  const auto target = random_target({.architecture = "full(heads=1,dim=2)", .width = 4, .precision = 4},
                                    task_of("seqcomp", {{"L", 2}, {"m", 16}, {"n1", 16}}));
  const auto outcome = attack(target, "additive", {.seconds = 60});
  expect_pair(target, outcome);
  EXPECT_LE(outcome->evaluations, 4u);
}

TEST(additive_sums, meet_in_the_states_that_cross) {
  const auto target =
      random_target({.architecture = "full(heads=1,dim=2)+linear(heads=1,dim=2)", .width = 4, .precision = 4},
                    task_of("seqcomp", {{"L", 2}, {"m", 16}, {"n1", 16}}));
  const auto outcome = attack(target, "additive", {.seconds = 60});
  expect_pair(target, outcome);
  EXPECT_EQ(outcome->details.at("compared"), "states that leave z_1, 24 bits");
}

// Without positions two places may exchange their values, whatever the precision.
TEST(additive_sums, are_found_for_two_places_together_where_no_two_values_are_twins) {
  const auto target = random_target(
      {.architecture = "full(heads=1,dim=3)", .width = 8, .precision = 12, .position = PositionCode::none},
      task_of("seqcomp", {{"L", 2}, {"m", 8}, {"n1", 8}}));
  const auto outcome = attack(target, "additive", {.seconds = 60});
  expect_pair(target, outcome);
  EXPECT_EQ(outcome->details.at("places"), "2");
}

}  // namespace
}  // namespace rung
