#include "rung/adversary/method_list.h"

#include "rung/adversary/forced_proof.h"
#include "rung/adversary/full_layer_view.h"
#include "tests/adversary/targets.h"

namespace rung {
namespace {

const char* const kOneLayer = "full(heads=1,dim=1)";

TEST(partial_sums, need_one_whole_full_layer_alone) {
  const auto equality = task_of("equality", {{"n", 8}});
  for (const char* architecture :
       {"linear(heads=1,dim=1)", "full(heads=1,dim=1)*2", "full(heads=1,dim=1,window=4)",
        "full(heads=1,dim=1)+linear(heads=1,dim=1)"})
    EXPECT_FALSE(
        attack(random_target({.architecture = architecture, .width = 2}, equality), "partial-sums", {}))
        << architecture;
  EXPECT_FALSE(attack(random_target({.architecture = kOneLayer, .width = 2}, task_of("eva", {{"n", 8}})),
                      "partial-sums", {}));
}

TEST(partial_sums, meet_in_the_part_alone) {
  for (const auto& [name, sizes] :
       std::vector<std::pair<std::string, TaskSizes>>{{"equality", {{"n", 20}}},
                                                      {"disjointness", {{"n", 20}}},
                                                      {"three-sum", {{"n", 12}}},
                                                      {"dyck", {{"n", 40}, {"k", 3}}},
                                                      {"dyck", {{"n", 40}, {"depth", 1}}}}) {
    SCOPED_TRACE(name);
    const auto task = task_of(name, sizes);
    const auto target = random_target({.architecture = kOneLayer, .width = 2, .precision = 3}, task);
    const auto outcome = attack(target, "partial-sums", {.seconds = 30});
    expect_fooling_pair(target, outcome);
    if (HasFatalFailure()) return;
    const auto& pair = std::get<FoolingPairClaim>(outcome->certificate->claim).pair;
    const auto part = answered_part(*task, 0)->positions;
    for (std::int64_t t = 0; t < task->prompt_length(); ++t)
      EXPECT_TRUE(std::binary_search(part.begin(), part.end(), t) ||
                  pair.first.token(t) == pair.second.token(t))
          << t;
  }
}

// M_part is 16 + 3 + 6 + 1 bits of a numerator and 16 + 6 of a denominator, or fewer by the largest weight.
TEST(partial_sums, are_labelled_forced_where_the_part_outgrows_them_and_not_below) {
  for (const std::int64_t n : {40, 60}) {
    const auto task = task_of("equality", {{"n", n}});
    const auto target = random_target({.architecture = kOneLayer, .width = 2, .precision = 3}, task);
    const auto bits = full_alone_bits(target);
    ASSERT_TRUE(bits);
    EXPECT_GT(*bits, 40);
    EXPECT_LT(*bits, 60);
    const auto outcome = attack(target, "partial-sums", {.seconds = 30});
    expect_fooling_pair(target, outcome);
    if (HasFatalFailure()) return;
    const auto& claim = std::get<FoolingPairClaim>(outcome->certificate->claim);
    EXPECT_EQ(claim.pair.label, n > *bits ? ClaimLabel::forced : ClaimLabel::found);
    EXPECT_EQ(claim.proof.has_value(), n > *bits);
    if (claim.proof) EXPECT_EQ(std::get<FoolingPairClaim::PartialSums>(*claim.proof).bits, *bits);
  }
}

}  // namespace
}  // namespace rung
