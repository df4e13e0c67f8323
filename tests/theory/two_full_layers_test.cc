#include "rung/theory/two_full_layers.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace rung {
namespace {

TwoFullLayers plain(std::int64_t partial, std::int64_t outputs) {
  return {.partial = partial, .outputs = outputs};
}

SeqcompProof golden_pair() {
  SeqcompProof proof;
  proof.sizes = {734590, {181}};
  proof.T = {8};
  proof.x0 = 48392;
  proof.y = 181;
  return proof;
}

TEST(two_full_layers, refuse_the_golden_row_when_one_number_moves) {
  auto proof = golden_pair();
  EXPECT_TRUE(certify(plain(64, 64), proof));
  EXPECT_FALSE(certify(plain(65, 64), proof));
  proof.sizes.m -= 10;
  EXPECT_FALSE(certify(plain(64, 64), proof));  // 23296.09 > 23296 turns
  proof = golden_pair();
  proof.T = {7};
  EXPECT_FALSE(certify(plain(64, 64), proof));
  auto followed = plain(64, 64);
  followed.recurrence_follows = true;
  EXPECT_FALSE(certify(followed, golden_pair()));
  auto head_wise = plain(64, 64);
  head_wise.beside_first = 1;
  EXPECT_FALSE(certify(head_wise, golden_pair()));
}

TEST(two_full_layers, find_sizes_no_larger_than_the_table) {
  // The table's own figures come from a coarser grid: at M = 4, 8 and 64 a little less is certified (1 910,
  // 17 568).
  const std::pair<int, double> rows[] = {{2, 213}, {4, 1910}, {8, 17568}, {16, 2.7e5}, {64, 1.3e8}};
  for (const auto& [M, N] : rows) {
    const auto proof = smallest_proof(plain(M, M), Objective::arguments);
    ASSERT_TRUE(proof) << M;
    EXPECT_LE(proof->sizes.arguments(1).convert_to<double>(), N) << M;
  }
  for (const auto& [widths, N] : {std::pair{std::pair{84, 8}, 1.35e7}, {std::pair{180, 32}, 1.25e9}}) {
    const auto proof = smallest_proof(plain(widths.first, widths.second), Objective::arguments);
    ASSERT_TRUE(proof);
    EXPECT_LE(proof->sizes.arguments(1).convert_to<double>(), N);
    EXPECT_GE(proof->sizes.arguments(1).convert_to<double>(), N / 1.1);
  }
}

TEST(two_full_layers, prove_at_the_sizes_that_their_search_returns) {
  for (const auto& layers : {plain(2, 2), plain(16, 16), plain(84, 8), plain(27040, 8192)}) {
    const auto found = smallest_proof(layers, Objective::prompt);
    ASSERT_TRUE(found);
    EXPECT_TRUE(best_proof(layers, found->sizes).certified) << layers.partial;
  }
}

RC_GTEST_PROP(two_full_layers, more_state_bits_never_lower_the_smallest_size, ()) {
  TwoFullLayers layers = plain(*rc::gen::inRange(1, 5000), *rc::gen::inRange(1, 2000));
  layers.recurrence_follows = *rc::gen::arbitrary<bool>();
  layers.beside_first = *rc::gen::inRange(0, 3000);
  layers.after = *rc::gen::inRange(0, 100000);
  const auto a = smallest_proof(layers, Objective::prompt);
  layers.after += *rc::gen::inRange(0, 100000);
  layers.beside_first += *rc::gen::inRange(0, 300);
  layers.beside_second += *rc::gen::inRange(0, 3000);
  const auto b = smallest_proof(layers, Objective::prompt);
  RC_ASSERT(a.has_value() && b.has_value());
  RC_ASSERT(a->sizes.prompt_length() <= b->sizes.prompt_length());
}

}  // namespace
}  // namespace rung
