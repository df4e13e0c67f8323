// Searches shared by ranks: what one rank finds, or something as good.
#include "rung/adversary/shared_search.h"

#include <thread>

#include "tests/adversary/targets.h"
#include "tests/ranks/thread_transport.h"

namespace rung {
namespace {

// Rank 0's outcome, the others helping.
AttackOutcome attacked_by(int count, const Target& target, std::string_view method, SearchOptions options) {
  PostOffice office(count);
  std::vector<std::jthread> others;
  for (int rank = 1; rank < count; ++rank)
    others.emplace_back([&, rank] {
      const auto ranks = rank_of(office, rank);
      SearchOptions own = options;
      own.log = {};
      own.ranks = ranks.get();
      help_attack(target, own);
      ranks->leave(0);
    });
  const auto ranks = rank_of(office, 0);
  options.ranks = ranks.get();
  auto outcome = attack(target, method, options);
  ranks->leave(0);
  RUNG_REQUIRE(outcome.ok(), "{}", outcome.error().message);
  return std::move(*outcome);
}

const EndAlike& pair_of(const AttackOutcome& outcome) {
  if (const auto* claim = std::get_if<CollisionClaim>(&outcome.certificate->claim)) return claim->pair;
  return std::get<FoolingPairClaim>(outcome.certificate->claim).pair;
}

TEST(shared_search, cannot_break_a_model_that_keeps_everything) {
  const auto target = constructed_target("eva", {{"n", 5}}, {{"by", "linear"}});
  EXPECT_EQ(attacked_by(3, target, "states", {.seconds = 0.5}).verdict, Evidence::unverified);
}

TEST(shared_search, a_birthday_finds_the_pair_that_one_rank_finds) {
  const auto target = random_target({.architecture = "linear(heads=1,dim=1)", .width = 2, .precision = 6},
                                    task_of("eva", {{"n", 12}}));
  for (const char* method : {"states", "flip"}) {
    const auto alone = attack(target, method, {.seconds = 60});
    ASSERT_TRUE(alone);
    ASSERT_EQ(alone->verdict, Evidence::refuted) << alone->reason;
    for (const int count : {2, 4}) {
      const auto shared = attacked_by(count, target, method, {.seconds = 60});
      ASSERT_EQ(shared.verdict, Evidence::refuted) << shared.reason;
      EXPECT_EQ(shared.evaluations, alone->evaluations) << method << " on " << count << " ranks";
      EXPECT_EQ(pair_of(shared).first.fields, pair_of(*alone).first.fields);
      EXPECT_EQ(pair_of(shared).second.fields, pair_of(*alone).second.fields);
    }
  }
}

TEST(shared_search, distinguished_points_of_all_ranks_meet_on_rank_0) {
  const auto target = random_target(
      {.architecture = "linear(heads=1,dim=2,feature=identity,normalised=no)", .width = 8, .precision = 8},
      task_of("eva", {{"n", 32}}));
  for (const int count : {2, 4}) {
    const auto found = attacked_by(count, target, "distinguished-points", {.seconds = 60});
    ASSERT_EQ(found.verdict, Evidence::refuted) << found.reason;
    const auto& claim = std::get<CollisionClaim>(found.certificate->claim);
    EXPECT_NE(target.task->answer(claim.pair.first), target.task->answer(claim.pair.second));
    EXPECT_EQ(*states_after(target, claim.pair.first, claim.cut),
              *states_after(target, claim.pair.second, claim.cut));
  }
}

TEST(shared_search, a_method_that_is_not_split_says_so) {
  const auto target = random_target({.architecture = "linear(heads=1,dim=1)", .width = 2, .precision = 3},
                                    task_of("eva", {{"n", 4}}));
  std::vector<std::string> lines;
  SearchOptions options{.seconds = 30};
  options.log = [&](const std::string& line) { lines.push_back(line); };
  EXPECT_EQ(attacked_by(2, target, "wrong-answer", options).verdict, Evidence::refuted);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines.front().find("not split"), std::string::npos);
}

}  // namespace
}  // namespace rung
