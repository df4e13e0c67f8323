// Costs of constructions: goldens of the retrieval gadget, and the verdict on exactly the architecture that a
// cost describes.
#include "rung/theory/constructions_cost.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/theory/asked.h"

namespace rung {
namespace {

TEST(constructions, retrieval_delta_has_its_golden_values) {
  EXPECT_NEAR(retrieval_delta(12, 2, 16), 0.2437, 5e-5);
  EXPECT_NEAR(retrieval_delta(13, 2, 16), 0.2669, 5e-5);
  EXPECT_NEAR(retrieval_delta(11, 2, 8), 0.8845, 5e-5);
}

TEST(constructions, retrieval_reaches_exactly_the_golden_address_lengths) {
  EXPECT_EQ(retrieval_reach(2, 1), 3);
  EXPECT_EQ(retrieval_reach(3, 2), 5);
  EXPECT_EQ(retrieval_reach(4, 2), 11);
  EXPECT_EQ(retrieval_reach(5, 2), 22);
  EXPECT_EQ(retrieval_reach(6, 2), 38);
  EXPECT_EQ(retrieval_beta(38), 2);
  EXPECT_EQ(retrieval_beta(39), 3);
}

TEST(constructions, closed_form_precision_suffices) {
  for (int D = 1; D <= 38; ++D) {
    const auto p = retrieval_precision(D, 2);
    ASSERT_TRUE(p);
    EXPECT_LT(retrieval_delta(D, 2, std::ldexp(1.0, *p - 1)), 1) << D;
  }
}

TEST(constructions, two_sum_and_encoder_goldens) {
  EXPECT_NEAR(two_sum_scale(4, 9, true), 42.1, 0.05);
  EXPECT_NEAR(two_sum_scale(4, 9, false), 56.1, 0.1);
  EXPECT_EQ(encoder_layers(1), 2);
  EXPECT_EQ(encoder_layers(2), 3);
  EXPECT_EQ(encoder_layers(3), 3);
  EXPECT_EQ(encoder_layers(4), 4);
  EXPECT_EQ(encoder_layers(5), 4);
  EXPECT_EQ(eva_linear_cost(4096).state_bits, 4096 * 12);  // n lg n at n = 4^k
  EXPECT_EQ(dyck_cost(2, 2).state_bits, 2 * 1 + 2 + 1);
}

// The architecture that a cost describes, and no more.
Asked exactly(const ConstructionCost& cost) {
  Asked asked;
  asked.dimensions.heads = cost.heads;
  asked.dimensions.head_dim = cost.key_dim;
  asked.dimensions.value_dim = cost.value_dim;
  asked.dimensions.width = std::max<std::int64_t>(4 * cost.key_dim, cost.heads * cost.value_dim);
  asked.dimensions.precision.bits = std::max(2, cost.precision);
  return asked;
}

void is_possible(const Asked& asked, const std::string& line, const std::string& task,
                 const TaskSizes& sizes) {
  const auto v = asked.on(line, task, sizes);
  EXPECT_EQ(v.outcome, Outcome::possible)
      << line << " on " << task << " " << v.theorem << " "
      << (v.hypotheses.empty() ? "" : v.hypotheses.back().text + v.hypotheses.back().numbers);
}

TEST(constructions, fit_their_own_cost_at_fifty_sizes) {
  for (int k = 1; k <= 50; ++k) {
    const std::int64_t n = 2 + k * k * k;  // to 125 002
    is_possible(exactly(eva_full_cost(n)), "full", "eva", {{"n", n}});
    const auto linear = eva_linear_cost(n);
    is_possible(exactly(linear), "linear(normalised=no,feature=identity)", "eva", {{"n", n}});
    is_possible(exactly(two_sum_binary_cost(n, 2 * n + 1)), "full", "two-sum", {{"n", n}});
    is_possible(exactly(equality_cost(n)), "full*2", "equality", {{"n", n}});
    const int D = std::bit_width(static_cast<std::uint64_t>(n - 1));
    is_possible(exactly(retrieval_cost(n, D, n)), "full", "retrieval", {{"n", n}});
    for (int L = 1; L <= 3; ++L) {
      TaskSizes sizes{{"L", L}, {"m", 1 + k * k}};
      std::int64_t N = 1 + k * k, prompt = N + L + 1;
      for (int l = 1; l < L; ++l) {
        sizes["n" + std::to_string(l)] = 3 + k % 5;
        prompt += N *= 3 + k % 5;
      }
      is_possible(exactly(seqcomp_full_cost(L, prompt)), "full*" + std::to_string(L + 1), "seqcomp", sizes);
      auto early = exactly(seqcomp_early_cost(L, prompt));
      const std::string carrier = "linear(heads=" + std::to_string(L) +
                                  ",dim=4,vdim=" + std::to_string(early.dimensions.value_dim) + ")";
      is_possible(early, carrier + "+full*" + std::to_string(L), "seqcomp", sizes);
      is_possible(early, "full+" + carrier + (L > 1 ? "+full*" + std::to_string(L - 1) : ""), "seqcomp",
                  sizes);
      is_possible(exactly(seqcomp_thought_cost(L, prompt)).thought(), "full", "seqcomp", sizes);
      if (L > 1)
        is_possible(exactly(seqcomp_precomposed_cost(L, prompt, 3 + k % 5, N, false)),
                    "full*" + std::to_string(L), "seqcomp", sizes);
      auto encoder = exactly(seqcomp_encoder_cost(L, prompt)).encoder();
      encoder.dimensions.value_dim += 3;  // the pointer's level travels along
      is_possible(encoder, "full*" + std::to_string(encoder_layers(L)), "seqcomp", sizes);
    }
  }
}

TEST(constructions, do_not_fit_when_one_resource_is_missing) {
  const auto cost = eva_full_cost(1000);
  EXPECT_EQ(cost.key_dim, 20);
  auto narrow = exactly(cost);
  narrow.dimensions.head_dim = 9;  // below D
  EXPECT_NE(narrow.outcome("full", "eva", {{"n", 1000}}), Outcome::possible);
  auto coarse = exactly(cost);
  coarse.dimensions.precision.bits = cost.precision - 1;
  EXPECT_NE(coarse.outcome("full", "eva", {{"n", 1000}}), Outcome::possible);
  auto half = exactly(cost);
  half.dimensions.head_dim = 10;  // D: one bit more
  EXPECT_NE(half.outcome("full", "eva", {{"n", 1000}}), Outcome::possible);
  half.dimensions.precision.bits += 1;
  EXPECT_EQ(half.outcome("full", "eva", {{"n", 1000}}), Outcome::possible);
  EXPECT_NE(exactly(seqcomp_full_cost(2, 200)).outcome("full*2", "seqcomp", {{"m", 16}, {"n1", 9}}),
            Outcome::possible);
  EXPECT_NE(exactly(equality_cost(64)).outcome("full", "equality", {{"n", 64}}), Outcome::possible);
  EXPECT_NE(exactly(seqcomp_thought_cost(2, 200)).outcome("full", "seqcomp", {{"m", 16}, {"n1", 9}}),
            Outcome::possible);
  EXPECT_NE(
      exactly(eva_linear_cost(100)).outcome("linear(normalised=no,feature=identity)", "eva", {{"n", 101}}),
      Outcome::possible);
  EXPECT_NE(exactly(eva_linear_cost(100)).outcome("linear(normalised=no,feature=exp)", "eva", {{"n", 100}}),
            Outcome::possible);
}

TEST(constructions, for_other_tasks_fit_and_fail) {
  auto wide = Asked().width(512).heads(4).bits(40, 30);
  is_possible(wide, "full*2", "counting", {{"n", 1000}});
  EXPECT_NE(Asked().width(512).heads(4).bits(16).outcome("full*2", "counting", {{"n", 1000}}),
            Outcome::possible);
  is_possible(wide, "full*2", "two-sum-exists", {{"n", 100}});
  EXPECT_NE(wide.outcome("full", "two-sum-exists", {{"n", 100}}), Outcome::possible);
  is_possible(wide, "full*2", "mqar", {{"n", 100}});
  EXPECT_NE(wide.outcome("full", "mqar", {{"n", 100}}), Outcome::possible);
  is_possible(wide, "full*2", "cgram", {{"n", 100}});
  is_possible(wide, "full*2", "nearest", {{"n", 64}});
  EXPECT_EQ(wide.on("full*2", "nearest", {{"n", 64}}).status, Status::measured);
  is_possible(wide, "full", "index", {{"n", 100}});
  is_possible(Asked().width(1024).heads(1).bits(16).with("read", "last"), "full", "sparse-average",
              {{"n", 64}});
  EXPECT_EQ(Asked()
                .width(1024)
                .heads(1)
                .bits(16)
                .with("read", "last")
                .on("full", "sparse-average", {{"n", 64}})
                .status,
            Status::measured);
  EXPECT_NE(
      Asked().width(64).heads(1).bits(16).with("read", "last").outcome("full", "sparse-average", {{"n", 64}}),
      Outcome::possible);
  is_possible(Asked().width(64).bits(8), "rnn", "dyck", {{"n", 100}});
  EXPECT_NE(Asked().width(16).bits(8).outcome("rnn", "dyck", {{"n", 100}}), Outcome::possible);
  // Cosines: three dimensions, many bits.
  EXPECT_EQ(Asked().width(3).heads(1).bits(30, 15).outcome("full", "two-sum", {{"n", 16}}),
            Outcome::possible);
  EXPECT_NE(Asked().width(3).heads(1).bits(20, 5).outcome("full", "two-sum", {{"n", 16}}), Outcome::possible);
  // Sparse and token-selecting layers look up as well, as sketches.
  EXPECT_EQ(wide.on("sparse(B=8,k=2)", "eva", {{"n", 64}}).status, Status::sketch);
  EXPECT_EQ(wide.on("topk(k=1)", "eva", {{"n", 64}}).status, Status::sketch);
}

}  // namespace
}  // namespace rung
