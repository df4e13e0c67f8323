// Invariant: a returned ceiling is never below the true one. R and the dual are evaluated in long double as
// sums of few terms of bounded size; kSlack (bits per answer) is many times their rounding error and is
// always spent on the safe side. Reference: docs/counting.md, "Accuracy ceilings".
#include "rung/theory/ceiling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <numbers>

#include "rung/base/require.h"
#include "rung/theory/horizon.h"

namespace rung {
namespace {

constexpr long double kSlack = 0x1p-48L;
constexpr long double kLn2 = std::numbers::ln2_v<long double>;
constexpr std::size_t kMostQueries = std::size_t{1} << 20;

// R(a) as a divergence from chance, a lg(a σ) + (1-a) lg((1-a) σ/(σ-1)): no cancellation of large terms.
long double divergence(std::int64_t alphabet, long double a) {
  const long double sigma = static_cast<long double>(alphabet);
  a = std::clamp(a, 1 / sigma, 1.0L);
  const long double wrong = 1 - a;
  long double bits = a * std::log2(a * sigma);
  if (wrong > 0) bits += wrong * std::log2(wrong * sigma / (sigma - 1));
  return std::max(bits, 0.0L);
}

// A double at or above the largest a with n R(a) <= bits, where that is below 1.
double ceiling_at(long double tokens, std::int64_t alphabet, long double bits) {
  double feasible = 1 / static_cast<double>(alphabet), beyond = 1;
  const auto certainly_beyond = [&](double a) { return tokens * (divergence(alphabet, a) - kSlack) > bits; };
  if (!certainly_beyond(beyond)) return 1;
  while (true) {
    const double middle = feasible + (beyond - feasible) / 2;
    if (middle <= feasible || middle >= beyond) return beyond;
    (certainly_beyond(middle) ? beyond : feasible) = middle;
  }
}

double bucket_ceiling(std::int64_t tokens, std::int64_t alphabet, const Integer& bits) {
  if (alphabet == 1 || bits_suffice(bits, index_count(tokens, alphabet))) return 1;
  return ceiling_at(static_cast<long double>(tokens), alphabet, bits.convert_to<long double>());
}

// lg((2^u + σ - 1)/σ), the bits that price pressure u >= 0 is worth; all terms positive.
template <class Float>
Float pressure_bits(Float u, Float sigma) {
  const Float ln2 = static_cast<Float>(kLn2);
  if (u <= 60) return std::log1p(std::expm1(u * ln2) / sigma) / ln2;
  return u - std::log2(sigma) + std::log1p((sigma - 1) * std::exp2(-u)) / ln2;
}

// The accuracy that maximises q a - λ R(a): R'(a) = q/λ.
template <class Float>
Float priced_accuracy(Float u, Float sigma) {
  return 1 / (1 + (sigma - 1) * std::exp2(-u));
}

double spent_bits(const std::vector<double>& q, std::int64_t alphabet, double price) {
  const double sigma = static_cast<double>(alphabet);
  double spent = 0;
  for (const double share : q) {
    if (share == 0) continue;
    const double u = share / price, a = priced_accuracy(u, sigma);
    spent += std::max(0.0, a * u - pressure_bits(u, sigma));  // R(a) = a u - conjugate(u)
  }
  return spent;
}

}  // namespace

double accuracy_ceiling(std::int64_t n, std::int64_t alphabet, const Integer& bits) {
  RUNG_REQUIRE(n >= 1 && alphabet >= 1 && bits >= 0, "n={} alphabet={} bits={}", n, alphabet, bits.str());
  return bucket_ceiling(n, alphabet, bits);
}

double effective_bits(std::int64_t n, std::int64_t alphabet, double accuracy) {
  RUNG_REQUIRE(n >= 1 && alphabet >= 1 && accuracy >= 0 && accuracy <= 1, "n={} alphabet={} accuracy={}", n,
               alphabet, accuracy);
  if (alphabet == 1 || accuracy <= 1 / static_cast<double>(alphabet)) return 0;
  const long double bits = static_cast<long double>(n) * (divergence(alphabet, accuracy) - kSlack);
  return std::max(0.0, std::nextafter(static_cast<double>(bits), 0.0));
}

LogLinearCeiling log_linear_ceiling(std::int64_t n, std::int64_t alphabet, const Integer& bits) {
  RUNG_REQUIRE(n >= 1 && alphabet >= 1 && bits >= 0, "n={} alphabet={} bits={}", n, alphabet, bits.str());
  LogLinearCeiling result;
  long double right = 0;
  Integer budget = 0;
  for (int level = 62; level >= 0; --level) {
    const std::int64_t size = std::int64_t{1} << level;
    if ((n & size) == 0) continue;
    budget += bits;
    BucketCeiling bucket{.size = size};
    bucket.ungated = bucket_ceiling(size, alphabet, bits);
    bucket.gated = bucket_ceiling(size, alphabet, budget);
    right += static_cast<long double>(size) * bucket.ungated;
    result.buckets.push_back(bucket);
  }
  const double average = static_cast<double>(right / static_cast<long double>(n));
  result.average = right >= static_cast<long double>(n) ? 1 : std::min(1.0, std::nextafter(average, 2.0));
  return result;
}

QueryCeiling query_ceiling(const std::vector<double>& q, std::int64_t alphabet, double bits) {
  RUNG_REQUIRE(!q.empty() && alphabet >= 2 && bits >= 0, "queries={} alphabet={} bits={}", q.size(), alphabet,
               bits);
  const long double sigma = static_cast<long double>(alphabet);
  const auto asked = std::count_if(q.begin(), q.end(), [](double share) { return share > 0; });
  if (bits >= static_cast<double>(asked) * std::log2(static_cast<double>(alphabet)) * (1 + 1e-12))
    return {.upper = 1, .attained = 1, .price = 0};
  // Spending falls with the price: bisect on lg λ.
  double cheap = -80, expensive = 40;
  for (int step = 0; step < 64; ++step) {
    const double middle = (cheap + expensive) / 2;
    (spent_bits(q, alphabet, std::exp2(middle)) > bits ? cheap : expensive) = middle;
  }
  QueryCeiling result{.price = std::exp2(expensive)};
  const long double price = result.price;
  long double value = 0, attained = 0;
  for (const double share : q) {
    const long double u = share / price;
    value += pressure_bits(u, sigma);
    attained += share * priced_accuracy(u, sigma);
  }
  value = price * (bits + value);
  value *= 1 + static_cast<long double>(q.size() + 64) * std::numeric_limits<long double>::epsilon() * 4;
  result.upper = std::min(1.0, std::nextafter(static_cast<double>(value), 2.0));
  result.attained = std::min(static_cast<double>(attained), result.upper);
  return result;
}

std::vector<double> zipf_queries(std::int64_t n) {
  RUNG_REQUIRE(n >= 1, "n={}", n);
  std::vector<double> q(static_cast<std::size_t>(n));
  long double sum = 0;
  for (std::int64_t x = n; x-- > 0;) sum += 1 / static_cast<long double>(x + 1);
  for (std::size_t x = 0; x < q.size(); ++x)
    q[x] = static_cast<double>(1 / (static_cast<long double>(x + 1) * sum));
  return q;
}

Result<std::vector<double>> read_queries(const std::string& path) {
  std::ifstream file(path);
  if (!file) return fail(ErrorCode::io, "[ceiling] cannot read query weights from {}", path);
  std::vector<double> q;
  long double sum = 0;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    const auto begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') continue;
    char* end = nullptr;
    const double weight = std::strtod(line.c_str() + begin, &end);
    const std::string_view rest(end);
    if (end == line.c_str() + begin || rest.find_first_not_of(" \t\r") != std::string_view::npos)
      return fail(ErrorCode::parse, "[ceiling] {} line {}: expected one number", path, number);
    if (!(weight >= 0) || !std::isfinite(weight))
      return fail(ErrorCode::range, "[ceiling] {} line {}: a weight is finite and not negative", path,
                  number);
    if (q.size() == kMostQueries)
      return fail(ErrorCode::resource, "[ceiling] {}: more than {} weights", path, kMostQueries);
    q.push_back(weight);
    sum += weight;
  }
  if (!file.eof()) return fail(ErrorCode::io, "[ceiling] cannot read query weights from {}", path);
  if (!(sum > 0) || !std::isfinite(static_cast<double>(sum)))
    return fail(ErrorCode::range, "[ceiling] {}: the weights do not sum to a positive number", path);
  for (double& weight : q) weight = static_cast<double>(weight / sum);
  return q;
}

std::string format_ceiling(double value, int digits) {
  RUNG_REQUIRE(value >= 0 && value <= 1 && digits >= 1 && digits <= 15, "value={} digits={}", value, digits);
  std::int64_t unit = 1;
  for (int i = 0; i < digits; ++i) unit *= 10;
  auto steps =
      static_cast<std::int64_t>(std::floor(static_cast<long double>(value) * static_cast<long double>(unit)));
  while (static_cast<double>(steps) / static_cast<double>(unit) < value) ++steps;
  return fmt::format("{}.{:0{}}", steps / unit, steps % unit, digits);
}

}  // namespace rung
