// The end of a member that has learned what it will: the rule on curves written down, and on members that are trained.
#include "rung/learn/plateau.h"

#include "tests/learn/training.h"

namespace rung::learn {
namespace {

TrainingPlan patient() {
  TrainingPlan plan = small_plan("full", "eva", {{"n", 5}});
  plan.warmup = 5;
  plan.patience = 3;
  plan.gain = 0.05;
  plan.floor = 0.06;  // a quarter and a sixteenth are above it
  return plan;
}

std::vector<CurvePoint> curve_through(const std::vector<double>& accuracies) {
  std::vector<CurvePoint> curve;
  for (const double accuracy : accuracies)
    curve.push_back({.step = 10 * (static_cast<std::int64_t>(curve.size()) + 1), .accuracy = {accuracy}});
  return curve;
}

TEST(plateau, slows_a_member_that_stands_still_and_ends_it_at_the_floor) {
  const TrainingPlan plan = patient();
  std::vector<double> accuracies{0.3, 0.5};
  const auto share_after = [&](int still) {
    std::vector<double> all = accuracies;
    all.insert(all.end(), static_cast<std::size_t>(still), 0.5);
    return pace(plan, curve_through(all));
  };
  EXPECT_EQ(share_after(0).share, 1);
  EXPECT_EQ(share_after(2).share, 1);
  EXPECT_EQ(share_after(3).share, 0.25);
  EXPECT_EQ(share_after(5).share, 0.25);
  EXPECT_EQ(share_after(6).share, 0.0625);
  EXPECT_FALSE(share_after(8).at_rest);
  EXPECT_TRUE(share_after(9).at_rest);
}

TEST(plateau, lets_a_member_go_on_as_long_as_it_gains_however_slowly) {
  const TrainingPlan plan = patient();
  std::vector<double> slowly;
  for (int i = 0; i < 30; ++i) slowly.push_back(0.1 + 0.02 * i);  // more than 0.05 in three evaluations
  EXPECT_EQ(pace(plan, curve_through(slowly)).share, 1);
  for (double& accuracy : slowly) accuracy = 0.1 + 0.1 * (accuracy - 0.1);  // and less
  EXPECT_TRUE(pace(plan, curve_through(slowly)).at_rest);
}

TEST(plateau, measures_a_gain_by_the_best_so_far_and_the_worst_task) {
  const TrainingPlan plan = patient();
  EXPECT_EQ(pace(plan, curve_through({0.5, 0.2, 0.3, 0.4})).share, 0.25) << "back to where it was is no gain";
  std::vector<CurvePoint> two = curve_through({0.5, 0.5, 0.5, 0.5});
  for (std::size_t i = 0; i < two.size(); ++i) two[i].accuracy = {0.2, 0.5 + 0.1 * static_cast<double>(i)};
  EXPECT_EQ(pace(plan, two).share, 0.25);
}

TEST(plateau, counts_the_whole_task_and_numbers_that_are_rounded_alone) {
  TrainingPlan plan = patient();
  plan.support = {{{"n", 2}}};
  std::vector<CurvePoint> curve = curve_through({0.2, 0.2, 0.2, 0.2, 0.2});
  EXPECT_EQ(pace(plan, curve).share, 1);
  for (CurvePoint& point : curve) point.stage = 1;
  EXPECT_EQ(pace(plan, curve).share, 0.25);
  plan.carry_bits = 4, plan.round_after = 45;
  EXPECT_EQ(pace(plan, curve).share, 1) << "rounded from the last evaluation on";
}

TEST(plateau, begins_behind_the_warm_up) {
  TrainingPlan plan = patient();
  plan.warmup = 20;
  EXPECT_EQ(pace(plan, curve_through({0.5, 0.5, 0.5, 0.5, 0.5})).share, 1);
  EXPECT_EQ(pace(plan, curve_through({0.5, 0.5, 0.5, 0.5, 0.5, 0.5})).share, 0.25);
}

TEST(plateau, ends_members_that_do_not_learn_and_those_that_have_the_same_alone_and_in_company) {
  TrainingPlan plan = patient();
  plan.steps = 4000;
  plan.gain = 0.15;  // far outside what 64 instances vary by
  plan.evaluate_every = 10;
  plan.evaluate_count = 64;
  plan.seeds = {1, 2};
  plan.rates = {1e-2, 1e-9};
  Folder folder;
  const auto together = train_in(plan, folder / "together", 2);
  ASSERT_TRUE(together.ok()) << together.error().message;
  for (const MemberResult& member : together->members) {
    EXPECT_LT(member.steps, plan.steps);
    EXPECT_TRUE(pace(plan, member.curve).at_rest);
    EXPECT_EQ(ending_note(plan, member.curve), "");
    TrainingPlan alone = plan;
    alone.seeds = {member.plan.seed};
    alone.rates = {member.plan.rate};
    const auto result = train_in(alone, folder / ("alone" + std::to_string(member.plan.index)), 1);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(member.curve, result->members[0].curve);
  }
  // One evaluation sets the best, three a rate and three rates.
  EXPECT_EQ(together->members[2].steps, 100);
  EXPECT_GT(together->members[0].steps, 100);
}

TEST(plateau, says_of_a_member_that_the_steps_ended_that_it_was_learning) {
  TrainingPlan plan = patient();
  plan.steps = 60;
  EXPECT_EQ(ending_note(plan, curve_through({0.1, 0.2, 0.3, 0.4, 0.5, 0.6})),
            "had not come to rest at the last step");
  plan.stop = 0.6;
  EXPECT_EQ(ending_note(plan, curve_through({0.1, 0.2, 0.3, 0.4, 0.5, 0.6})), "");
  plan.stop.reset(), plan.patience = 0;
  EXPECT_EQ(ending_note(plan, curve_through({0.1, 0.2, 0.3, 0.4, 0.5, 0.6})), "");
}

TEST(plateau, goes_on_after_a_restart_at_the_rate_that_it_had) {
  TrainingPlan plan = patient();
  plan.steps = 400;
  plan.evaluate_every = 10;
  plan.evaluate_count = 64;
  plan.rates = {1e-2};
  const Parts parts(plan);
  Trainer whole = parts.trainer();
  while (!whole.finished()) run_to(whole, plan, whole.step_count() + 10);
  const std::vector<CurvePoint>& curve = whole.progress()[0].curve;
  std::ptrdiff_t slower = 1;
  while (slower < std::ssize(curve) && pace(plan, {curve.begin(), curve.begin() + slower}).share == 1)
    ++slower;
  ASSERT_LT(slower + 1, std::ssize(curve));
  Folder folder;
  Trainer first = parts.trainer();
  run_to(first, plan, curve[static_cast<std::size_t>(slower)].step);
  ASSERT_TRUE(first.save(folder / "checkpoint").ok());
  Trainer second = parts.trainer();
  ASSERT_TRUE(second.restore(folder / "checkpoint").ok());
  while (!second.finished()) run_to(second, plan, second.step_count() + 10);
  EXPECT_EQ(second.progress()[0].curve, curve);
}

TEST(plateau, keeps_the_rate_that_a_plan_without_patience_does_not_have) {
  // Without patience the cosine has brought the rate down by the end; with it the last step is as large as the first.
  TrainingPlan plan = patient();
  plan.steps = 40, plan.warmup = 1, plan.evaluate_every = 40, plan.rates = {1e-3};
  const auto moved = [](const TrainingPlan& given) {
    const Parts parts(given);
    Trainer trainer = parts.trainer();
    run_to(trainer, given, given.steps - 1);
    const Weights before = trainer.weights(0, {});
    trainer.step();
    const Weights after = trainer.weights(0, {});
    double most = 0;
    for (const auto& [name, tensor] : before.tensors) {
      const rung::Tensor& now = after.tensors.at(name);
      for (std::int64_t i = 0; i < tensor.size(); ++i)
        most = std::max(most, std::abs(now.real(i) - tensor.real(i)));
    }
    return most;
  };
  TrainingPlan cosine = plan;
  cosine.patience = 0;
  EXPECT_GT(moved(plan), 5 * moved(cosine));
}

}  // namespace
}  // namespace rung::learn
