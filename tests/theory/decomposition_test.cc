// The general-L recursion: the sizes that docs/theorems.md prints are found again, and certified.
#include "rung/theory/decomposition.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rung {
namespace {

Decomposition one_fewer(int L, const Integer& M) {
  return {.L = L, .partial = M, .outputs = M, .gaps = std::vector<Integer>(static_cast<std::size_t>(L), 0)};
}
Decomposition as_many(int L, const Integer& M) {
  return {.L = L,
          .one_more_full = true,
          .partial = M,
          .outputs = M,
          .gaps = std::vector<Integer>(static_cast<std::size_t>(L) + 1, 0),
          .beside = std::vector<Integer>(static_cast<std::size_t>(L), 0)};
}

// lg N_{L-1} of the smallest sizes found.
double lg_arguments(const Decomposition& d) {
  const auto proof = smallest_proof(d);
  RUNG_REQUIRE(proof && proof->certified, "L={}", d.L);
  const Integer N = proof->sizes.arguments(d.L - 1);
  const auto top = static_cast<int>(msb(N)), low = std::max(0, top - 60);
  return low + std::log2(Integer(N >> low).convert_to<double>());
}

TEST(decomposition, finds_the_printed_sizes_for_three_functions_and_two_full_layers) {
  const std::pair<int, double> rows[] = {{1, 15.0},  {2, 20.9},  {4, 26.8},  {8, 35.2},
                                         {16, 43.4}, {64, 61.2}, {84, 65.0}, {180, 75.2}};
  for (const auto& [M, lg] : rows) EXPECT_NEAR(lg_arguments(one_fewer(3, M)), lg, 0.05) << M;
}

TEST(decomposition, finds_the_printed_sizes_for_four_functions_and_three_full_layers) {
  for (const auto& [M, lg] : {std::pair{1, 48.0}, {2, 68.8}})
    EXPECT_NEAR(lg_arguments(one_fewer(4, M)), lg, 0.05) << M;
}

TEST(decomposition,
     costs_twenty_one_bits_for_a_million_state_bits_before_the_first_full_layer_and_none_after_the_last) {
  const double plain = lg_arguments(one_fewer(3, 16));
  auto early = one_fewer(3, 16), late = one_fewer(3, 16);
  early.gaps[0] = 1'000'000;
  late.gaps[2] = 1'000'000;
  EXPECT_NEAR(lg_arguments(early), plain + 21, 3);
  EXPECT_NEAR(lg_arguments(late), plain, 1);
}

TEST(decomposition, grows_with_the_exponents_of_the_linear_program) {
  EXPECT_EQ(size_exponent(3, false), 11);
  EXPECT_EQ(size_exponent(4, false), 32);
  EXPECT_EQ(size_exponent(5, false), 87);
  EXPECT_EQ(size_exponent(2, true), 6);
  EXPECT_EQ(size_exponent(3, true), 17);
  EXPECT_EQ(size_exponent(4, true), 46);
  EXPECT_EQ(size_exponent(2, false), 1);
  EXPECT_GT(size_exponent(90, false), size_exponent(20, false));
  const auto slope = [](const Decomposition& a, const Decomposition& b) {
    return (lg_arguments(b) - lg_arguments(a)) / 100;
  };
  // Logarithmic factors pull the slope a little below the exponent.
  EXPECT_NEAR(slope(one_fewer(3, Integer(1) << 100), one_fewer(3, Integer(1) << 200)), 11, 0.5);
  EXPECT_NEAR(slope(as_many(3, Integer(1) << 100), as_many(3, Integer(1) << 200)), 17, 0.8);
}

TEST(decomposition, certifies_integers_and_not_for_larger_messages) {
  for (const auto& d : {one_fewer(3, 1), one_fewer(3, 84), one_fewer(4, 2), as_many(3, 2), as_many(3, 180),
                        one_fewer(3, 27040)}) {
    const auto proof = smallest_proof(d);
    ASSERT_TRUE(proof) << d.partial;
    EXPECT_TRUE(certify(d, *proof));
    auto wider = d;
    wider.partial = d.partial * 64;
    EXPECT_FALSE(certify(wider, *proof));  // the same sizes prove nothing about larger messages
    EXPECT_TRUE(best_proof(d, proof->sizes).certified);
  }
}

TEST(decomposition, refuses_sizes_that_pre_composition_solves) {
  const SeqcompSizes small{Integer(1) << 20, {2, 2}};
  EXPECT_FALSE(best_proof(one_fewer(3, 64), small).certified);
  EXPECT_FALSE(best_proof(as_many(3, 64), small).certified);
}

}  // namespace
}  // namespace rung
