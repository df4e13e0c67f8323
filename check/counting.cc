#include "check/counting.h"

#include <boost/multiprecision/cpp_int.hpp>

namespace rung_check {
namespace {

using boost::multiprecision::cpp_int;
// value > 2^bits, value >= 1.
bool above_power(const cpp_int& value, std::int64_t bits) {
  const auto highest = static_cast<std::int64_t>(boost::multiprecision::msb(value));
  return highest > bits ||
         (highest == bits && static_cast<std::int64_t>(boost::multiprecision::lsb(value)) != bits);
}

// A product or quotient of a number of so many bits with one word, and a power that gets as long.
constexpr std::uint64_t kPerStep = 64;  // what a step costs that multiplies next to nothing
void charge_step(Budget& budget, std::int64_t bits) {
  budget.work(kPerStep + 4 * (static_cast<std::uint64_t>(bits) / 64 + 1));  // a product and a quotient
}
void charge_power(Budget& budget, Int bits) {
  const auto words = static_cast<std::uint64_t>(bits) / 64 + 1;
  budget.work(kPerStep + words * words);  // the last squaring, and all before it together
}

constexpr std::int64_t kLongestPower = std::int64_t{1} << 20, kMostFactors = std::int64_t{1} << 16;

}  // namespace

bool power_exceeds(std::int64_t base, Int exponent, Int bits, Budget& budget) {
  const std::int64_t above = ceil_lg(static_cast<std::uint64_t>(base)),
                     below = bit_length(static_cast<std::uint64_t>(base)) - 1;
  if (mul(exponent, below) > bits) return true;    // base >= 2^below
  if (mul(exponent, above) <= bits) return false;  // base <= 2^above
  if (mul(exponent, above) > kLongestPower) throw OutOfResources("a power of more than 2^20 bits to compare");
  charge_power(budget, mul(exponent, above));
  return above_power(boost::multiprecision::pow(cpp_int(base), static_cast<unsigned>(exponent)),
                     static_cast<std::int64_t>(bits));
}

bool subsets_exceed(std::int64_t n, std::int64_t least, std::int64_t most, std::int64_t bits,
                    Budget& budget) {
  most = std::min(most, n);
  if (most > kMostFactors) throw OutOfResources("a sum of more than 2^16 binomial coefficients");
  cpp_int value = 1, sum = least == 0 ? 1 : 0;
  for (std::int64_t j = 1; j <= most; ++j) {
    charge_step(budget, static_cast<std::int64_t>(msb(value)));
    value = value * (n - j + 1) / j;
    sum += value;
    if (above_power(sum, bits)) return true;
  }
  return false;
}

bool binomial_exceeds(std::int64_t n, std::int64_t k, std::int64_t bits, Budget& budget) {
  if (k > n) return false;
  k = std::min(k, n - k);
  if (k > kMostFactors) throw OutOfResources("a binomial coefficient of more than 2^16 factors");
  cpp_int value = 1;
  for (std::int64_t i = 1; i <= k; ++i) {
    charge_step(budget, static_cast<std::int64_t>(msb(value)));
    value = value * (n - k + i) / i;  // C(n-k+i, i): increasing in i
    if (above_power(value, bits)) return true;
  }
  return above_power(value, bits);
}

bool images_spread(std::int64_t m, std::int64_t T, std::int64_t x0, Int bits, Budget& budget) {
  const Int calls = kept(mul(T, x0));
  constexpr std::int64_t kScale = 1'000'000'000, kScaledE = 2'718'281'829;  // e < kScaledE / kScale
  // Times T and as powers of 2: a^calls >= b^calls 2^right. A number of length l is at least 2^(l-1) and
  // below 2^l.
  const Int right = add(mul(mul(2, bits), T), 2);
  const cpp_int a = cpp_int(2) * m * kScale, b = cpp_int(kScaledE) * static_cast<std::int64_t>(calls);
  const Int a_length = static_cast<Int>(msb(a)) + 1, b_length = static_cast<Int>(msb(b)) + 1;
  if (mul(calls, a_length - 1) >= add(mul(calls, b_length), right)) return true;
  if (mul(calls, a_length) <= add(mul(calls, b_length - 1), right)) return false;
  if (mul(calls, a_length) > kLongestPower || add(mul(calls, b_length), right) > kLongestPower)
    throw OutOfResources("a power of more than 2^20 bits to compare");
  charge_power(budget, mul(calls, a_length));
  charge_power(budget, add(mul(calls, b_length), right));
  const auto exponent = static_cast<unsigned>(calls);
  return pow(a, exponent) >= pow(b, exponent) << static_cast<unsigned>(right);
}

}  // namespace rung_check
