#include "rung/theory/ceiling.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>

namespace rung {
namespace {

// The formula as it is usually written, in plain doubles.
double plain_answer_bits(double sigma, double a) {
  const double h = a >= 1 ? 0 : -a * std::log2(a) - (1 - a) * std::log2(1 - a);
  return std::log2(sigma) - h - (1 - a) * std::log2(sigma - 1);
}

TEST(Ceiling, too_few_bits_never_allow_full_accuracy) {
  EXPECT_LT(accuracy_ceiling(144, 1024), 1.0);
  EXPECT_EQ(accuracy_ceiling(143, 1024), 1.0);
  EXPECT_NEAR(accuracy_ceiling(64, 0), 1.0 / 64, 1e-6);
  EXPECT_GE(accuracy_ceiling(64, 0), 1.0 / 64);
}

TEST(Ceiling, golden_values) {
  struct Row {
    int n, bits;
    double ceiling;
  };
  for (const Row& row : {Row{128, 1024, 1.00}, Row{256, 1024, 0.620}, Row{512, 1024, 0.323},
                         Row{1024, 1024, 0.164}, Row{64, 256, 0.790}, Row{128, 256, 0.425}})
    EXPECT_NEAR(accuracy_ceiling(row.n, row.bits), row.ceiling, 5e-4) << row.n;
  EXPECT_EQ(format_ceiling(accuracy_ceiling(256, 1024), 3), "0.620");
  EXPECT_EQ(format_ceiling(accuracy_ceiling(1024, 1024), 3), "0.165");  // 0.16434, never printed below
}

RC_GTEST_PROP(Ceiling, is_just_above_the_last_feasible_accuracy, ()) {
  const auto n = *rc::gen::inRange<std::int64_t>(1, 5000), sigma = *rc::gen::inRange<std::int64_t>(2, 5000);
  const auto bits = *rc::gen::inRange<std::int64_t>(1, 60000);
  const double ceiling = accuracy_ceiling(n, sigma, bits);
  if (ceiling < 1)
    RC_ASSERT(n * plain_answer_bits(sigma, ceiling) > bits * (1 - 1e-9));
  else
    RC_ASSERT(n * std::log2(sigma) < bits * (1 + 1e-9));
  const double below = ceiling - 1e-6;
  if (below > 1.0 / sigma + 1e-3) RC_ASSERT(n * plain_answer_bits(sigma, below) <= bits);
  RC_ASSERT(effective_bits(n, sigma, std::max(0.0, below)) <= bits);
  RC_ASSERT(accuracy_ceiling(n, sigma, bits + 1) >= ceiling);
}

TEST(Ceiling, effective_bits_is_the_inverse) {
  EXPECT_EQ(effective_bits(64, 64, 1.0 / 64), 0.0);
  EXPECT_EQ(effective_bits(64, 64, 0.001), 0.0);
  EXPECT_NEAR(effective_bits(64, 64, 1), 384, 1e-9);
  EXPECT_LE(effective_bits(64, 64, 1), 384);
  for (int bits : {10, 100, 300}) EXPECT_NEAR(effective_bits(64, 64, accuracy_ceiling(64, bits)), bits, 1e-6);
}

TEST(Ceiling, log_linear_golden_values) {
  const LogLinearCeiling c = log_linear_ceiling(1023, 1023, 1024);
  ASSERT_EQ(c.buckets.size(), 10u);
  EXPECT_EQ(c.buckets[0].size, 512);
  EXPECT_NEAR(c.buckets[0].ungated, 0.286, 5e-4);
  EXPECT_NEAR(c.buckets[1].ungated, 0.50, 5e-3);
  EXPECT_NEAR(c.buckets[2].ungated, 0.86, 5e-3);
  EXPECT_EQ(c.buckets[3].ungated, 1.0);
  EXPECT_NEAR(c.average, 0.50, 5e-3);
  EXPECT_EQ(c.buckets[0].gated, c.buckets[0].ungated);
  EXPECT_GT(c.buckets[1].gated, c.buckets[1].ungated);
  EXPECT_EQ(accuracy_ceiling(1023, 10240), 1.0);
}

// The prefix form by brute force: two buckets, every split of the budget on a fine grid.
TEST(Ceiling, no_gated_spending_beats_the_ungated_average) {
  const std::int64_t n = 12;  // buckets 8 and 4
  for (int bits : {2, 5, 9, 12, 20}) {
    const LogLinearCeiling c = log_linear_ceiling(n, n, bits);
    double best = 0;
    for (int i = 0; i <= 1500; ++i) {
      const double a = 1.0 / n + (1 - 1.0 / n) * i / 1500;
      const double first = 8 * plain_answer_bits(n, a);
      if (first > bits) break;
      for (int j = 0; j <= 1500; ++j) {
        const double b = 1.0 / n + (1 - 1.0 / n) * j / 1500;
        if (first + 4 * plain_answer_bits(n, b) > 2 * bits) break;
        best = std::max(best, (8 * a + 4 * b) / n);
      }
    }
    EXPECT_LE(best, c.average + 1e-12);
    EXPECT_GE(best, c.average - 4e-3);
  }
}

TEST(Ceiling, uniform_queries_are_a_special_case_of_the_convex_program) {
  for (int n : {4, 16, 100})
    for (double share : {0.05, 0.3, 0.7, 0.95}) {
      const auto bits = static_cast<std::int64_t>(share * n * std::log2(n));
      const QueryCeiling c = query_ceiling(std::vector<double>(n, 1.0 / n), n, static_cast<double>(bits));
      EXPECT_NEAR(c.upper, accuracy_ceiling(n, bits), 1e-7);  // the root of R is double at chance
      EXPECT_NEAR(c.attained, c.upper, 1e-9);
    }
}

TEST(Ceiling, no_grid_point_beats_the_dual_and_one_comes_close) {
  const std::vector<double> q{0.7, 0.2, 0.1};
  const std::int64_t sigma = 4;
  for (double bits : {0.2, 1.0, 2.5, 4.0, 5.5}) {
    const QueryCeiling c = query_ceiling(q, sigma, bits);
    double best = 0;
    constexpr int kSteps = 150;
    std::vector<double> accuracy, cost;
    for (int i = 0; i <= kSteps; ++i) {
      accuracy.push_back(0.25 + 0.75 * i / kSteps);
      cost.push_back(plain_answer_bits(sigma, accuracy.back()));
    }
    for (int i = 0; i <= kSteps; ++i)
      for (int j = 0; j <= kSteps && cost[i] + cost[j] <= bits; ++j)
        for (int k = 0; k <= kSteps && cost[i] + cost[j] + cost[k] <= bits; ++k)
          best = std::max(best, q[0] * accuracy[i] + q[1] * accuracy[j] + q[2] * accuracy[k]);
    EXPECT_LE(best, c.upper + 1e-12) << bits;
    EXPECT_GE(best, c.upper - 1e-2) << bits;
    EXPECT_LE(c.attained, c.upper);
    EXPECT_NEAR(c.attained, c.upper, 1e-9) << bits;
  }
}

RC_GTEST_PROP(Ceiling, skewed_queries_are_never_harder_than_uniform_ones, ()) {
  const auto n = *rc::gen::inRange<std::int64_t>(2, 300);
  const auto bits = *rc::gen::inRange<std::int64_t>(0, 2000);
  const double zipf = query_ceiling(zipf_queries(n), n, static_cast<double>(bits)).upper;
  RC_ASSERT(zipf >= accuracy_ceiling(n, bits) - 1e-6);
  RC_ASSERT(zipf <= 1);
}

TEST(Ceiling, unasked_arguments_need_no_bits) {
  EXPECT_EQ(query_ceiling({1.0, 0.0, 0.0}, 8, 3).upper, 1.0);
  EXPECT_LT(query_ceiling({1.0, 0.0, 0.0}, 8, 2.9).upper, 1.0);
}

TEST(Ceiling, query_files_are_read_or_refused_by_line) {
  const std::string path = ::testing::TempDir() + "/queries.txt";
  std::ofstream(path) << "# weights\n3\n\n1\n";
  const auto good = read_queries(path);
  ASSERT_TRUE(good);
  EXPECT_EQ(*good, (std::vector<double>{0.75, 0.25}));
  for (const char* bad : {"1\nx\n", "1\n-1\n", "0\n", "", "1 2\n", "inf\n", "nan\n"}) {
    std::ofstream(path) << bad;
    EXPECT_FALSE(read_queries(path)) << bad;
  }
  std::remove(path.c_str());
  EXPECT_FALSE(read_queries(path));
}

RC_GTEST_PROP(Ceiling, printed_numbers_are_upper_bounds, ()) {
  const double value = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000) / 1e9;
  for (int digits : {1, 3, 4, 9}) {
    const double printed = std::stod(format_ceiling(value, digits));
    RC_ASSERT(printed >= value);
    RC_ASSERT(printed < value + std::pow(10, -digits) * 1.0001);
  }
}

}  // namespace
}  // namespace rung
