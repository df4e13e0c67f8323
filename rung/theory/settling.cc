#include "rung/theory/settling.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "rung/base/require.h"
#include "rung/spec/mixers.h"

namespace rung {
namespace {

constexpr std::int64_t kLongestPeriod = std::int64_t{1} << 40;
constexpr int kLargestShift = 100;  // of a weights file

// Why the theorem does not speak about the mixer, or nothing.
std::string unsettled(const MixerShape& mixer) {
  using enum MixerKind;
  const Assumptions assumed = assumptions_of(mixer);
  if (assumed.turns) return "its keys turn with the position";
  switch (mixer.kind) {
    case full:
      return mixer.earlier_keys ? "reads the keys of an earlier layer" : "";
    case sparse:
      return mixer.token_scores        ? "ranks blocks by their tokens"
             : !assumed.block_messages ? "ranks blocks by probabilities"
                                       : "";
    case linear:
      return mixer.accumulator == Accumulator::wrap ? "its sums wrap, and can count modulo a power of two"
                                                    : "";
    case topk:
      return assumed.written_down ? "" : "proved of the plain form alone";
    case conv:
    case identity:
    case none:
      return "";
    case mamba:
    case mamba2:
    case gla:
      return assumed.update != Update::entrywise || assumed.decay == Decay::unknown
                 ? "its entries are not known to be monotone"
                 : "";
    case rnn:
    case gru:
      return "its entries depend on each other, so that it can turn in cycles";
    case delta:
    case gdelta:
    case kda:
    case rwkv7:
      return assumed.negative_eigenvalues
                 ? "its transitions may have negative eigenvalues, so that it can alternate"
                 : "the delta rule couples its entries, so that it can turn in cycles";
    case loglinear:
      return "its buckets show the binary digits of the position";
    case recurrent:
    case compressed:
      return "what it computes is not described";
    case heads:
      for (const auto& part : mixer.parts)
        if (const std::string reason = unsettled(part); !reason.empty()) return reason;
      return "";
  }
  return "";
}

bool exact_sum(const MixerShape& mixer) {
  return mixer.kind == MixerKind::linear && mixer.accumulator == Accumulator::exact;
}

// Of a mixer that is covered. Recurrences are known by their update: unsettled() lets no other through.
void describe(const MixerShape& mixer, bool fixed_point, Settling& settling) {
  using enum MixerKind;
  for (const auto& part : mixer.parts) describe(part, fixed_point, settling);
  settling.informal = settling.informal || mixer.kind == sparse || mixer.chunk || exact_sum(mixer) ||
                      (mixer.kind == full && !mixer.window && mixer.conv > 1);
  if (mixer.kind == sparse || mixer.kind == topk) settling.selects = true;
  if (mixer.kind == sparse || (mixer.kind == full && !mixer.window && !mixer.chunk)) settling.sums = true;
  if (mixer.kind == sparse || (mixer.kind == full && mixer.chunk)) {
    settling.blocks = true;
    settling.period = std::lcm(settling.period, std::min(mixer.chunk.value_or(mixer.block), kLongestPeriod));
  }
  if (assumptions_of(mixer).update ==
      Update::entrywise)  // exact sums are sums of integers; in floats every step rounds
    (exact_sum(mixer) && fixed_point ? settling.sums : settling.recurrence) = true;
  settling.period = std::min(settling.period, kLongestPeriod);
}

// How long the mixer itself takes, behind its short convolution.
Integer mixer_rests(const Setting& setting, const MixerShape& mixer, Integer first) {
  using enum MixerKind;
  if (mixer.kind == heads) {
    Integer last = first;
    for (const auto& part : mixer.parts) last = std::max(last, mixer_rests(setting, part, first));
    return last;
  }
  const int p = setting.p();
  const Integer values = (Integer(1) << p) - 1;  // the largest difference of two values
  const Integer scale = kLargestValueScale;
  if (mixer.conv > 1) first += mixer.conv - 1;
  if (mixer.kind == full && mixer.window) return first + (*mixer.window - 1);
  if (mixer.kind == full) return first * (1 + largest_softmax_weight() * (2 * scale * values - 1));
  if (mixer.kind == topk) return first + (mixer.select - 1);
  if (exact_sum(mixer) && setting.exact_sums()) {
    // |φ(q)·φ(k)| of p-bit features.
    const Integer weight = Integer(mixer.feature_dim()) << (2 * (p - 1));
    if (mixer.normalised) return first * (1 + weight * (1 + 2 * scale * values));
    return first + first * (weight << (p - 1)) + (Integer(1) << (p + kLargestShift));
  }
  if (assumptions_of(mixer).update == Update::entrywise)
    return first + (Integer(1) << static_cast<unsigned>(setting.entry_bits)) - 2;
  return first;
}

Integer mixer_rests_period(const Setting& setting, const MixerShape& mixer, std::int64_t length,
                           Integer first) {
  using enum MixerKind;
  if (mixer.kind == heads) {
    Integer last = first;
    for (const auto& part : mixer.parts)
      last = std::max(last, mixer_rests_period(setting, part, length, first));
    return last;
  }
  const auto periods = [&](std::int64_t tokens) { return (tokens + length - 1) / length; };
  if (mixer.conv > 1) first += periods(mixer.conv - 1);
  if (mixer.kind == full) return first + periods(mixer.window.value_or(1) - 1);
  if (mixer.kind == topk) return first + mixer.select;
  if (assumptions_of(mixer).update == Update::entrywise)
    return first + (Integer(1) << static_cast<unsigned>(setting.entry_bits)) - 1;
  return first;
}

}  // namespace

Integer largest_softmax_weight() { return (Integer(1) << kExponentBits) - 1; }

Settling settling_of(const Setting& setting) {
  Settling settling;
  for (std::size_t i = 0; i < setting.layers.size(); ++i) {
    const MixerShape& mixer = setting.layers[i].mixer;
    if (const std::string reason = unsettled(mixer); !reason.empty() && settling.uncovered.empty())
      settling.uncovered =
          fmt::format("layer {}, {}: {}", i + 1, format_mixer(setting.architecture.stack.layers[i]), reason);
    describe(mixer, setting.exact_sums(), settling);
  }
  if (setting.position_period) {
    settling.blocks = settling.informal = true;
    settling.period = std::min(kLongestPeriod,
                               std::lcm(settling.period, std::min(*setting.position_period, kLongestPeriod)));
  }
  return settling;
}

Integer rests_from(const Setting& setting, Integer first) {
  for (const auto& layer : setting.layers) {
    first = mixer_rests(setting, layer.mixer, std::move(first));
    if (bit_length(first) > kLongestHorizon) break;
  }
  return first;
}

Integer rests_from_period(const Setting& setting, std::int64_t length, Integer first) {
  RUNG_REQUIRE(length >= 1, "length={}", length);
  for (const auto& layer : setting.layers)
    first = mixer_rests_period(setting, layer.mixer, length, std::move(first));
  return first;
}

}  // namespace rung
