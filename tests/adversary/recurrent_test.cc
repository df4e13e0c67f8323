#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "rung/adversary/checkpoint.h"
#include "rung/adversary/state_kernel.h"
#include "tests/adversary/targets.h"

namespace rung {
namespace {

// What a collision certificate claims, checked once more by hand.
void expect_collision(const Target& target, const AttackOutcome& outcome) {
  ASSERT_EQ(outcome.verdict, Evidence::refuted) << outcome.reason;
  ASSERT_TRUE(outcome.certificate);
  const auto& claim = std::get<CollisionClaim>(outcome.certificate->claim);
  EXPECT_NE(claim.pair.first, claim.pair.second);
  EXPECT_EQ(*states_after(target, claim.pair.first, claim.cut), claim.states);
  EXPECT_EQ(*states_after(target, claim.pair.second, claim.cut), claim.states);
  EXPECT_NE(claim.pair.first_answer, claim.pair.second_answer);
  EXPECT_EQ(target.task->answer(claim.pair.first).back(), claim.pair.first_answer.back());
}

TEST(reachable_states, are_counted_exactly) {
  const auto target = random_target(
      {.architecture = "mamba2(heads=1,dim=1,state=2,form=plain)*2", .width = 3, .precision = 4},
      task_of("eva", {{"n", 6}}));
  const auto outcome = attack(target, "reachable", {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  expect_collision(target, *outcome);
  // By brute force over all 6^6 functions with the exact machine.
  std::set<std::vector<std::vector<std::int64_t>>> states;
  for (std::int64_t code = 0; code < 46656; ++code) {
    Prompt prompt{6, {{}}};
    for (std::int64_t i = 0, rest = code; i < 6; ++i, rest /= 6) prompt.fields[0].push_back(rest % 6);
    states.insert(*states_after(target, prompt, 6));
  }
  EXPECT_EQ(outcome->details.at("states"), std::to_string(states.size()));
  EXPECT_NEAR(*outcome->effective_bits, std::log2(static_cast<double>(states.size())), 1e-12);
}

TEST(reachable_states, are_all_different_in_a_model_that_stores_the_function) {
  const auto target = constructed_target("eva", {{"n", 4}}, {{"by", "linear"}});
  const auto method = find_attack_method("reachable");
  ASSERT_TRUE(method);
  const auto outcome = attack(target, "reachable", {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->verdict, Evidence::unverified);
  EXPECT_EQ(outcome->details.at("states"), "256");
}

TEST(reachable_states, resumes_where_the_checkpoint_stands) {
  // A checkpoint is written for slow levels only; a budget that ends at once writes none and says so.
  const auto target = random_target(
      {.architecture = "mamba2(heads=1,dim=1,state=2,form=plain)*2", .width = 3, .precision = 4},
      task_of("eva", {{"n", 6}}));
  const auto outcome = attack(target, "reachable", {.seconds = 0});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->verdict, Evidence::unverified);
}

TEST(distinguished_points, find_a_collision_of_forty_bits) {
  const auto target =
      random_target({.architecture = "mamba2(heads=1,dim=2,state=2,form=plain)", .precision = 10},
                    task_of("eva", {{"n", 16}}));
  const auto outcome = attack(target, "distinguished-points", {.seconds = 60});
  ASSERT_TRUE(outcome);
  expect_collision(target, *outcome);
  EXPECT_LE(*outcome->effective_bits, 46);
  EXPECT_GE(*outcome->effective_bits, 10);
  EXPECT_EQ(std::get<CollisionClaim>(outcome->certificate->claim).nominal_bits, 40);
  EXPECT_EQ(std::get<CollisionClaim>(outcome->certificate->claim).pair.label,
            ClaimLabel::forced);  // 16^16 > 2^40
}

TEST(distinguished_points, find_collisions_of_stacks_and_of_every_task) {
  for (const auto& [name, sizes] :
       std::map<std::string, TaskSizes>{{"index", {{"n", 24}, {"sigma", 3}}},
                                        {"retrieval", {{"n", 8}}},
                                        {"mqar", {{"n", 8}, {"queries", 2}}},
                                        {"two-sum", {{"n", 10}, {"M", 64}}},
                                        {"seqcomp", {{"L", 2}, {"m", 3}, {"n1", 3}}}}) {
    const auto target = random_target({.architecture = "gdelta(heads=1,dim=2,form=plain)+rnn(size=2)",
                                       .precision = 4,
                                       .accumulator = Accumulator::round},
                                      task_of(name, sizes));
    const auto outcome = attack(target, "distinguished-points", {.seconds = 60});
    ASSERT_TRUE(outcome) << name;
    expect_collision(target, *outcome);
  }
}

TEST(distinguished_points, work_as_a_black_box_on_mixers_without_lanes) {
  const auto target =
      random_target({.architecture = "linear(heads=1,dim=2,vdim=1,feature=taylor2,normalised=no)",
                     .width = 2,
                     .precision = 5},
                    task_of("eva", {{"n", 12}}));
  const auto outcome = attack(target, "distinguished-points", {.seconds = 60});
  ASSERT_TRUE(outcome) << outcome.error().message;
  expect_collision(target, *outcome);
  EXPECT_EQ(outcome->details.at("kernel"), "session");
}

TEST(distinguished_points, resume_from_a_checkpoint_and_refuse_a_foreign_one) {
  const std::string path = testing::TempDir() + "/search.checkpoint";
  std::remove(path.c_str());
  const auto task = task_of("eva", {{"n", 32}});
  // Sums modulo 2^20 keep what they get: about 80 bits, far beyond this budget.
  const RandomTarget retentive{.architecture = "linear(heads=1,dim=2,feature=identity,normalised=no)",
                               .precision = 12,
                               .accumulator_bits = 20};
  const auto large = random_target(retentive, task);
  SearchOptions options{.seconds = 0.3, .checkpoint = path};
  const auto first = attack(large, "distinguished-points", options);
  ASSERT_TRUE(first);
  ASSERT_EQ(first->verdict, Evidence::unverified);
  const auto second = attack(large, "distinguished-points", options);
  ASSERT_TRUE(second);
  EXPECT_GT(second->evaluations, first->evaluations);
  // A walk of more steps than any has, its checksum made anew.
  std::ifstream saved(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(saved), {}};
  CheckpointWriter body;
  for (const std::uint64_t number :
       {std::uint64_t{100}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{1} << 60})
    body.put(number);  // evaluations, then an end, its start and its steps
  ASSERT_TRUE(save_checkpoint(path, bytes.substr(bytes.find('\n') + 1, sha256("").size()), body.bytes()));
  const auto forged = attack(large, "distinguished-points", options);
  ASSERT_FALSE(forged);
  EXPECT_NE(forged.error().message.find("a walk of 1152921504606846976 steps"), std::string::npos)
      << forged.error().message;
  const auto other = random_target(retentive, task_of("eva", {{"n", 31}}));
  const auto foreign = attack(other, "distinguished-points", options);
  ASSERT_FALSE(foreign);
  EXPECT_NE(foreign.error().message.find("another search"), std::string::npos) << foreign.error().message;
  std::remove(path.c_str());
}

TEST(hierarchical, collides_three_layers_one_after_the_other) {
  const auto target =
      random_target({.architecture = "mamba2(heads=1,dim=2,state=2,form=plain)*3", .precision = 5},
                    task_of("eva", {{"n", 600}}));
  ASSERT_EQ(target.nominal_bits, 60);
  const auto outcome = attack(target, "hierarchical", {.seconds = 60});
  ASSERT_TRUE(outcome) << outcome.error().message;
  expect_collision(target, *outcome);
}

TEST(hierarchical, says_when_the_prompt_is_too_short) {
  const auto target =
      random_target({.architecture = "mamba2(heads=1,dim=2,state=2,form=plain)*3", .precision = 5},
                    task_of("eva", {{"n", 16}}));
  const auto outcome = attack(target, "hierarchical", {});
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("tokens"), std::string::npos) << outcome.error().message;
}

TEST(generalised_birthday, finds_a_collision_of_an_additive_state) {
  for (const auto accumulator : {Accumulator::wrap, Accumulator::exact}) {
    const auto target = random_target({.architecture = "linear(heads=1,dim=2,feature=identity,normalised=no)",
                                       .precision = 6,
                                       .accumulator_bits = 12,
                                       .accumulator = accumulator},
                                      task_of("eva", {{"n", 64}}));
    const auto outcome = attack(target, "generalised-birthday", {.seconds = 60});
    ASSERT_TRUE(outcome) << outcome.error().message;
    expect_collision(target, *outcome);
  }
}

TEST(generalised_birthday, needs_a_sum) {
  const auto gated = random_target({.architecture = "mamba2(heads=1,dim=2,state=2,form=plain)"},
                                   task_of("eva", {{"n", 64}}));
  EXPECT_FALSE(attack(gated, "generalised-birthday", {}));
  const auto rounded =
      random_target({.architecture = "linear(heads=1,dim=2)", .accumulator = Accumulator::round},
                    task_of("eva", {{"n", 64}}));
  EXPECT_FALSE(attack(rounded, "generalised-birthday", {}));
}

TEST(lattice, finds_a_collision_far_beyond_any_birthday) {
  for (const auto accumulator : {Accumulator::exact, Accumulator::wrap}) {
    const auto target = linear_values_target(64, 24, 8, accumulator, 10);
    const auto reason = (*find_attack_method("lattice"))->fitness(target).reason;
    if (reason.find("no fplll") != std::string::npos) GTEST_SKIP() << reason;
    const auto outcome = attack(target, "lattice", {.seconds = 60});
    ASSERT_TRUE(outcome) << outcome.error().message;
    expect_collision(target, *outcome);
    EXPECT_GE(target.nominal_bits, 240);
  }
}

TEST(lattice, needs_values_that_are_linear_in_the_token) {
  const auto target = random_target({.architecture = "linear(heads=1,dim=2,feature=identity,normalised=no)"},
                                    task_of("eva", {{"n", 8}}));
  EXPECT_FALSE(attack(target, "lattice", {}));
}

TEST(attack, goes_on_to_wrong_answers_once_no_collision_exists_and_resumes_its_own_checkpoints) {
  // 256 functions, 2^16 states, all different; the random output map is wrong on most of them.
  auto target = constructed_target("eva", {{"n", 4}}, {{"by", "linear"}});
  auto table =
      std::vector<std::int64_t>(static_cast<std::size_t>(target.weights.tensors.at("out.table").size()), 0);
  target = with_tensors(std::move(target), {{"out.table", table}});
  const std::string path = testing::TempDir() + "/auto.checkpoint";
  SearchOptions options{.seconds = 20, .checkpoint = path};
  for (int round = 0; round < 2; ++round) {
    const auto outcome = attack(target, "auto", options);
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->verdict, Evidence::refuted) << outcome->reason;
  }
  for (const auto& file : checkpoint_paths(path)) std::remove(file.c_str());
}

TEST(attack, refuses_a_task_of_the_users_own_file) {
  const std::string path = testing::TempDir() + "/eva.jsonl";
  std::FILE* file = std::fopen(path.c_str(), "w");
  std::fputs("{\"tokens\": [0, 1, 0], \"answer\": 0}\n{\"tokens\": [1, 0, 1], \"answer\": 0}\n", file);
  std::fclose(file);
  auto task = make_task(path, {});
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_FALSE((*task)->built_in());
  auto built = build_construction({.name = "eva", .sizes = {{"n", 2}}});
  ASSERT_TRUE(built);
  const auto target = make_target(std::move(built->weights), std::shared_ptr<const Task>(std::move(*task)));
  ASSERT_FALSE(target);
  EXPECT_NE(target.error().message.find("own file"), std::string::npos) << target.error().message;
}

TEST(reachable_states, need_no_more_memory_than_allowed) {
  const auto target = random_target(
      {.architecture = "mamba2(heads=1,dim=1,state=2,form=plain)*2", .width = 3, .precision = 4},
      task_of("eva", {{"n", 6}}));
  const auto outcome = attack(target, "reachable", {.memory_bytes = 1000});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->verdict, Evidence::unverified);
  EXPECT_NE(outcome->reason.find("memory"), std::string::npos);
  EXPECT_EQ(attack(target, "auto", {.memory_bytes = 1000})->verdict, Evidence::refuted);
}

TEST(attack, chooses_by_structure_and_says_why) {
  const auto target = linear_values_target(64, 24, 8, Accumulator::exact, {});
  const auto outcome = attack(target, "auto", {.seconds = 60});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->verdict, Evidence::refuted);
  EXPECT_NE(outcome->reason.find("linear values"), std::string::npos) << outcome->reason;
}

}  // namespace
}  // namespace rung
