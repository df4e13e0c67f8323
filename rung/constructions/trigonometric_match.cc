#include "rung/constructions/trigonometric_match.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "rung/exact/integer.h"
#include "rung/spec/require.h"

namespace rung {
namespace {

// Steps of the score table in units of the exponent: fine beside log 4n, coarse enough for a short table.
constexpr int kStepsLog = 4;  // tau <= 2^-4

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

std::int64_t TrigonometricMatch::score(std::int64_t x, std::int64_t y) const {
  const Int128 product = Int128{cosine(x)} * cosine(y) - Int128{sine(x)} * sine(y) - Int128{one()} * one();
  return static_cast<std::int64_t>(std::max<Int128>(scores.low, shift_half_even(product, shift)));
}
std::int64_t TrigonometricMatch::blank_score() const {
  return static_cast<std::int64_t>(
      std::max<Int128>(scores.low, shift_half_even(Int128{one()} * blank_key, shift)));
}

}  // namespace rung
