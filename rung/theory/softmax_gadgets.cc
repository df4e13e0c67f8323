#include "rung/theory/softmax_gadgets.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "rung/base/ceil_lg.h"
#include "rung/base/require.h"
#include "rung/theory/logarithm.h"

namespace rung {
namespace {

// With so little beside the target every bit lies below 1/3 or above 2/3 before it is rounded, where restored()
// (relu_gadgets.h) decodes it: what floats need, whose outputs keep a fraction. Integers are content with less than 1.
constexpr double kRestoredLeak = 0.5;

// Σ_h C(D,h) E[-2βh] / E[0] over the `others` nearest codes.
double weight_of_others(int digits, int beta, const ScoreTable& scores, double others) {
  double weight = 0, choose = 1;
  for (int h = 1; h <= digits && others > 0; ++h) {
    choose = choose * (digits - h + 1) / h;
    const double count = std::min(choose, others);
    weight += count * static_cast<double>(scores.at(-2 * std::int64_t{beta} * h)) /
              static_cast<double>(scores.at(0));
    others -= count;
  }
  return weight;
}

// The smallest p in 2..48 that `good` accepts, else 48.
template <class Good>
int first_precision(const Good& good) {
  int p = 2;
  while (p < kMostPrecision && !good(p)) ++p;
  return p;
}

// Weights that make a leak over `keys` tokens smaller than a quarter of the gap 1/(most+1)² between counts.
int counting_fraction(std::int64_t most, std::int64_t keys) {
  return weight_fraction(keys, 2 * static_cast<int>(std::bit_width(static_cast<std::uint64_t>(most))) + 2);
}

// The gadget without its thresholds: β, clip, table and leak.
CountingGadget counting_table(std::int64_t most, std::int64_t keys, int precision) {
  CountingGadget gadget;
  const int fraction = counting_fraction(most, keys);
  const std::int64_t widest = std::int64_t{1} << (precision - 1);
  gadget.saturation = std::min(widest, static_cast<std::int64_t>(std::ceil(fraction * std::log(2.0))));
  gadget.beta = static_cast<int>((gadget.saturation + 1) / 2);
  gadget.scores = score_table(gadget.saturation, 1, fraction);
  gadget.scale = widest - 1;
  gadget.leak = static_cast<double>(keys) * static_cast<double>(gadget.scores.at(-gadget.saturation)) /
                static_cast<double>(gadget.scores.at(0));
  return gadget;
}

double last_match_leak(const RetrievalGadget& lookup, std::int64_t candidates, std::int64_t tokens) {
  return weight_of_others(lookup.digits, lookup.beta, lookup.scores, static_cast<double>(candidates - 1)) +
         static_cast<double>(tokens - candidates) * static_cast<double>(lookup.scores.at(lookup.scores.low)) /
             static_cast<double>(lookup.scores.at(0));
}

}  // namespace

int digits_for(std::int64_t count) {
  RUNG_REQUIRE(count >= 1, "count={}", count);
  return std::max(1, ceil_lg(static_cast<std::uint64_t>(count)));
}

RetrievalGadget retrieval_gadget(int digits, std::int64_t keys, int precision) {
  RUNG_REQUIRE(digits >= 1 && digits <= 62 && precision >= 2 && precision <= kMostPrecision, "D={} p={}",
               digits, precision);
  const std::int64_t widest = std::int64_t{1} << (precision - 1);  // -2^(p-1) is the lowest score
  const std::int64_t saturation = std::min(widest, useful_saturation(keys, 1));
  RetrievalGadget best{digits, 0, score_table(saturation, 1, weight_fraction(keys, kWeightGuard)), 0};
  for (int beta = 1; beta < widest && beta <= saturation; ++beta) {
    const double delta = weight_of_others(digits, beta, best.scores, std::ldexp(1.0, digits));
    if (best.beta == 0 || delta < best.delta) best.beta = beta, best.delta = delta;
    if (delta < kRestoredLeak) break;
  }
  return best;
}

bool retrieval_holds(const RetrievalGadget& gadget, int precision) {
  const std::int64_t widest = std::int64_t{1} << (precision - 1);
  Integer others = 0, choose = 1;
  for (int h = 1; h <= gadget.digits; ++h) {
    choose = choose * (gadget.digits - h + 1) / h;
    others += choose * gadget.scores.at(-2 * std::int64_t{gadget.beta} * h);
  }
  return precision >= 2 && gadget.beta < widest && -gadget.scores.low <= widest &&
         others < gadget.scores.at(0);
}

int retrieval_precision_proved(int digits, std::int64_t keys) {
  return first_precision([&](int p) { return retrieval_gadget(digits, keys, p).delta < 1; });
}

double retrieval_leak(const RetrievalGadget& gadget, std::int64_t keys) {
  return weight_of_others(gadget.digits, gadget.beta, gadget.scores, static_cast<double>(keys - 1));
}

double pair_leak(const RetrievalGadget& gadget, std::int64_t pairs) {
  const auto itself = static_cast<double>(gadget.scores.at(-std::int64_t{gadget.beta} * gadget.digits));
  return retrieval_leak(gadget, pairs) + itself / static_cast<double>(gadget.scores.at(0));
}

int pair_precision_proved(int digits, std::int64_t pairs) {
  return first_precision([&](int p) { return pair_leak(retrieval_gadget(digits, pairs + 1, p), pairs) < 1; });
}

PresenceGadget presence_gadget(std::int64_t keys, int precision) {
  RUNG_REQUIRE(keys >= 1 && precision >= 2 && precision <= kMostPrecision, "keys={} p={}", keys, precision);
  const std::int64_t widest = std::int64_t{1} << (precision - 1);  // the query holds -g
  const std::int64_t saturation = std::min(widest, useful_saturation(keys, 1));
  PresenceGadget gadget{0, score_table(saturation, 1, weight_fraction(keys, kWeightGuard)), 0};
  do {
    ++gadget.gap;
    gadget.leak = static_cast<double>(keys - 1) * static_cast<double>(gadget.scores.at(-gadget.gap)) /
                  static_cast<double>(gadget.scores.at(0));
  } while (gadget.leak >= 1 && gadget.gap < saturation);
  return gadget;
}

int presence_precision_proved(std::int64_t keys) {
  return first_precision([&](int p) { return presence_gadget(keys, p).leak < 1; });
}

CountingGadget counting_gadget(std::int64_t most, std::int64_t keys, int precision) {
  RUNG_REQUIRE(most >= 1 && keys >= 1 && precision >= 2 && precision <= kMostPrecision,
               "most={} keys={} p={}", most, keys, precision);
  CountingGadget gadget = counting_table(most, keys, precision);
  gadget.holds = true;
  const auto V = static_cast<double>(gadget.scale);
  for (std::int64_t count = 1; count <= most; ++count) {
    const auto c = static_cast<double>(count);
    const std::int64_t lowest =
        static_cast<std::int64_t>(std::floor(V * c / (c + 1 + gadget.leak) + 0.5 - 1e-9));
    const std::int64_t highest_below =
        static_cast<std::int64_t>(std::floor(V * (c - 1 + gadget.leak) / (c + gadget.leak) + 0.5 + 1e-9));
    gadget.at_least.push_back((lowest + highest_below + 1) / 2);
    gadget.holds = gadget.holds && lowest > highest_below;
  }
  return gadget;
}

std::optional<int> counting_precision_proved(std::int64_t most, std::int64_t keys) {
  const bool one_by_one = most <= kCountedOneByOne;
  for (int p = 2; p <= kMostPrecision; ++p) {
    if (one_by_one && counting_gadget(most, keys, p).holds) return p;
    if (one_by_one) continue;
    // The gap between neighbouring counts falls as they grow: the last one decides. More than one step (and the
    // machine's own rounding of the numbers below) apart, the rounded outputs differ.
    const CountingGadget table = counting_table(most, keys, p);
    const auto V = static_cast<double>(table.scale), c = static_cast<double>(most);
    const double apart = V * (c / (c + 1 + table.leak) - (c - 1 + table.leak) / (c + table.leak));
    if (apart > 1.001) return p;
  }
  return std::nullopt;
}

LastMatchGadget last_match_gadget(int key_digits, std::int64_t candidates, std::int64_t tokens,
                                  int precision) {
  LastMatchGadget gadget;
  gadget.rank_digits = digits_for(candidates + 1);
  gadget.counting = counting_gadget(candidates, tokens, precision);
  gadget.lookup = retrieval_gadget(key_digits + gadget.rank_digits, tokens, precision);
  gadget.leak = last_match_leak(gadget.lookup, candidates, tokens);
  return gadget;
}

std::optional<int> last_match_precision_proved(int key_digits, std::int64_t candidates, std::int64_t tokens) {
  const auto counted = counting_precision_proved(candidates, tokens);
  if (!counted) return std::nullopt;
  for (int p = *counted; p <= kMostPrecision; ++p)
    if (last_match_leak(retrieval_gadget(key_digits + digits_for(candidates + 1), tokens, p), candidates,
                        tokens) < 1)
      return p;
  return std::nullopt;
}

BinaryMatch binary_match(std::int64_t n, int precision) {
  RUNG_REQUIRE(n >= 1 && precision >= 2 && precision <= kMostPrecision, "n={} p={}", n, precision);
  const std::int64_t widest = std::int64_t{1} << (precision - 1);
  const std::int64_t count = std::min<std::int64_t>(n, std::int64_t{1} << 18);
  BinaryMatch best{0,
                   score_table(std::min(widest, useful_saturation(4 * count * count, 1)), 1,
                               weight_fraction(4 * count * count, kWeightGuard)),
                   0};
  for (std::int64_t beta = 1; beta < widest && beta <= -best.scores.low; ++beta) {
    const double leak = static_cast<double>(n) * static_cast<double>(best.scores.at(-2 * beta)) /
                        static_cast<double>(best.scores.at(-beta));
    if (best.beta == 0 || leak < best.leak) best.beta = static_cast<int>(beta), best.leak = leak;
    if (leak < 1) break;
  }
  return best;
}

int binary_match_precision_proved(std::int64_t n) {
  return first_precision([&](int p) { return binary_match(n, p).leak < 1; });
}

SlotGadget slot_gadget(int digits, std::int64_t keys, int precision) {
  const std::int64_t widest = std::int64_t{1} << (precision - 1);
  const std::int64_t saturation = std::min(widest, useful_saturation(keys * digits, 1));
  SlotGadget best{digits, 0, widest - 1,
                  score_table(saturation, 1, weight_fraction(keys * digits, kWeightGuard)), 0};
  for (int beta = 1; beta < widest && beta <= saturation; ++beta) {
    double worst = 0;
    for (int h = 1; h <= digits; ++h)
      worst = std::max(worst, h * static_cast<double>(best.scores.at(-2 * std::int64_t{beta} * h)));
    const double leak = static_cast<double>(keys) * worst / static_cast<double>(best.scores.at(0));
    if (best.beta == 0 || leak < best.leak) best.beta = beta, best.leak = leak;
  }
  return best;
}

int slot_precision_proved(int digits, std::int64_t keys) {
  return first_precision([&](int p) { return slot_gadget(digits, keys, p).holds(); });
}

}  // namespace rung
