#include "tests/adversary/targets.h"

namespace rung {
namespace {

TEST(class_refinement, applies_to_one_full_layer_among_recurrent_ones_on_2_seqcomp) {
  const auto task = task_of("seqcomp", {{"L", 2}, {"m", 2}, {"n1", 2}});
  for (const char* architecture :
       {"full(heads=1,dim=1)*2", "linear(heads=1,dim=1)", "full(heads=1,dim=1,conv=2)"}) {
    const auto outcome = attack(random_target({architecture}, task), "decomposition", {});
    ASSERT_FALSE(outcome) << architecture;
    EXPECT_NE(outcome.error().message.find("does not apply"), std::string::npos);
  }
  EXPECT_FALSE(attack(
      random_target({"full(heads=1,dim=1)+linear(heads=1,dim=1)"}, task_of("seqcomp", {{"L", 3}, {"m", 2}})),
      "decomposition", {}));
}

TEST(class_refinement, counts_all_functions_of_the_smallest_toy) {
  const auto target =
      random_target({.architecture = "full(heads=1,dim=1)+linear(heads=1,dim=1)", .width = 2, .precision = 4},
                    task_of("seqcomp", {{"L", 2}, {"m", 4}, {"n1", 2}}));
  const auto outcome = attack(target, "decomposition", {.seconds = 60});
  expect_fooling_pair(target, outcome);
  EXPECT_EQ(outcome->details.at("stage 1").find("partial sums at the last tokens: 16777216 tried"), 0u)
      << outcome->details.at("stage 1");
  EXPECT_EQ(outcome->details.at("T,x0,y"), "2,2,2");
  // Not this question alone: the two functions end alike for every t, z_0 and w.
  const auto& pair = std::get<FoolingPairClaim>(outcome->certificate->claim).pair;
  for (std::int64_t t = 0; t < 2; ++t)
    for (std::int64_t z0 = 0; z0 < 2; ++z0)
      for (std::int64_t w = 0; w < 2; ++w) {
        Prompt one = pair.first, two = pair.second;
        for (auto* prompt : {&one, &two}) {
          const std::vector<std::int64_t> bottom{2 * t, 2 * t + 1, 0, 0, z0, w, 8};
          std::copy(bottom.begin(), bottom.end(), prompt->fields[0].begin() + 8);
        }
        const std::vector<std::int64_t> wanted{pair.position};
        EXPECT_EQ((*target.machine->forward(one, wanted))[0].activation,
                  (*target.machine->forward(two, wanted))[0].activation);
      }
}

TEST(class_refinement, refines_early_recurrence_by_its_states_first) {
  const auto target =
      random_target({.architecture = "linear(heads=1,dim=1)+full(heads=1,dim=1)+linear(heads=1,dim=1)",
                     .width = 2,
                     .precision = 3},
                    task_of("seqcomp", {{"L", 2}, {"m", 2}, {"n1", 2}}));
  const auto outcome = attack(target, "decomposition", {.seconds = 60});
  expect_fooling_pair(target, outcome);
  EXPECT_EQ(outcome->details.at("stage 1").find("states before the full layer: 65536 tried"), 0u)
      << outcome->details.at("stage 1");
}

}  // namespace
}  // namespace rung
