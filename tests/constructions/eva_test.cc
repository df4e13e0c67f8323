// Eva by one retrieval head: the lemma's numbers, the smallest precisions, and that one bit less fails.
#include <gtest/gtest.h>

#include <cmath>

#include "rung/constructions/precision_search.h"
#include "rung/constructions/retrieval_head.h"

namespace rung {
namespace {

// The lemma in reals, written a second time: δ = Σ C(D,h) exp(-min(2βh, sat)).
double delta(int D, int beta, double saturation) {
  double sum = 0;
  for (int h = 1; h <= D; ++h)
    sum += std::exp(std::lgamma(D + 1) - std::lgamma(h + 1) - std::lgamma(D - h + 1) -
                    std::min(2.0 * beta * h, saturation));
  return sum;
}

Construction eva(std::int64_t n, std::optional<int> precision = std::nullopt) {
  auto made = build_construction({.name = "eva", .sizes = {{"n", n}}, .precision = precision});
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

TEST(RetrievalLemma, has_the_known_values) {
  EXPECT_NEAR(delta(12, 2, 16), 0.2437, 5e-5);
  EXPECT_NEAR(delta(13, 2, 16), 0.2669, 5e-5);
  EXPECT_NEAR(delta(11, 2, 8), 0.8845, 5e-5);
}

TEST(RetrievalLemma, integer_tables_follow_the_real_lemma) {
  for (int p = 2; p <= 8; ++p)
    for (int D = 1; D <= 38; ++D) {
      const auto gadget = retrieval_gadget(D, std::int64_t{1} << std::min(D, 30), p);
      const double real = delta(D, gadget.beta, std::ldexp(1.0, p - 1));
      // The table's own clip and rounding move all weights together by less than two guards.
      EXPECT_NEAR(gadget.delta, real,
                  real * 0.01 + 2 * std::ldexp(1.0, -kWeightGuard) * std::max(1.0, std::ldexp(1.0, D - 30)))
          << "p=" << p << " D=" << D;
    }
}

TEST(RetrievalLemma, reaches_the_digits_that_are_known_at_beta_two) {
  for (const auto& [p, reach] : {std::pair(3, 5), {4, 11}, {5, 22}, {6, 38}}) {
    EXPECT_LT(delta(reach, 2, std::ldexp(1.0, p - 1)), 1);
    EXPECT_GE(delta(reach + 1, 2, std::ldexp(1.0, p - 1)), 1);
    if (reach > 30) continue;  // beyond the sizes that can be built
    EXPECT_LE(retrieval_precision_proved(reach, std::int64_t{1} << reach), p);
  }
}

TEST(RetrievalLemma, reaches_one_digit_further_at_five_bits_with_a_larger_beta) {
  EXPECT_EQ(retrieval_precision_proved(23, std::int64_t{1} << 23), 5);  // beta = 4: 0.952
  EXPECT_LT(delta(23, 4, 16), 1);
  EXPECT_GE(delta(23, 3, 16), 1);
}

TEST(EvaConstruction, is_caught_when_a_weight_is_wrong) {
  Construction made = eva(4);
  made.weights.tensors["embed.token.binary"] =
      integer_tensor(made.weights.tensors["embed.token.binary"].shape,
                     std::vector<std::int64_t>(
                         static_cast<std::size_t>(made.weights.tensors["embed.token.binary"].size()), 0));
  const auto found = verify(made, {});
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->passed());
  ASSERT_TRUE(found->failure);
  EXPECT_NE(found->failure->expected, found->failure->answered);
  EXPECT_EQ(made.task->answer(found->failure->prompt), found->failure->expected);
}

TEST(EvaConstruction, answers_every_function_and_argument_at_small_sizes) {
  for (std::int64_t n = 1; n <= 6; ++n) {
    const auto found = verify(eva(n), {});
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->mode, VerificationMode::exhaustive);
    EXPECT_EQ(found->instances, static_cast<std::uint64_t>(std::llround(std::pow(n, n + 1))));
    EXPECT_EQ(found->errors, 0u);
  }
}

TEST(EvaConstruction, has_one_head_of_twice_the_digits) {
  for (const std::int64_t n : {2, 3, 4, 64, 1000}) {
    const auto made = eva(n);
    const auto shapes = resolve(made.weights.architecture);
    ASSERT_EQ(shapes->size(), 1u);
    EXPECT_EQ((*shapes)[0].mixer.heads, 1);
    EXPECT_EQ((*shapes)[0].mixer.key_dim, 2 * digits_for(n + 1));
    EXPECT_EQ(made.mlp.depth, 0);
  }
}

class SmallestPrecision : public testing::TestWithParam<std::pair<std::int64_t, int>> {};
INSTANTIATE_TEST_SUITE_P(Sizes, SmallestPrecision,
                         testing::Values(std::pair(2, 2), std::pair(4, 2), std::pair(8, 3), std::pair(32, 3),
                                         std::pair(64, 4), std::pair(256, 4), std::pair(2048, 4),
                                         std::pair(4096, 5), std::pair(8192, 5)));

TEST_P(SmallestPrecision, is_the_known_one_in_integers_and_in_quantised_reals) {
  const auto [n, p] = GetParam();
  for (const bool quantised : {false, true}) {
    VerificationOptions options{.budget = 100'000, .samples = n > 1000 ? 24 : 200};
    if (quantised) options.quantised = Precision{NumberFormat::fixed, 2, 0};
    const auto search = search_precision({.name = "eva", .sizes = {{"n", n}}}, options, 2, 8);
    ASSERT_TRUE(search) << search.error().message;
    EXPECT_EQ(search->p_measured, p) << (quantised ? "quantised reals" : "integers");
    if (p == 2) continue;
    EXPECT_EQ(search->failed_at, p - 1);
    ASSERT_TRUE(search->failure);
    EXPECT_NE(search->failure->expected, search->failure->answered);
  }
}

TEST(EvaConstruction, is_covered_by_the_argument_about_all_inputs_exactly_where_it_passes) {
  for (const auto& [n, p] :
       {std::pair(4, 2), std::pair(32, 3), std::pair(64, 4), std::pair(2048, 4), std::pair(8192, 5)}) {
    EXPECT_TRUE(eva(n, p).interval().holds) << n;
    if (p > 2) {
      EXPECT_FALSE(eva(n, p - 1).interval().holds) << n;
    }
  }
}

TEST(EvaConstruction, keeps_its_notes_in_the_file) {
  const auto made = eva(8);
  for (const char* note : {"claim", "reference", "layout", "invariant"})
    EXPECT_FALSE(made.weights.notes.at(note).empty()) << note;
  EXPECT_NE(made.weights.notes.at("layout").find("code[0..3]"), std::string::npos);
}

TEST(Constructions, refuse_unknown_words_in_one_line) {
  EXPECT_NE(build_construction({.name = "evaa"}).error().message.find("did you mean \"eva\""),
            std::string::npos);
  EXPECT_FALSE(build_construction({.name = "eva", .options = {{"blank", "counting"}}}));
  EXPECT_FALSE(build_construction({.name = "eva", .sizes = {{"n", -3}}}));
  EXPECT_FALSE(build_construction({.name = "eva", .sizes = {{"n", std::int64_t{1} << 60}}}));
  EXPECT_FALSE(build_construction({.name = "eva", .sizes = {{"n", 4}}, .precision = 1}));
}

}  // namespace
}  // namespace rung
