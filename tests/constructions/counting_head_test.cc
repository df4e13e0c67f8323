// The counting and presence heads, and what stands on them: counting, MQAR, c-gram retrieval, equality,
// disjointness.
#include "rung/constructions/counting_head.h"

#include <cmath>

#include "rung/constructions/presence_head.h"
#include "tests/constructions/verified.h"

namespace rung {
namespace {

TEST(CountingLemma, tells_neighbouring_counts_apart_whatever_leaks) {
  for (const std::int64_t most : {1, 2, 5, 30, 200}) {
    const std::int64_t keys = 2 * most + 3;
    const int p = *counting_precision_proved(most, keys);
    const auto gadget = counting_gadget(most, keys, p);
    const double V = static_cast<double>(gadget.scale);
    for (std::int64_t count = 0; count <= most; ++count)  // the leak on either side, and half of it on each
      for (const double inside : {0.0, 0.5, 1.0}) {
        const double y = std::floor(V * (static_cast<double>(count) + inside * gadget.leak) /
                                        (static_cast<double>(count) + 1 + gadget.leak) +
                                    0.5);
        for (std::int64_t c = 1; c <= most; ++c)
          EXPECT_EQ(y >= static_cast<double>(gadget.at_least[static_cast<std::size_t>(c - 1)]), count >= c)
              << most << " " << count << " " << c;
      }
    EXPECT_FALSE(counting_gadget(most, keys, p - 1).holds && p > 2);
    EXPECT_LE(p, 2 * std::log2(static_cast<double>(most)) + 4);
  }
}

TEST(CountingLemma, bits_of_the_count_come_out_of_one_hidden_layer) {
  const auto gadget = counting_gadget(6, 10, 8);
  ReluCircuit circuit;
  const Bits bits = count_bits(circuit, gadget, circuit.input(0, 0, gadget.scale), 3);
  for (int d = 0; d < 3; ++d) circuit.add(1 + d, bits[static_cast<std::size_t>(d)]);
  EXPECT_EQ(circuit.depth(), 1);
}

TEST(CountingConstruction, decides_every_instance_and_fails_one_bit_below) {
  for (std::int64_t n = 1; n <= 6; ++n)
    expect_exhaustive(built({.name = "counting", .sizes = {{"n", n}, {"sigma", 2}}}));
  expect_exhaustive(built({.name = "counting", .sizes = {{"n", 5}, {"sigma", 3}}}));
  expect_exhaustive(built({.name = "counting", .sizes = {{"n", 4}, {"sigma", 1}}}));
  expect_interval(built({.name = "counting", .sizes = {{"n", 200}}}), 100);
  expect_smallest_precision({.name = "counting", .sizes = {{"n", 5}, {"sigma", 3}}}, 6);
}

TEST(MqarConstruction, answers_every_instance_and_fails_one_bit_below) {
  expect_exhaustive(built({.name = "mqar", .sizes = {{"n", 2}, {"queries", 2}}}));
  expect_exhaustive(built({.name = "mqar", .sizes = {{"n", 3}, {"M", 2}, {"sigma", 2}, {"queries", 2}}}));
  expect_exhaustive(built({.name = "mqar", .sizes = {{"n", 1}, {"M", 3}, {"sigma", 3}, {"queries", 2}}}));
  expect_interval(built({.name = "mqar", .sizes = {{"n", 20}}}), 100);
  expect_smallest_precision({.name = "mqar", .sizes = {{"n", 3}, {"M", 2}, {"sigma", 2}, {"queries", 2}}}, 5);
}

TEST(MqarConstruction, answers_with_an_early_value_when_counts_are_not_looked_at) {
  Construction made = built({.name = "mqar", .sizes = {{"n", 3}, {"M", 2}, {"sigma", 2}, {"queries", 1}}});
  Tensor& keys =
      made.weights.tensors["layers.2.k.weight"];  // rows: key digits, count digits, then the constants
  std::vector<std::int64_t> weights;
  for (std::int64_t i = 0; i < keys.size(); ++i) weights.push_back(keys.integer(i));
  const std::int64_t width = keys.shape[1];
  for (std::int64_t i = 2 * width; i < 4 * width; ++i) weights[static_cast<std::size_t>(i)] = 0;
  keys = integer_tensor(keys.shape, weights);
  expect_failure(made);
}

TEST(CgramConstruction, answers_every_instance_and_fails_one_bit_below) {
  for (const auto& [n, c, sigma] :
       {std::tuple(2, 2, 2), {6, 2, 2}, {8, 3, 2}, {6, 3, 3}, {5, 5, 2}, {6, 4, 2}, {5, 2, 1}})
    expect_exhaustive(built({.name = "cgram", .sizes = {{"n", n}, {"c", c}, {"sigma", sigma}}}));
  expect_interval(built({.name = "cgram", .sizes = {{"n", 40}}}), 50);
  expect_smallest_precision({.name = "cgram", .sizes = {{"n", 6}, {"c", 2}, {"sigma", 2}}}, 5);
}

TEST(PresenceLemma, needs_a_gap_of_the_logarithm_of_the_tokens) {
  for (const std::int64_t keys : {2, 10, 100, 2050}) {
    const auto gadget = presence_gadget(keys, presence_precision_proved(keys));
    EXPECT_LT(gadget.leak, 1);
    EXPECT_GT(gadget.gap, std::log(static_cast<double>(keys - 1)) - 0.01);
    EXPECT_LT(gadget.gap, std::log(static_cast<double>(keys - 1)) + 1.1);
  }
}

TEST(TwoStrings, are_decided_on_every_instance_and_not_one_bit_below) {
  for (const char* name : {"equality", "disjointness"}) {
    for (std::int64_t n = 1; n <= 7; ++n) expect_exhaustive(built({.name = name, .sizes = {{"n", n}}}));
    expect_interval(built({.name = name, .sizes = {{"n", 300}}}), 20);
  }
  for (const auto& [n, p] : {std::pair(4, 3), {64, 4}})
    expect_smallest_precision({.name = "equality", .sizes = {{"n", n}}}, p, {.samples = 100});
}

TEST(TwoStrings, fail_without_the_first_layer) {
  Construction made = built({.name = "equality", .sizes = {{"n", 4}}});
  Tensor& fetched = made.weights.tensors["layers.0.o.weight"];
  fetched =
      integer_tensor(fetched.shape, std::vector<std::int64_t>(static_cast<std::size_t>(fetched.size()), 0));
  expect_failure(made);
}

}  // namespace
}  // namespace rung
