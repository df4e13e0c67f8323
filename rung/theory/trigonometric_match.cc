#include "rung/theory/trigonometric_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "rung/base/require.h"

namespace rung {
namespace {

// Steps of the score table in units of the exponent: fine beside log 4n, coarse enough for a short table.
constexpr int kStepsLog = 4;  // tau <= 2^-4

// round(x / 2^shift), ties to even: how the machine shifts a score.
std::int64_t shifted_score(__int128 x, int shift) {
  if (shift == 0) return static_cast<std::int64_t>(x);
  const __int128 half = __int128{1} << (shift - 1), down = x >> shift, rest = x - (down << shift);
  return static_cast<std::int64_t>(down + (rest > half || (rest == half && (down & 1) != 0)));
}

double angle(std::int64_t x, std::int64_t modulus) {
  return 2 * std::numbers::pi * (static_cast<double>(x) / static_cast<double>(modulus));
}

}  // namespace

std::int64_t TrigonometricMatch::cosine(std::int64_t x) const {
  return std::llrint(std::ldexp(std::cos(angle(x, modulus)), fraction));
}
std::int64_t TrigonometricMatch::sine(std::int64_t x) const {
  return std::llrint(std::ldexp(std::sin(angle(x, modulus)), fraction));
}

double trigonometric_scale(std::int64_t n, std::int64_t modulus, Blank blank) {
  const double M = static_cast<double>(modulus), count = static_cast<double>(n);
  return blank == Blank::counting ? M * M / 8 * std::log(16 * count) : M * M / 4 * std::log(4 * count);
}

int trigonometric_fraction(std::int64_t n, std::int64_t modulus) {
  return static_cast<int>(std::ceil(2 * std::log2(static_cast<double>(modulus)) +
                                    std::log2(std::log(16 * static_cast<double>(n)))));
}

TrigonometricMatch trigonometric_match(std::int64_t n, std::int64_t modulus, Blank blank, int fraction) {
  RUNG_REQUIRE(n >= 1 && modulus >= 1 && fraction >= 0 && fraction <= kMaxTrigonometricFraction,
               "n={} M={} f={}", n, modulus, fraction);
  TrigonometricMatch match;
  match.n = n;
  match.modulus = modulus;
  match.blank = blank;
  match.fraction = fraction;
  match.scale = trigonometric_scale(n, modulus, blank);
  // tau = c 2^(r-2f): the largest r with tau <= 2^-kStepsLog, at least 0.
  match.shift = std::max(0, static_cast<int>(std::floor(2 * fraction - kStepsLog - std::log2(match.scale))));
  const double tau = std::ldexp(match.scale, match.shift - 2 * fraction);
  // n others at e^{-2 log 4n} (threshold) or e^{-log 16n} (counting) must still be told from the blank.
  const std::int64_t count = std::min<std::int64_t>(n, std::int64_t{1} << 20);
  const std::int64_t resolved = blank == Blank::counting ? 16 * count : 16 * count * count;
  match.scores = score_table(std::min(kMaxSaturation, useful_saturation(resolved, tau)), tau,
                             weight_fraction(resolved, kWeightGuard));
  const double M = static_cast<double>(modulus);
  // At M = 1 every pair matches, and a key of -1 is blank enough.
  match.blank_key =
      blank == Blank::counting ? 0 : -std::llrint(std::ldexp(std::min(1.0, 4 / (M * M)), fraction));
  return match;
}

// How far an integer score may lie from c(cos - 1) / tau, and half a step for rsh.
namespace {
double score_error(const TrigonometricMatch& match) {
  const double u = std::ldexp(1.0, -match.fraction - 1);
  return match.scale * (2 * std::numbers::sqrt2 * u + 2 * u * u) / match.scores.tau + 0.5;
}
}  // namespace

std::int64_t TrigonometricMatch::match_weight() const {
  return scores.at(-static_cast<std::int64_t>(std::ceil(score_error(*this))));
}
std::int64_t TrigonometricMatch::other_weight() const {
  const double M = static_cast<double>(modulus);
  return scores.at(
      -static_cast<std::int64_t>(std::floor(8 * scale / (M * M) / scores.tau - score_error(*this))));
}
std::int64_t TrigonometricMatch::blank_weight() const { return scores.at(blank_score()); }

namespace {
// Of a query with this cosine and sine and such a key.
std::int64_t pair_score(const TrigonometricMatch& match, std::int64_t cosine_x, std::int64_t sine_x,
                        std::int64_t cosine_y, std::int64_t sine_y) {
  const __int128 product = static_cast<__int128>(cosine_x) * cosine_y -
                           static_cast<__int128>(sine_x) * sine_y -
                           static_cast<__int128>(match.one()) * match.one();
  return std::max(match.scores.low, shifted_score(product, match.shift));
}
}  // namespace

std::int64_t TrigonometricMatch::score(std::int64_t x, std::int64_t y) const {
  return pair_score(*this, cosine(x), sine(x), cosine(y), sine(y));
}
std::int64_t TrigonometricMatch::blank_score() const {
  return std::max(scores.low, shifted_score(static_cast<__int128>(one()) * blank_key, shift));
}

namespace {

// A match gives at least `matched` beside the blank, no match at most `others`, both over all pairs.
IntervalArgument last_number_decision(const TrigonometricMatch& match, double matched, double others) {
  const auto blank = static_cast<double>(match.blank_weight());
  IntervalArgument argument;
  // Half a step of rounding in the counting form.
  const double bar = match.blank == Blank::counting ? 4.5 / kCountingSteps : 0.5;
  const double yes = matched / (matched + blank), no = others / (others + blank);
  argument.leak = others / blank;
  argument.gap = std::min(yes - bar, bar - no);
  // The decision itself, kCountingSteps/4 + 1, must be a number of f + 2 bits.
  const bool readable = match.blank == Blank::threshold || kCountingSteps / 4 + 1 < 2 * match.one();
  argument.holds = yes >= bar && no < bar && readable;
  argument.reason =
      fmt::format("over all pairs a match gives y >= {:.4f}, none y <= {:.4f}; decided at {}", yes, no, bar);
  return argument;
}

}  // namespace

IntervalArgument last_number_argument(const TrigonometricMatch& match) {
  return last_number_decision(match, static_cast<double>(match.match_weight()),
                              static_cast<double>(match.other_weight()) * static_cast<double>(match.n));
}

IntervalArgument last_number_argument_by_pairs(const TrigonometricMatch& match) {
  const std::int64_t M = match.modulus;
  RUNG_REQUIRE(M <= kMostPairs, "M={}", M);
  std::vector<std::int64_t> cosines, sines;
  for (std::int64_t x = 0; x < M; ++x) cosines.push_back(match.cosine(x)), sines.push_back(match.sine(x));
  // Scores of x with its partner, and the least and the largest with any other number.
  double matched = std::numeric_limits<double>::infinity(), others = 0;
  for (std::size_t x = 0; x < cosines.size(); ++x) {
    const std::size_t partner = (cosines.size() - x) % cosines.size();
    std::int64_t own = 0, least = 0, most = match.scores.low;
    for (std::size_t y = 0; y < cosines.size(); ++y) {
      const std::int64_t score = pair_score(match, cosines[x], sines[x], cosines[y], sines[y]);
      if (y == partner) {
        own = score;
        continue;
      }
      least = std::min(least, score), most = std::max(most, score);
    }
    const auto weight = [&](std::int64_t score) { return static_cast<double>(match.scores.at(score)); };
    const auto rest = static_cast<double>(match.n - 1);
    matched = std::min(matched, weight(own) + (M > 1 ? rest * weight(least) : rest * weight(own)));
    if (M > 1) others = std::max(others, static_cast<double>(match.n) * weight(most));
  }
  return last_number_decision(match, matched, others);
}

namespace {

// The smallest f at which `decides`; the closed rule is a start that is never far.
template <class Decides>
std::optional<int> least_fraction(std::int64_t n, std::int64_t modulus, int beyond, const Decides& decides) {
  for (int f = 1; f <= std::min(kMaxTrigonometricFraction, trigonometric_fraction(n, modulus) + beyond); ++f)
    if (decides(f)) return f + kSignAndOne;
  return std::nullopt;
}

}  // namespace

std::optional<int> cosines_precision_proved(std::int64_t n, std::int64_t modulus, Blank blank) {
  return least_fraction(n, modulus, 4, [&](int f) {
    return last_number_argument(trigonometric_match(n, modulus, blank, f)).holds;
  });
}

std::optional<int> cosines_precision_by_pairs(std::int64_t n, std::int64_t modulus, Blank blank) {
  return least_fraction(n, modulus, 4, [&](int f) {
    return last_number_argument_by_pairs(trigonometric_match(n, modulus, blank, f)).holds;
  });
}

std::int64_t presence_gain(std::int64_t n) {
  return static_cast<std::int64_t>(std::ceil(std::log(4 * static_cast<double>(n))));
}

IntervalArgument any_pair_argument(const TrigonometricMatch& match) {
  const auto steps = static_cast<double>(kCountingSteps);
  const auto matched = static_cast<double>(match.match_weight()),
             blank = static_cast<double>(match.blank_weight()),
             others = static_cast<double>(match.other_weight()) * static_cast<double>(match.n),
             top = static_cast<double>(match.scores.at(0));
  // No match: others alone. One match, at least; itself alone, at most (with every other leaking); itself and
  // one more, at least.
  const double none = others / (others + blank), one = matched / (matched + blank),
               alone = (top + others) / (top + others + blank), two = 2 * matched / (2 * matched + blank),
               half_step = 0.5 / steps;
  const double any = (kAnyMatch - 0.5) / steps, more = (kMoreThanItself - 0.5) / steps;
  IntervalArgument argument;
  argument.leak = others / blank;
  argument.gap = std::min({any - none, one - any, more - alone, two - more});
  argument.holds = none < any && one >= any && alone < more && two >= more;
  argument.reason = fmt::format(
      "over all pairs: none <= {:.4f} < {:.4f} <= one match; itself <= {:.4f} < {:.4f} <= {:.4f} with one "
      "more (steps of {:.4f})",
      none, any, alone, more, two, 2 * half_step);
  return argument;
}

std::optional<int> exists_precision_proved(std::int64_t n, std::int64_t modulus) {
  const int least = std::max(6, digits_for(presence_gain(n) + 1) + 1);
  return least_fraction(n, modulus, 6, [&](int f) {
    return f + kSignAndOne >= least &&
           any_pair_argument(trigonometric_match(n, modulus, Blank::counting, f)).holds;
  });
}

}  // namespace rung
