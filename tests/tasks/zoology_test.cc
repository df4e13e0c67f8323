// MQAR as Zoology draws it: the shape of an instance, and its gaps against a slow formula of the same distribution.
#include "rung/tasks/zoology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace rung {
namespace {

TEST(zoology, every_key_is_asked_once_at_an_even_gap_and_labelled_with_its_value) {
  for (const bool blank : {false, true}) {
    const auto source = *ZoologyMqar::make({.pairs = 6, .length = 40, .vocabulary = 64, .blank = blank});
    std::set<std::int64_t> between;
    for (std::uint64_t i = 0; i < 200; ++i) {
      const Instance one = source.generate(3, i);
      const auto& tokens = one.prompt.fields[0];
      ASSERT_EQ(tokens.size(), 40U);
      ASSERT_EQ(one.answer.size(), 40U);
      std::map<std::int64_t, std::int64_t> table;
      std::set<std::int64_t> values;
      for (std::size_t pair = 0; pair < 6; ++pair) {
        EXPECT_GE(tokens[2 * pair], 1);
        EXPECT_LT(tokens[2 * pair], 32);
        EXPECT_GE(tokens[2 * pair + 1], 32);
        EXPECT_LT(tokens[2 * pair + 1], 64);
        table[tokens[2 * pair]] = tokens[2 * pair + 1];
        values.insert(tokens[2 * pair + 1]);
      }
      EXPECT_EQ(table.size(), 6U);
      EXPECT_EQ(values.size(), 6U);
      std::set<std::int64_t> asked;
      for (std::size_t t = 0; t < 40; ++t) {
        if (one.answer[t] == kNotAsked) {
          if (t >= 12) between.insert(tokens[t]);
          continue;
        }
        EXPECT_GE(t, 12U);
        EXPECT_EQ(t % 2, 0U);
        EXPECT_EQ(one.answer[t], table.at(tokens[t]));
        EXPECT_TRUE(asked.insert(tokens[t]).second);
      }
      EXPECT_EQ(asked.size(), 6U);
    }
    if (blank)
      EXPECT_EQ(between, std::set<std::int64_t>{0});
    else
      EXPECT_EQ(between.size(), 64U);
  }
}

// The gaps of the first two keys, drawn one after another without repetition, by the plain formula.
TEST(zoology, gaps_follow_the_power_law_of_draws_without_repetition) {
  for (const double power : {0.01, 0.5, 1.0}) {
    constexpr std::size_t kGaps = 6;
    constexpr int kDraws = 40'000;
    const auto source = *ZoologyMqar::make({.pairs = 2, .length = 16, .vocabulary = 64, .power = power});
    double weight[kGaps], total = 0;
    for (std::size_t g = 0; g < kGaps; ++g)
      total += weight[g] = std::pow(static_cast<double>(g + 1), power - 1);
    int count[kGaps][kGaps] = {};
    for (int i = 0; i < kDraws; ++i) {
      const Instance one = source.generate(5, static_cast<std::uint64_t>(i));
      std::size_t gap[2] = {};
      for (std::size_t g = 0; g < kGaps; ++g)
        for (std::size_t k = 0; k < 2; ++k)
          if (one.answer[4 + 2 * g] == one.prompt.fields[0][2 * k + 1]) gap[k] = g;
      ++count[gap[0]][gap[1]];
    }
    for (std::size_t a = 0; a < kGaps; ++a)
      for (std::size_t b = 0; b < kGaps; ++b) {
        const double p = a == b ? 0 : weight[a] / total * weight[b] / (total - weight[a]);
        EXPECT_NEAR(count[a][b], kDraws * p, 5 * std::sqrt(kDraws * p * (1 - p)) + (a == b ? 0 : 1))
            << power << ": " << a << ", " << b;
      }
  }
}

TEST(zoology, all_gaps_are_used_where_there_are_as_many_as_pairs) {
  const auto source = *ZoologyMqar::make({.pairs = 64, .length = 256, .vocabulary = 512});
  for (std::uint64_t i = 0; i < 20; ++i) {
    const Instance one = source.generate(1, i);
    EXPECT_EQ(std::count(one.answer.begin(), one.answer.end(), kNotAsked), 192);
  }
}

// The task that is trained: the same draws, with values first, then keys, then blank.
TEST(zoology, the_task_mqar_with_gaps_draws_the_same_under_other_names) {
  for (const double power : {0.01, 1.0}) {
    const auto source =
        *ZoologyMqar::make({.pairs = 5, .length = 64, .vocabulary = 200, .power = power, .blank = true});
    const auto task = std::move(*make_task("mqar", {{"n", 5}, {"M", 99}, {"sigma", 100}, {"queries", 27}},
                                           {{"gaps", fmt::format("{}", power)}}));
    ASSERT_EQ(task->prompt_length(), 64);
    ASSERT_EQ(task->fields().front().size, 200);
    for (std::uint64_t index = 0; index < 100; ++index) {
      const Instance one = source.generate(3, index), other = task->generate(Variant::uniform, 3, index);
      for (std::size_t t = 0; t < 64; ++t) {
        const std::int64_t theirs = one.prompt.fields[0][t];
        EXPECT_EQ(other.prompt.fields[0][t], theirs == 0    ? 199
                                             : theirs < 100 ? 100 + theirs - 1
                                                            : theirs - 100);
        if (t < 10 || t % 2 == 1) continue;
        const std::int64_t label = one.answer[t];
        EXPECT_EQ(other.answer[(t - 10) / 2], label == kNotAsked ? kNotAsked : label - 100);
      }
    }
  }
}

TEST(zoology, the_task_with_gaps_refuses_other_powers_and_too_few_places) {
  const TaskSizes sizes{{"n", 4}, {"M", 8}, {"sigma", 8}, {"queries", 8}};
  for (const char* power : {"0", "-1", "1.5", "nan", "power", "0.5x", ""})
    EXPECT_FALSE(make_task("mqar", sizes, {{"gaps", power}})) << power;
  for (const char* size : {"M", "sigma", "queries"}) {
    TaskSizes few = sizes;
    few[size] = 3;
    EXPECT_FALSE(make_task("mqar", few, {{"gaps", "0.01"}})) << size;
  }
  EXPECT_FALSE(make_task("mqar", {{"n", 1}, {"queries", 1 << 24}}, {{"gaps", "0.01"}}));
  const auto plain = make_task("mqar", sizes, {{"gaps", "none"}});
  ASSERT_TRUE(plain);
  EXPECT_EQ((*plain)->options().size(), 0U);
}

TEST(zoology, sizes_that_it_does_not_have_are_refused) {
  EXPECT_FALSE(ZoologyMqar::make({.pairs = 17, .length = 64}));
  EXPECT_FALSE(ZoologyMqar::make({.length = 63}));
  EXPECT_FALSE(ZoologyMqar::make({.pairs = 0}));
  EXPECT_FALSE(ZoologyMqar::make({.length = 64, .vocabulary = 64}));
  EXPECT_FALSE(ZoologyMqar::make({.power = 0}));
  EXPECT_FALSE(ZoologyMqar::make({.power = 1.01}));
  EXPECT_FALSE(ZoologyMqar::make({.power = std::nan("")}));
  EXPECT_TRUE(ZoologyMqar::make({.pairs = 16, .length = 64, .vocabulary = 66}));
}

TEST(zoology, an_instance_is_a_function_of_seed_and_index) {
  const auto source = *ZoologyMqar::make({});
  EXPECT_EQ(source.generate(1, 7), source.generate(1, 7));
  EXPECT_NE(source.generate(1, 7), source.generate(1, 8));
  EXPECT_NE(source.generate(1, 7), source.generate(2, 7));
}

}  // namespace
}  // namespace rung
