// Constructions that rest on a recurrence: Dyck by a stack, Index by a counter and a lookup.
#include "tests/constructions/verified.h"

namespace rung {
namespace {

ConstructionRequest dyck(std::int64_t n, std::int64_t k, std::int64_t depth) {
  return {.name = "dyck", .sizes = {{"n", n}, {"k", k}, {"depth", depth}}};
}

TEST(DyckByStack, fails_with_one_bit_less_of_state) {
  for (const auto& [k, depth] : {std::pair(2, 2), {1, 3}, {3, 2}}) {
    Construction made = built(dyck(6, k, depth));
    --*made.weights.architecture.dimensions.accumulator_bits;
    expect_failure(made);
  }
}

TEST(DyckByStack, decides_every_word_to_length_eight) {
  for (std::int64_t n = 1; n <= 8; ++n) expect_exhaustive(built(dyck(n, 2, 2)));
  for (const auto& [k, depth] : {std::pair(1, 1), {1, 4}, {2, 1}, {2, 3}, {3, 2}, {3, 3}, {4, 2}})
    expect_exhaustive(built(dyck(6, k, depth)));
  expect_interval(built(dyck(200, 3, 5)), 100);
}

TEST(DyckByStack, holds_the_bits_of_the_claim) {
  const auto bits = [](std::int64_t k, std::int64_t depth) { return state_bits(built(dyck(8, k, depth))); };
  EXPECT_EQ(bits(2, 2), 2 * 1 + 2 + 1);
  EXPECT_EQ(bits(3, 3), 3 * 2 + 2 + 1);
  EXPECT_EQ(bits(4, 4), 4 * 2 + 3 + 1);
  EXPECT_EQ(bits(1, 7), 0 + 3 + 1);
}

TEST(DyckByStack, refuses_stacks_that_no_table_holds) {
  for (const auto& [k, depth] : {std::pair<std::int64_t, std::int64_t>(2, 30),
                                 {2, 1'000'000'000},
                                 {std::int64_t{1} << 40, 2},
                                 {1000, 3}})
    EXPECT_FALSE(build_construction(dyck(8, k, depth)));
}

ConstructionRequest index(std::int64_t n, std::int64_t sigma, const std::string& by) {
  return {.name = "index", .sizes = {{"n", n}, {"sigma", sigma}}, .options = {{"by", by}}};
}

TEST(IndexByCounter, answers_every_instance) {
  for (const char* by : {"full", "cot"}) {
    for (std::int64_t n = 1; n <= 7; ++n) expect_exhaustive(built(index(n, 2, by)));
    expect_exhaustive(built(index(3, 5, by)));
    expect_exhaustive(built(index(4, 4, by)));
    expect_interval(built(index(100, 7, by)), 100);
  }
}

TEST(IndexByCounter, has_no_positions_and_little_state) {
  const Construction made = built(index(100, 7, "full"));
  EXPECT_EQ(made.weights.architecture.dimensions.position, PositionCode::none);
  EXPECT_EQ(*made.weights.architecture.dimensions.accumulator_bits,
            8);  // against 100 lg 7 = 281 bits without the full layer
}

TEST(IndexByCounter, fails_with_one_bit_less) {
  expect_smallest_precision(index(6, 2, "full"), 4);
  expect_smallest_precision(index(5, 2, "cot"), 4);
}

TEST(IndexByCounter, writes_the_address_before_the_answer) {
  const Construction made = built(index(5, 3, "cot"));
  const auto machine = Machine::load(made.weights, {.positions = 8});
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(*(*machine)->generate(Prompt{6, {{2, 0, 1, 2, 1, 3}}}), (std::vector<std::int64_t>{3, 2}));
}

TEST(IndexByCounter, fails_without_its_chain) {
  Construction made = built(index(5, 3, "cot"));
  made.weights.decode = {.steps = 1};
  expect_failure(made);
}

}  // namespace
}  // namespace rung
