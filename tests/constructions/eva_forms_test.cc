// Eva by linear, log-linear and sparse attention, and 2-Sum-last by slot heads: tightness, every instance at
// small sizes, and what fails one bit below.
#include "rung/constructions/eva_forms.h"

#include <cmath>

#include "tests/constructions/verified.h"

namespace rung {
namespace {

ConstructionRequest eva(std::int64_t n, const std::string& by) {
  return {.name = "eva", .sizes = {{"n", n}}, .options = {{"by", by}}};
}

TEST(EvaByLinear, fails_with_one_bit_less_of_state) {
  for (const std::int64_t n : {4, 5, 8}) {
    Construction made = built(eva(n, "linear"));
    auto& bits = *made.weights.architecture.dimensions.accumulator_bits;
    EXPECT_EQ(bits, static_cast<std::int64_t>(std::ceil(std::log2(n))));
    --bits;
    expect_failure(made, {.budget = 5000});
  }
}

TEST(EvaByLinear, answers_every_function_and_argument) {
  for (std::int64_t n = 1; n <= 6; ++n) expect_exhaustive(built(eva(n, "linear")));
  for (const std::int64_t n : {16, 50, 256}) expect_interval(built(eva(n, "linear")), 200);
}

TEST(EvaByLinear, holds_exactly_n_lg_n_bits_at_powers_of_four) {
  for (int k = 1; k <= 4; ++k) {
    const std::int64_t n = std::int64_t{1} << (2 * k);
    EXPECT_EQ(state_bits(built(eva(n, "linear"))), n * 2 * k);
  }
}

TEST(EvaByWriting, fails_with_one_bit_less_of_state) {
  for (const char* by : {"delta", "mamba2"}) {
    Construction made = built(eva(8, by));
    --*made.weights.architecture.dimensions.accumulator_bits;
    expect_failure(made, {.budget = 5000});
  }
}

TEST(EvaByWriting, answers_every_function_and_argument_with_n_lg_n_bits) {
  for (const char* by : {"delta", "mamba2"}) {
    for (std::int64_t n = 1; n <= 6; ++n) expect_exhaustive(built(eva(n, by)));
    expect_interval(built(eva(50, by)), 200);
    for (int k = 1; k <= 5; ++k)
      EXPECT_EQ(state_bits(built(eva(std::int64_t{1} << k, by))), (std::int64_t{1} << k) * k) << by;
  }
}

TEST(EvaByLogLinear, answers_every_function_and_argument) {
  for (std::int64_t n = 1; n <= 6; ++n) expect_exhaustive(built(eva(n, "loglinear")));
  expect_interval(built(eva(100, "loglinear")), 200);
}

TEST(EvaByLogLinear, fails_when_one_level_is_not_read) {
  Construction made = built(eva(6, "loglinear"));
  Tensor& levels = made.weights.tensors["layers.1.level.bias"];
  std::vector<std::int64_t> bias(static_cast<std::size_t>(levels.size()), 1);
  bias[3] = 0;  // tokens 0-3 at the last position, t = 6 = 4 + 2
  levels = integer_tensor({levels.size()}, bias);
  expect_failure(made);
}

TEST(EvaBySparse, answers_every_function_and_argument_and_fails_one_bit_below) {
  for (std::int64_t n = 1; n <= 6; ++n) expect_exhaustive(built(eva(n, "sparse")));
  for (const std::int64_t n : {15, 16, 17, 64, 1000}) expect_interval(built(eva(n, "sparse")), 100);
  expect_smallest_precision(eva(64, "sparse"), 3, {.samples = 200});
}

TEST(EvaBySparse, fails_when_blocks_look_alike) {
  Construction made = built(eva(16, "sparse"));
  Tensor& keys = made.weights.tensors["layers.0.compress_k.weight"];
  keys = integer_tensor(keys.shape, std::vector<std::int64_t>(static_cast<std::size_t>(keys.size()), 0));
  expect_failure(made, {.budget = 1000, .samples = 100});
}

Construction two_sum(std::int64_t n, std::int64_t M, const std::string& block,
                     std::optional<int> p = std::nullopt) {
  ConstructionRequest request{
      .name = "two-sum", .sizes = {{"n", n}, {"M", M}}, .options = {{"by", "sparse"}}, .precision = p};
  if (!block.empty()) request.options["block"] = block;
  auto made = build_two_sum_sparse(request);
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

TEST(TwoSumBySparse, answers_every_instance_at_small_sizes) {
  for (const auto& [n, M, block] :
       {std::tuple(4, 5, "2"), {4, 4, "4"}, {5, 4, "2"}, {3, 9, "1"}, {6, 3, "4"}, {2, 1, "1"}, {3, 2, "2"}})
    expect_exhaustive(two_sum(n, M, block));
}

TEST(TwoSumBySparse, uses_a_head_a_slot_and_few_bits) {
  for (const auto& [n, B] : {std::pair(64, 8), {256, 16}, {1024, 32}, {1000, 30}}) {
    const Construction made = two_sum(n, 2 * n + 1, std::to_string(B));
    EXPECT_EQ(*made.weights.architecture.stack.layers[1].number("heads"), n % B == 0 ? B : B + 1);
    EXPECT_LE(*made.p_proved, 6);
    expect_interval(made, n > 500 ? 20 : 100);
  }
}

TEST(TwoSumBySparse, fails_with_one_slot_head_less) {
  Construction made = two_sum(4, 5, "2");
  // The second head's output goes nowhere: matches in the second slot of a block are not seen.
  Tensor& output = made.weights.tensors["layers.1.o.weight"];
  std::vector<std::int64_t> kept(static_cast<std::size_t>(output.size()));
  const std::int64_t columns = output.shape[1];
  for (std::int64_t i = 0; i < output.size(); ++i)
    kept[static_cast<std::size_t>(i)] = i % columns < columns / 2 ? output.integer(i) : 0;
  output = integer_tensor(output.shape, kept);
  expect_failure(made);
}

TEST(TwoSumBySparse, fails_below_some_precision) {
  expect_failure(two_sum(16, 33, "4", 2), {.budget = 1000, .samples = 200});
  EXPECT_FALSE(build_two_sum_sparse({.name = "two-sum", .sizes = {{"n", 4}}, .options = {{"block", "-1"}}}));
  EXPECT_FALSE(build_two_sum_sparse({.name = "two-sum", .sizes = {{"n", 4}}, .options = {{"block", "5"}}}));
}

}  // namespace
}  // namespace rung
