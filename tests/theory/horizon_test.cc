#include "rung/theory/horizon.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace rung {
namespace {

// The first n whose count exceeds 2^bits, searched as verdicts search it: n tokens at size n.
template <class CountOf>
std::optional<std::int64_t> certified_from(const Integer& bits, CountOf&& count) {
  return first_certified([](std::int64_t n) { return n; },
                         [&](std::int64_t n) { return !bits_suffice(bits, count(n)); });
}
std::int64_t eva_horizon(const Integer& bits) { return *certified_from(bits, eva_count) - 1; }

TEST(Horizon, is_the_last_size_that_fits_so_the_bound_certifies_one_later) {
  EXPECT_TRUE(bits_suffice(1024, eva_count(143)));
  EXPECT_FALSE(bits_suffice(1024, eva_count(144)));
  EXPECT_EQ(certified_from(1024, eva_count), 144);
}

TEST(Horizon, golden_values) {
  EXPECT_EQ(eva_horizon(8192), 842);
  EXPECT_EQ(eva_horizon(65536), 5297);
  EXPECT_EQ(eva_horizon(1'000'000), 62746);
  EXPECT_EQ(eva_horizon(0), 1);
  EXPECT_EQ(eva_horizon(2), 2);
  EXPECT_EQ(eva_horizon(8), 4);
  EXPECT_NEAR(static_cast<double>(eva_horizon(670'000'000)), 2.7e7, 0.05e7);
}

TEST(Horizon, huge_states_are_answered_exactly) {
  const std::int64_t n = std::int64_t{1} << 35;
  EXPECT_EQ(eva_horizon(Integer(n) * 35), n);
  EXPECT_EQ(eva_horizon(Integer(n) * 35 - 1), n - 1);
}

// The slow way: the first n from 1 on.
template <class Count>
std::int64_t slow(const Integer& bits, std::int64_t limit, Count&& count) {
  for (std::int64_t n = 1; n <= limit; ++n)
    if (!bits_suffice(bits, count(n))) return n;
  return -1;
}

TEST(Horizon, every_search_agrees_with_a_walk_from_one) {
  const Modulus linear{}, square{.rule = Modulus::Rule::square},
      fixed{.rule = Modulus::Rule::fixed, .value = 40};
  const auto agrees = [](int bits, auto&& count) {
    EXPECT_EQ(certified_from(bits, count).value_or(-1), slow(bits, 200, count));
  };
  for (int bits = 0; bits <= 120; ++bits) {
    agrees(bits, eva_count);
    agrees(bits, log_linear_count);
    for (int alphabet : {2, 3, 10}) {
      agrees(bits, [&](std::int64_t n) { return index_count(n, alphabet); });
      agrees(bits, [&](std::int64_t n) { return log_linear_index_count(n, alphabet); });
    }
    for (const auto& modulus : {linear, square, fixed}) {
      agrees(bits, [&](std::int64_t n) { return two_sum_count(n, modulus.at(n)); });
      agrees(bits, [&](std::int64_t n) { return log_linear_two_sum_count(n, modulus.at(n)); });
    }
  }
}

TEST(Horizon, a_bitmap_ends_the_two_sum_bound) {
  const auto fixed = [](std::int64_t n) { return two_sum_count(n, 100); };
  EXPECT_TRUE(certified_from(99, fixed).has_value());
  EXPECT_FALSE(certified_from(100, fixed).has_value());
  EXPECT_FALSE(certified_from(0, [](std::int64_t n) { return index_count(n, 1); }).has_value());
}

TEST(Horizon, log_linear_equals_the_linear_bound_at_powers_of_two) {
  EXPECT_EQ(log_linear_count(64).formula(), "64^64");
  EXPECT_EQ(log_linear_count(127).formula(), "127^64");
}

TEST(Horizon, determined_values_are_the_largest_that_fit) {
  for (std::int64_t block : {1, 2, 5, 9})
    for (int bits = 0; bits <= 20; ++bits) {
      const Integer d = determined_values(bits, block);
      EXPECT_TRUE(bits_suffice(bits, Count::subsets_or_empty(d, block)));
      EXPECT_FALSE(bits_suffice(bits, Count::subsets_or_empty(d + 1, block)));
    }
}

TEST(Horizon, sparse_bound_needs_an_unselected_complete_block) {
  SparseLayer layer{.block = 8, .selected = 2, .message_bits = 31};  // lg C(64,8) = 32.04
  EXPECT_TRUE(sparse_two_sum_impossible(layer, 24, 64));
  EXPECT_FALSE(sparse_two_sum_impossible(layer, 23, 64));
  layer.message_bits = 33;
  EXPECT_FALSE(sparse_two_sum_impossible(layer, 24, 64));
  layer.message_bits = 31;
  layer.selected = 1 + window_blocks(9, 8);  // 1 + 2 + 1
  EXPECT_FALSE(sparse_two_sum_impossible(layer, 39, 64));
  EXPECT_TRUE(sparse_two_sum_impossible(layer, 40, 64));
}

TEST(Horizon, position_dependent_compression_is_never_easier_to_refute) {
  const Modulus square{.rule = Modulus::Rule::square};
  for (std::int64_t block : {2, 4, 8})
    for (int bits = 0; bits <= 40; bits += 5) {
      SparseLayer layer{.block = block, .selected = 2, .message_bits = bits};
      const auto common = sparse_two_sum_certified_from(layer, square);
      layer.position_dependent = true;
      const auto dependent = sparse_two_sum_certified_from(layer, square);
      ASSERT_TRUE(common && dependent);
      EXPECT_LE(*common, *dependent);
      EXPECT_FALSE(sparse_two_sum_impossible(layer, *dependent - 1, square.at(*dependent - 1)));
    }
}

RC_GTEST_PROP(Horizon, more_state_bits_never_lower_a_horizon, ()) {
  const auto fewer = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000);
  const auto more = fewer + *rc::gen::inRange<std::int64_t>(0, 1'000'000);
  const auto at_most = [](std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
    return !b || (a && *a <= *b);
  };
  const Modulus modulus{.rule = *rc::gen::element(Modulus::Rule::twice_plus_one, Modulus::Rule::square)};
  const auto falls = [&](auto&& count) {
    return !at_most(certified_from(fewer, count), certified_from(more, count));
  };
  RC_ASSERT(!falls(eva_count));
  RC_ASSERT(!falls(log_linear_count));
  RC_ASSERT(!falls([](std::int64_t n) { return index_count(n, 7); }));
  RC_ASSERT(!falls([&](std::int64_t n) { return two_sum_count(n, modulus.at(n)); }));
  RC_ASSERT(!falls([&](std::int64_t n) { return log_linear_two_sum_count(n, modulus.at(n)); }));
  const SparseLayer low{.block = 16, .selected = 4, .message_bits = fewer % 3000},
      high{.block = 16, .selected = 4, .message_bits = fewer % 3000 + (more - fewer) % 97};
  RC_ASSERT(
      at_most(sparse_two_sum_certified_from(low, modulus), sparse_two_sum_certified_from(high, modulus)));
}

}  // namespace
}  // namespace rung
