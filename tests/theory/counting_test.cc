#include "rung/theory/counting.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <tuple>

namespace rung {
namespace {

// The independent slow formula: everything multiplied out.
Integer choose(const Integer& M, const Integer& j) {
  if (j < 0 || j > M) return 0;
  Integer value = 1;
  for (Integer i = 0; i < j; ++i) value = value * (M - i) / (i + 1);
  return value;
}
Integer sum_choose(std::int64_t M, std::int64_t from, std::int64_t to) {
  Integer sum = 0, term = 1;
  for (std::int64_t j = 0; j <= to && j <= M; ++j) {
    if (j >= from) sum += term;
    term = term * (M - j) / (j + 1);
  }
  return sum;
}
bool fits(std::int64_t bits, const Integer& value) { return (Integer(1) << bits) >= value; }

TEST(Counting, one_bit_too_few_is_refused) {
  EXPECT_FALSE(bits_suffice(7, Count::power(4, 4)));  // 4^4 = 2^8, a tie
  EXPECT_TRUE(bits_suffice(8, Count::power(4, 4)));
  EXPECT_FALSE(bits_suffice(-1, Count::power(1, 1)));
  EXPECT_TRUE(bits_suffice(0, Count::power(1, 1)));
}

TEST(Counting, ties_at_powers_of_two_are_exact_at_every_size) {
  for (unsigned k = 1; k <= 40; ++k) {
    const Integer n = Integer(1) << k, bits = n * k;
    EXPECT_TRUE(bits_suffice(bits, Count::power(n, n))) << k;
    EXPECT_FALSE(bits_suffice(bits - 1, Count::power(n, n))) << k;
    EXPECT_FALSE(bits_suffice(bits, Count::power(n + 1, n + 1))) << k;
  }
}

TEST(Counting, powers_agree_with_multiplication) {
  for (int n = 1; n <= 200; ++n) {
    const Integer value = boost::multiprecision::pow(Integer(n), static_cast<unsigned>(n));
    const std::int64_t around = static_cast<std::int64_t>(n * std::log2(n));
    for (std::int64_t bits = std::max<std::int64_t>(0, around - 2); bits <= around + 2; ++bits)
      EXPECT_EQ(bits_suffice(bits, Count::power(n, n)), fits(bits, value)) << n << " " << bits;
  }
}

// 3^e and 2^s agree to many digits for the convergents of lg 3: a double cannot tell them apart.
TEST(Counting, near_ties_of_the_continued_fraction_of_lg_3_are_decided) {
  struct Row {
    std::int64_t exponent, bits;
    bool fits;
  };
  for (const Row& row :
       {Row{12, 19, false}, Row{41, 65, true}, Row{53, 84, false}, Row{306, 485, true}, Row{665, 1054, false},
        Row{15601, 24727, true}, Row{31867, 50508, false}, Row{79335, 125743, true}}) {
    const Integer value = boost::multiprecision::pow(Integer(3), static_cast<unsigned>(row.exponent));
    ASSERT_EQ(fits(row.bits, value), row.fits);
    EXPECT_EQ(bits_suffice(row.bits, Count::power(3, row.exponent)), row.fits);
  }
  // Later convergents p/q of lg 3, by the same continued fraction run on the enclosure itself: neighbours lie
  // on opposite sides, and |q lg 3 - p| falls below 1e-30, far out of reach of floating point.
  constexpr unsigned kScale = 600;
  Integer top = lg_enclosure(3, kScale).low, bottom = Integer(1) << kScale;
  Integer p_before = 0, p = 1, q_before = 1, q = 0;
  for (int step = 0; step < 60; ++step) {
    const Integer digit = top / bottom, rest = top % bottom;
    std::tie(p_before, p) = std::pair<Integer, Integer>(p, digit * p + p_before);
    std::tie(q_before, q) = std::pair<Integer, Integer>(q, digit * q + q_before);
    top = bottom;
    bottom = rest;
    EXPECT_EQ(bits_suffice(p, Count::power(3, q)), step % 2 == 1) << p << "/" << q;
  }
  EXPECT_GT(bit_length(q), 90u);
}

TEST(Counting, binomials_agree_with_multiplication) {
  for (int M = 0; M <= 60; ++M)
    for (int j = 0; j <= M; ++j)
      for (const Integer value = choose(M, j);
           int bits : {0, 1, 2, 5, 10, 20, 40, static_cast<int>(bit_length(value - 1)) - 1,
                       static_cast<int>(bit_length(value - 1))})
        ASSERT_EQ(bits_suffice(bits, Count::binomial(M, j)), bits >= 0 && fits(std::max(bits, 0), value))
            << M << " " << j << " " << bits;
  EXPECT_NEAR(Count::binomial(64, 8).lg(), 32.0, 0.05);
}

TEST(Counting, sums_of_binomials_agree_with_multiplication) {
  for (int M = 1; M <= 40; ++M)
    for (int n = 1; n <= M + 2; ++n) {
      const Integer without = sum_choose(M, 1, n), with = without + 1;
      for (int bits = 0; bits <= 42; ++bits) {
        ASSERT_EQ(bits_suffice(bits, Count::subsets(M, n)), fits(bits, without))
            << M << " " << n << " " << bits;
        ASSERT_EQ(bits_suffice(bits, Count::subsets_or_empty(M, n)), fits(bits, with));
      }
      ASSERT_NEAR(Count::subsets(M, n).lg(), std::log2(without.convert_to<double>()), 1e-12);
    }
}

// The forms that are too large to multiply out at once take the other road; here both roads are walked.
TEST(Counting, large_forms_agree_with_multiplication) {
  for (std::int64_t M : {4201, 5000, 5001, 9001})
    for (std::int64_t n : {M / 5, M / 3, M / 2 - 20, M / 2 - 1, M / 2, M / 2 + 1, M - 2, M - 1, M}) {
      const Integer binomial = choose(M, n), sum = sum_choose(M, 1, n);
      for (const auto& [count, value] :
           {std::pair{Count::binomial(M, n), binomial}, std::pair{Count::subsets(M, n), sum},
            std::pair{Count::subsets_or_empty(M, n), Integer(sum + 1)}}) {
        const std::int64_t around = value <= 1 ? 0 : static_cast<std::int64_t>(bit_length(value));
        for (std::int64_t bits = std::max<std::int64_t>(0, around - 2); bits <= around + 2; ++bits)
          ASSERT_EQ(bits_suffice(bits, count), fits(bits, value)) << count.formula() << " " << bits;
        ASSERT_EQ(bits_needed(count), bit_length(value - 1)) << count.formula();
        const Enclosure lg = lg_enclosure(value, 80);
        ASSERT_NEAR(count.lg(), lg.midpoint(), 1e-11 * std::max(1.0, lg.midpoint())) << count.formula();
      }
    }
}

TEST(Counting, perfect_codes_are_ties) {  // 1 + 90 + C(90,2) = 2^12; 1 + 23 + C(23,2) + C(23,3) = 2^11
  EXPECT_TRUE(bits_suffice(12, Count::subsets_or_empty(90, 2)));
  EXPECT_FALSE(bits_suffice(11, Count::subsets_or_empty(90, 2)));
  EXPECT_TRUE(bits_suffice(11, Count::subsets_or_empty(23, 3)));
  EXPECT_FALSE(bits_suffice(10, Count::subsets(23, 3)));
}

TEST(Counting, two_sum_golden_values) {
  EXPECT_NEAR(Count::subsets(1024 * 1024, 1024).lg(), 11710, 0.5);
  EXPECT_NEAR(Count::subsets((1024 * 1024 - 1) / 2, 1024).lg(), 10686, 0.5);
  EXPECT_EQ(Count::subsets(5, 2).formula(), "sum of C(5,1..2)");
}

RC_GTEST_PROP(Counting, logarithms_are_enclosed, ()) {
  const auto b = *rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 62);
  const auto scale = *rc::gen::element(8u, 53u, 64u, 200u);
  const Enclosure coarse = lg_enclosure(b, scale), fine = lg_enclosure(b, scale + 90);
  RC_ASSERT(coarse.high - coarse.low <= 2);
  RC_ASSERT((coarse.low << 90) <= fine.high);
  RC_ASSERT((coarse.high << 90) >= fine.low);
  RC_ASSERT(std::abs(coarse.midpoint() - std::log2(static_cast<double>(b))) < 1e-2);
}

TEST(Counting, factorials_are_enclosed_on_both_sides_of_the_multiplied_out_range) {
  Integer factorial = 1;
  for (int n = 1; n <= 700; ++n) {
    factorial *= n;
    for (unsigned scale : {16u, 64u, 256u, 512u}) {
      const Enclosure direct = lg_enclosure(factorial, scale), stirling = lg_factorial_enclosure(n, scale);
      ASSERT_LE(stirling.high - stirling.low, 2) << n << " " << scale;
      ASSERT_LE(stirling.low, direct.high) << n << " " << scale;
      ASSERT_GE(stirling.high, direct.low) << n << " " << scale;
    }
  }
}

}  // namespace
}  // namespace rung
