// Rounding to storage formats against the formats themselves: every bit pattern is decoded here, from the
// standards' definitions, and the nearest number is searched in the sorted list.
//   bf16, fp16, fp32  IEEE 754 binary interchange (bf16: 8 exponent, 7 fraction bits); overflow to infinity
//   e4m3, e5m2        OCP 8-bit floating point: e4m3 has no infinities and one NaN per sign; both saturate here
#include "rung/exact/number_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "rung/base/random.h"

namespace rung {
namespace {

struct Layout {
  NumberFormat format;
  int exponent_bits, fraction_bits;
  bool infinities;  // the largest exponent means infinity and NaN; else only all ones is NaN
  bool saturates;
};
constexpr Layout kBf16{NumberFormat::bf16, 8, 7, true, false};
constexpr Layout kFp16{NumberFormat::fp16, 5, 10, true, false};
constexpr Layout kE4m3{NumberFormat::fp8_e4m3, 4, 3, false, true};
constexpr Layout kE5m2{NumberFormat::fp8_e5m2, 5, 2, true, true};

struct Representable {
  double value = 0;
  std::uint32_t bits = 0;  // even: the last fraction bit is 0
};

// All finite non-negative numbers, increasing.
std::vector<Representable> finite_numbers(const Layout& layout) {
  std::vector<Representable> out;
  const std::uint32_t exponents = 1u << layout.exponent_bits, fractions = 1u << layout.fraction_bits;
  const int bias = static_cast<int>(exponents / 2) - 1;
  for (std::uint32_t e = 0; e < exponents; ++e)
    for (std::uint32_t f = 0; f < fractions; ++f) {
      if (layout.infinities && e == exponents - 1) continue;
      if (!layout.infinities && e == exponents - 1 && f == fractions - 1) continue;
      const double significand = (e == 0 ? 0.0 : 1.0) + static_cast<double>(f) / fractions;
      out.push_back(
          {std::ldexp(significand, std::max<int>(static_cast<int>(e), 1) - bias), e * fractions + f});
    }
  return out;
}

// Nearest-even of |x| in the list, which is extended by the number that would follow the largest one.
double nearest(const std::vector<Representable>& numbers, const Layout& layout, double x) {
  const double size = std::fabs(x), largest = numbers.back().value;
  const double next = largest + (largest - numbers[numbers.size() - 2].value);
  const auto above = std::lower_bound(numbers.begin(), numbers.end(), size,
                                      [](const Representable& a, double b) { return a.value < b; });
  double result = 0;
  if (above == numbers.end()) {
    const double middle = (largest + next) / 2;  // exact: one bit more than the format
    // The follower of the largest number is even when the largest one is odd.
    const bool up = size > middle || (size == middle && (numbers.back().bits & 1));
    result = !up || layout.saturates ? largest : std::numeric_limits<double>::infinity();
  } else if (above == numbers.begin() || above->value == size) {
    result = above->value;
  } else {
    const Representable low = *(above - 1), high = *above;
    const double middle = (low.value + high.value) / 2;
    result = size < middle         ? low.value
             : size > middle       ? high.value
             : (low.bits & 1) == 0 ? low.value
                                   : high.value;
  }
  return std::copysign(result, x);
}

class FloatFormat : public testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(Formats, FloatFormat, testing::Values(kBf16, kFp16, kE4m3, kE5m2));

TEST_P(FloatFormat, keeps_every_number_that_it_can_write) {
  const Precision precision{GetParam().format};
  for (const auto& number : finite_numbers(GetParam())) {
    ASSERT_EQ(round_to_format(number.value, precision), number.value);
    ASSERT_EQ(round_to_format(-number.value, precision), -number.value);
    ASSERT_EQ(std::signbit(round_to_format(-number.value, precision)), true);
  }
}

TEST_P(FloatFormat, goes_to_the_nearest_number_and_halves_to_even) {
  const Precision precision{GetParam().format};
  const auto numbers = finite_numbers(GetParam());
  const auto check = [&](double x) {
    ASSERT_EQ(round_to_format(x, precision), nearest(numbers, GetParam(), x)) << std::hexfloat << x;
    ASSERT_EQ(round_to_format(-x, precision), nearest(numbers, GetParam(), -x)) << std::hexfloat << -x;
  };
  for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
    const double low = numbers[i].value, high = numbers[i + 1].value, middle = (low + high) / 2;
    check(middle);
    check(std::nextafter(middle, low));
    check(std::nextafter(middle, high));
    check(std::nextafter(low, high));
    check(std::nextafter(high, low));
  }
  const double largest = numbers.back().value, step = largest - numbers[numbers.size() - 2].value;
  for (const double x : {largest + step / 4, largest + step / 2, std::nextafter(largest + step / 2, 0.0),
                         largest + step, 2 * largest, 1e300})
    check(x);
  Random random(7);
  for (int i = 0; i < 20'000; ++i)
    check(std::ldexp(random.unit(), static_cast<int>(random.between(-160, 160))));
}

TEST_P(FloatFormat, infinity_saturates_or_stays_and_nan_stays) {
  const Precision precision{GetParam().format};
  const double infinity = std::numeric_limits<double>::infinity(),
               largest = finite_numbers(GetParam()).back().value;
  EXPECT_EQ(round_to_format(infinity, precision), GetParam().saturates ? largest : infinity);
  EXPECT_EQ(round_to_format(-infinity, precision), GetParam().saturates ? -largest : -infinity);
  EXPECT_TRUE(std::isnan(round_to_format(std::nan(""), precision)));
}

TEST(FloatFormats, have_the_largest_numbers_of_their_standards) {
  EXPECT_EQ(finite_numbers(kE4m3).back().value, 448);
  EXPECT_EQ(finite_numbers(kE5m2).back().value, 57344);
  EXPECT_EQ(finite_numbers(kFp16).back().value, 65504);
  EXPECT_EQ(finite_numbers(kBf16).back().value, 0x1.FEp127);
  EXPECT_EQ(finite_numbers(kE4m3)[1].value, 0x1p-9);
  EXPECT_EQ(finite_numbers(kFp16)[1].value, 0x1p-24);
}

TEST(FloatFormats, fp32_is_the_compilers_float) {
  const Precision precision{NumberFormat::fp32};
  Random random(8);
  const auto check = [&](double x) {
    ASSERT_EQ(round_to_format(x, precision), static_cast<double>(static_cast<float>(x)))
        << std::hexfloat << x;
  };
  for (int i = 0; i < 200'000; ++i)
    check(std::ldexp(random.unit() - 0.5, static_cast<int>(random.between(-170, 128))));
  for (int i = 0; i < 50'000; ++i) {  // halves between neighbours
    const auto f = std::ldexp(static_cast<float>(random.between(1 << 23, (1 << 24) - 1)),
                              static_cast<int>(random.between(-172, 100)));
    check((static_cast<double>(f) + static_cast<double>(std::nextafter(f, INFINITY))) / 2);
  }
  for (const double x : {0.0, -0.0, 0x1.FFFFFEp127, 0x1.FFFFFFp127, 0x1.FFFFFEFFFFFFFp127, 1e300, 0x1p-149,
                         0x1p-150, 0x1.8p-150, -0x1p-151})
    check(x);
}

TEST(FixedPoint, rounds_halves_to_even_and_saturates) {
  // fx(6, 2): quarters from -8 to 7.75. The reference counts quarters in integers, with x a multiple of 1/16.
  const Precision precision{NumberFormat::fixed, 6, 2};
  for (std::int64_t sixteenths = -200; sixteenths <= 200; ++sixteenths) {
    const std::int64_t below = sixteenths >= 0 ? sixteenths / 4 : -((-sixteenths + 3) / 4),
                       rest = sixteenths - 4 * below;
    std::int64_t quarters = below + (rest > 2 || (rest == 2 && below % 2 != 0) ? 1 : 0);
    quarters = std::clamp<std::int64_t>(quarters, -32, 31);
    ASSERT_EQ(round_to_format(static_cast<double>(sixteenths) / 16, precision),
              static_cast<double>(quarters) / 4)
        << sixteenths << "/16";
  }
  EXPECT_EQ(round_to_format(std::numeric_limits<double>::infinity(), precision), 7.75);
  EXPECT_EQ(round_to_format(-1e300, precision), -8);
  EXPECT_TRUE(std::isnan(round_to_format(std::nan(""), precision)));
  EXPECT_EQ(round_to_format(1e300, Precision{NumberFormat::fixed, 48, 0}), std::ldexp(1.0, 47) - 1);
}

}  // namespace
}  // namespace rung
