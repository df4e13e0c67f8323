// Certified sizes of one full layer among recurrent ones; the golden rows are integer searches, to the digit.
#include "rung/theory/one_full_layer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>

#include "rung/theory/inequality.h"

namespace rung {
namespace {

SeqcompProof parameters(std::int64_t m, std::int64_t n1, std::int64_t T, std::int64_t x0, std::int64_t y) {
  SeqcompProof proof;
  proof.sizes = {m, {n1}};
  proof.T = {T};
  proof.x0 = x0;
  proof.y = y;
  return proof;
}

TEST(one_full_layer, refuses_the_golden_row_with_one_function_less) {
  const OneFullLayer layer{84, 0, 24};
  EXPECT_FALSE(certify(layer, parameters(45, 3, 14, 3, 3)));
  EXPECT_FALSE(certify(layer, parameters(44, 3, 15, 3, 3)));  // T x_0 > m
  EXPECT_TRUE(certify(layer, parameters(45, 3, 15, 3, 3)));
}

TEST(one_full_layer, prints_both_sides_of_the_golden_row) {
  const auto proof = best_proof(OneFullLayer{84, 0, 24}, {45, {3}});
  EXPECT_TRUE(proof.certified);
  EXPECT_EQ(proof.T[0], 15);
  EXPECT_EQ(proof.x0, 3);
  EXPECT_NEAR(proof.left, 955.37, 0.01);
  EXPECT_EQ(proof.right, 948);
}

struct Row {
  std::int64_t partial, after, N, T, x0, n1;
};

TEST(one_full_layer, finds_the_smallest_late_sizes_of_the_table) {
  for (const auto& row :
       {Row{84, 24, 135, 15, 3, 3}, Row{180, 160, 486, 9, 6, 9}, Row{324, 2 * 576, 1700, 5, 17, 20},
        Row{1768, 4 * 8704, 30176, 4, 82, 92}, Row{3536, 4 * 17408, 74970, 6, 105, 119}}) {
    const auto proof = smallest_proof({row.partial, 0, row.after}, Objective::arguments);
    ASSERT_TRUE(proof);
    EXPECT_EQ(proof->sizes.arguments(1), row.N);
    EXPECT_EQ(proof->T[0], row.T);
    EXPECT_EQ(proof->x0, row.x0);
    EXPECT_EQ(proof->y, row.n1);
  }
}

TEST(one_full_layer, reaches_the_large_late_row) {
  const auto proof = smallest_proof({27040, 0, 4 * 532480}, Objective::arguments);
  ASSERT_TRUE(proof);
  EXPECT_LE(proof->sizes.arguments(1), 7 * 534 * 570);
  EXPECT_GT(proof->sizes.arguments(1), 2'120'000);
}

// Every factorisation, every T, every sub-range: the late search is exact in every respect.
TEST(one_full_layer, agrees_with_exhaustion_over_all_sizes_and_parameters) {
  for (const auto& [partial, after] : {std::pair{84, 24}, {20, 7}, {9, 0}, {50, 120}}) {
    std::int64_t least = 0;
    for (std::int64_t N = 2; least == 0; ++N)
      for (std::int64_t m = 1; m <= N && least == 0; ++m)
        for (std::int64_t T = 1; N % m == 0 && T <= m && least == 0; ++T)
          for (std::int64_t x = 1; T * x <= m && least == 0; ++x)
            for (std::int64_t y = 1; y <= N / m && least == 0; ++y)
              if (static_cast<double>(T * x * y) * std::log2(N) >
                  static_cast<double>((x + y + 1) * partial + T * after))
                least = N;
    const auto proof = smallest_proof({partial, 0, after}, Objective::arguments);
    ASSERT_TRUE(proof);
    EXPECT_EQ(proof->sizes.arguments(1), least) << partial << " " << after;
  }
}

TEST(one_full_layer, holds_the_early_golden_row_and_refuses_it_without_the_entering_state) {
  const OneFullLayer layer{180, 160, 160};
  EXPECT_TRUE(certify(layer, parameters(66806, 1, 80, 271, 1)));
  EXPECT_FALSE(certify(layer, parameters(66805, 1, 80, 271, 1)));  // 320.03 >= 320.025 turns
  EXPECT_FALSE(certify(OneFullLayer{180, 162, 160}, parameters(66806, 1, 80, 271, 1)));
}

TEST(one_full_layer, searches_early_sizes_no_larger_than_the_table) {
  const auto first = smallest_proof({180, 160, 160}, Objective::arguments);
  ASSERT_TRUE(first);
  EXPECT_LE(first->sizes.arguments(1), 66806);
  EXPECT_GT(first->sizes.arguments(1), 66000);
  const auto second = smallest_proof({324, 576, 576}, Objective::arguments);
  ASSERT_TRUE(second);
  EXPECT_LE(second->sizes.arguments(1), 364259);
  EXPECT_GT(second->sizes.arguments(1), 360000);
}

TEST(one_full_layer, proves_at_the_sizes_that_its_search_returns) {
  for (const OneFullLayer& layer :
       {OneFullLayer{84, 0, 24}, {180, 160, 160}, {27040, 0, 532480}, {27040, 532480, 1000}}) {
    const auto found = smallest_proof(layer, Objective::prompt);
    ASSERT_TRUE(found);
    EXPECT_TRUE(best_proof(layer, found->sizes).certified);
  }
}

// A search that skipped candidates by the best so far found 13,023 arguments in place of 13,003 here.
TEST(one_full_layer, a_few_more_bits_before_the_full_layer_never_lower_the_smallest_size) {
  struct Case {
    std::int64_t partial, before, after, more;
  };
  for (const auto& [partial, before, after, more] :
       {Case{5, 100, 5380, 2}, {2, 100, 362110, 1}, {908, 100, 181432, 1}, {335, 5000, 61798, 4}})
    for (const Objective objective : {Objective::arguments, Objective::prompt}) {
      const auto fewer = smallest_proof({partial, before, after}, objective);
      const auto larger = smallest_proof({partial, before + more, after}, objective);
      ASSERT_TRUE(fewer && larger);
      if (objective == Objective::arguments)
        EXPECT_LE(fewer->sizes.arguments(1), larger->sizes.arguments(1)) << partial;
      else
        EXPECT_LE(fewer->sizes.prompt_length(), larger->sizes.prompt_length()) << partial;
    }
}

RC_GTEST_PROP(one_full_layer, more_state_bits_never_lower_the_smallest_size, ()) {
  const auto partial = *rc::gen::inRange<std::int64_t>(1, 40000);
  const auto before = *rc::gen::element<std::int64_t>(0, 0, 100, 5000);
  const auto after = *rc::gen::inRange<std::int64_t>(0, 1000000);
  const auto more = *rc::gen::inRange<std::int64_t>(0, 5000);
  const auto a = smallest_proof({partial, before, after}, Objective::prompt);
  const auto b = smallest_proof({partial, before, after + more}, Objective::prompt);
  RC_ASSERT(a.has_value() && b.has_value());
  RC_ASSERT(a->sizes.prompt_length() <= b->sizes.prompt_length());
  if (before > 0) {
    const auto c = smallest_proof({partial, before + more, after}, Objective::prompt);
    RC_ASSERT(c.has_value());
    RC_ASSERT(a->sizes.prompt_length() <= c->sizes.prompt_length());
  }
}

// One full layer, one head, m = 3, weights {1, 2} and values {0, 1} free at every position and token:
// denominators 3..6 and numerators up to them bound the partial sums by 22, and no table of weights tells the
// 27 functions apart.
TEST(one_full_layer, leaves_fewer_partial_sums_than_functions_in_the_smallest_toy) {
  int bound = 0;
  for (int den = 3; den <= 6; ++den) bound += den + 1;
  EXPECT_EQ(bound, 22);
  int most = 0;
  for (int model = 0; model < 1 << 18;
       ++model) {  // two bits (weight, value) for each of 3 positions and 3 tokens
    std::uint64_t seen = 0;
    for (int f = 0; f < 27; ++f) {
      int num = 0, den = 0;
      for (int k = 0, g = f; k < 3; ++k, g /= 3) {
        const int entry = model >> (2 * (3 * k + g % 3)) & 3, weight = 1 + (entry & 1);
        num += weight * (entry >> 1);
        den += weight;
      }
      seen |= std::uint64_t{1} << (7 * num + den);
    }
    most = std::max(most, std::popcount(seen));
  }
  EXPECT_LE(most, bound);
  EXPECT_EQ(most, 16);
  EXPECT_LT(most, 27);
}

TEST(one_full_layer, alone_is_refuted_from_m_lg_m_above_the_partial_sums) {
  EXPECT_FALSE(full_alone_proof(84, 0, 2).certified);
  const Integer enough = 20;  // 19 lg 19 = 80.7, 20 lg 20 = 86.4
  EXPECT_TRUE(full_alone_proof(84, 0, enough).certified);
  EXPECT_FALSE(full_alone_proof(84, 0, enough - 1).certified);
  EXPECT_FALSE(full_alone_proof(84, 50, enough).certified);  // recurrent heads beside it
}

TEST(inequality, decides_ties_exactly) {
  EXPECT_FALSE(exceeds(10, 8, 30));  // 8^10 = 2^30
  EXPECT_TRUE(exceeds(10, 8, 29));
  EXPECT_TRUE(spreads(271, 66806, 80, 160));
  EXPECT_FALSE(spreads(271, 66805, 80, 160));
}

}  // namespace
}  // namespace rung
