// 2-Sum by cosines and by binary codes: all inputs at small sizes, the constants, and one bit less.
#include <gtest/gtest.h>

#include <cmath>

#include "rung/constructions/precision_search.h"
#include "rung/theory/trigonometric_match.h"

namespace rung {
namespace {

using Options = std::map<std::string, std::string>;

Construction build(const std::string& name, const TaskSizes& sizes, const Options& options = {},
                   std::optional<int> precision = std::nullopt) {
  auto made = build_construction({.name = name, .sizes = sizes, .options = options, .precision = precision});
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

const std::vector<Options> kForms = {{}, {{"blank", "counting"}}, {{"by", "binary"}}};
// Where every pair can be looked at.
const std::vector<Options> kSmallForms = {{},
                                          {{"blank", "counting"}},
                                          {{"by", "binary"}},
                                          {{"proof", "pairs"}},
                                          {{"proof", "pairs"}, {"blank", "counting"}}};

TEST(TrigonometricMatch, has_the_known_scales) {
  EXPECT_NEAR(trigonometric_scale(4, 9, Blank::counting), 42.1, 0.05);
  EXPECT_NEAR(trigonometric_scale(4, 9, Blank::threshold), 56.1, 0.05);
}

// The bounds over all pairs, against all pairs.
TEST(TrigonometricMatch, bounds_hold_for_every_pair) {
  for (const std::int64_t M : {1, 2, 3, 8, 33, 100})
    for (const Blank blank : {Blank::threshold, Blank::counting})
      for (const int f : {4, 8, 14, 20}) {
        const auto match = trigonometric_match(16, M, blank, f);
        for (std::int64_t x = 0; x < M; ++x)
          for (std::int64_t y = 0; y < M; ++y) {
            const std::int64_t score = match.score(x, y);
            if ((x + y) % M == 0)
              ASSERT_GE(match.scores.at(score), match.match_weight()) << x << " + " << y << " mod " << M;
            else
              ASSERT_LE(match.scores.at(score), match.other_weight()) << x << " + " << y << " mod " << M;
          }
      }
}

// At every precision, also those that neither proof takes: by running all inputs.
TEST(TwoSum, errs_by_threshold_exactly_where_some_pair_does_not_decide) {
  int wrong = 0, right = 0;
  for (const std::int64_t n : {1, 2, 3})
    for (const std::int64_t M : {2, 3, 5, 6, 7, 9, 11})
      for (int p = 3; p <= 9; ++p) {
        const auto match = trigonometric_match(n, M, Blank::threshold, p - kSignAndOne);
        const auto found = verify(build("two-sum", {{"n", n}, {"M", M}}, {{"proof", "pairs"}}, p), {});
        ASSERT_TRUE(found) << found.error().message;
        ASSERT_EQ(found->mode, VerificationMode::exhaustive);
        EXPECT_EQ(found->errors == 0, last_number_argument_by_pairs(match).holds)
            << "n=" << n << " M=" << M << " p=" << p << ": " << found->errors << " errors";
        ++(found->errors == 0 ? right : wrong);
      }
  EXPECT_GT(wrong, 20);
  EXPECT_GT(right, 20);
}

TEST(TwoSum, takes_fewer_bits_by_every_pairs_own_rounding_than_by_bounds) {
  for (const std::int64_t n : {2, 5, 16})
    for (const std::int64_t M : {7, 16, 64, 100}) {
      const auto bounds = cosines_precision_proved(n, M, Blank::threshold),
                 pairs = cosines_precision_by_pairs(n, M, Blank::threshold);
      ASSERT_TRUE(bounds && pairs);
      EXPECT_LE(*pairs, *bounds - 2) << n << " " << M;
    }
  EXPECT_FALSE(build_construction(
      {.name = "two-sum", .sizes = {{"n", 4}, {"M", 5000}}, .options = {{"proof", "pairs"}}}));
  EXPECT_FALSE(build_construction(
      {.name = "two-sum", .sizes = {{"n", 4}}, .options = {{"by", "binary"}, {"proof", "pairs"}}}));
}

TEST(TwoSum, answers_every_input_at_small_sizes) {
  for (const auto& form : kSmallForms)
    for (const std::int64_t n : {1, 2, 3, 4})
      for (const std::int64_t M : {1, 2, 5, 9}) {
        const Construction made = build("two-sum", {{"n", n}, {"M", M}}, form);
        const auto found = verify(made, {});
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_EQ(found->mode, VerificationMode::exhaustive);
        EXPECT_EQ(found->errors, 0u) << "M=" << M << " " << show_failure(*made.task, *found->failure);
        EXPECT_TRUE(found->interval->holds) << found->interval->reason;
      }
}

TEST(TwoSum, has_one_head_of_dimension_three_or_twice_the_digits) {
  const auto shape = [](const Construction& made) { return (*resolve(made.weights.architecture))[0].mixer; };
  const auto cosines = shape(build("two-sum", {{"n", 16}}));
  EXPECT_EQ(cosines.heads, 1);
  EXPECT_EQ(cosines.key_dim, 3);
  const Construction binary = build("two-sum", {{"n", 16}}, {{"by", "binary"}});
  EXPECT_EQ(shape(binary).key_dim, 12);
}

TEST(TwoSum, answers_adversarial_and_random_inputs_at_larger_sizes) {
  for (const auto& form : kForms)
    for (const auto& [n, M] : {std::pair(64, 129), std::pair(64, 4097), std::pair(300, 601)}) {
      const Construction made = build("two-sum", {{"n", n}, {"M", M}}, form);
      const auto found = verify(made, {.samples = 50});
      ASSERT_TRUE(found) << found.error().message;
      EXPECT_EQ(found->mode, VerificationMode::interval);
      EXPECT_EQ(found->errors, 0u) << show_failure(*made.task, *found->failure);
    }
}

TEST(TwoSum, fails_at_one_bit_less_than_measured) {
  for (const auto& form : kForms) {
    const auto search =
        search_precision({.name = "two-sum", .sizes = {{"n", 16}}, .options = form}, {.samples = 200}, 2, 24);
    ASSERT_TRUE(search) << search.error().message;
    ASSERT_TRUE(search->p_measured);
    EXPECT_LE(*search->p_measured, *build("two-sum", {{"n", 16}}, form).p_proved);
    EXPECT_EQ(search->failed_at, *search->p_measured - 1);
    ASSERT_TRUE(search->failure);
  }
}

// Known fraction bits at M = 2n+1: 4, 9, 13, 17, 21 with the threshold blank and 5, 10, 14, 19, 23 with the
// counting one. All are met but one: at n = 64 the threshold needs 12 here, and the worst instances of all
// 129 numbers x are among those run.
TEST(TwoSum, cosines_need_the_known_fraction_bits) {
  for (const auto& [n, threshold, counting] :
       {std::tuple(4, 4, 5), {16, 9, 10}, {64, 12, 14}, {256, 17, 19}, {1024, 21, 23}})
    for (const auto& [blank, fraction] : {std::pair("threshold", threshold), {"counting", counting}}) {
      const auto search =
          search_precision({.name = "two-sum", .sizes = {{"n", n}}, .options = {{"blank", blank}}},
                           {.budget = 100'000, .samples = n <= 64 ? 300 : 60}, 2, 40);
      ASSERT_TRUE(search) << search.error().message;
      EXPECT_EQ(*search->p_measured, fraction + 2) << n << " " << blank;
      EXPECT_TRUE(search->failure) << n << " " << blank;
    }
}

TEST(TwoSum, binary_codes_need_four_to_five_bits) {
  for (const auto& [n, p] :
       {std::pair(16, 4), std::pair(50, 4), std::pair(64, 5), std::pair(1024, 5), std::pair(2048, 5)})
    EXPECT_EQ(build("two-sum", {{"n", n}}, {{"by", "binary"}}).p_proved, p) << n;
}

TEST(TwoSumExists, answers_every_input_at_small_sizes) {
  for (const std::int64_t n : {1, 2, 3, 4, 5})
    for (const std::int64_t M : {1, 2, 3, 4, 6, 7}) {
      const Construction made = build("two-sum-exists", {{"n", n}, {"M", M}});
      const auto found = verify(made, {});
      ASSERT_TRUE(found) << found.error().message;
      EXPECT_EQ(found->mode, VerificationMode::exhaustive);
      EXPECT_EQ(found->errors, 0u) << "M=" << M << " " << show_failure(*made.task, *found->failure);
      EXPECT_TRUE(found->interval->holds) << found->interval->reason;
    }
}

TEST(TwoSumExists, answers_adversarial_and_random_inputs_at_larger_sizes) {
  for (const auto& [n, M] : {std::pair(64, 129), std::pair(100, 1000)}) {
    const Construction made = build("two-sum-exists", {{"n", n}, {"M", M}});
    const auto found = verify(made, {.samples = 50});
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->mode, VerificationMode::interval);
    EXPECT_EQ(found->errors, 0u) << show_failure(*made.task, *found->failure);
  }
}

TEST(Retrieval, answers_every_input_at_small_sizes) {
  for (const auto& sizes : {TaskSizes{{"n", 1}}, TaskSizes{{"n", 2}}, TaskSizes{{"n", 3}},
                            TaskSizes{{"n", 2}, {"D", 3}, {"sigma", 3}}}) {
    const Construction made = build("retrieval", sizes);
    const auto found = verify(made, {});
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->mode, VerificationMode::exhaustive);
    EXPECT_EQ(found->errors, 0u) << show_failure(*made.task, *found->failure);
  }
  const Construction made = build("retrieval", {{"n", 200}, {"D", 20}, {"sigma", 1000}});
  const auto found = verify(made, {.samples = 50});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->mode, VerificationMode::interval);
  EXPECT_EQ(found->errors, 0u);
}

}  // namespace
}  // namespace rung
