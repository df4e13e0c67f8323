#include "rung/adversary/additive_state.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "rung/adversary/distinguished_points.h"
#include "rung/spec/mixers.h"

namespace rung {

std::optional<std::string> not_additive(const Target& target) {
  if (auto reason = not_purely_recurrent(target)) return reason;
  std::int64_t stateful = 0;
  for (const auto& layer : target.layers) {
    const auto kind = layer.mixer.kind;
    if (kind == MixerKind::identity || kind == MixerKind::none) continue;
    if (kind != MixerKind::linear)
      return fmt::format("{} is not a sum over tokens", mixer_descriptor(kind).name);
    ++stateful;
  }
  if (stateful != 1 || target.layers[0].mixer.kind != MixerKind::linear)
    return "only one layer of linear attention, the first, is a sum over tokens";
  if (target.layers[0].mixer.conv > 0) return "a short convolution mixes neighbouring tokens";
  if (target.weights.accumulator == Accumulator::round) return "rounding after every token is not a sum";
  return std::nullopt;
}

AdditiveState additive_state(const Target& target, const StateKernel& kernel) {
  AdditiveState state;
  state.numbers = kernel.numbers(1);
  state.wraps = target.weights.accumulator == Accumulator::wrap;
  const std::vector<std::int64_t> zero(static_cast<std::size_t>(state.numbers), 0);
  std::int64_t largest = 1;
  for (std::size_t slot = 0; slot < kernel.space().slots.size(); ++slot) {
    const auto rows = static_cast<std::int64_t>(kernel.space().slots[slot].rows.size());
    std::vector<std::uint16_t> choices(static_cast<std::size_t>(rows));
    for (std::int64_t v = 0; v < rows; ++v)
      choices[static_cast<std::size_t>(v)] = static_cast<std::uint16_t>(v);
    std::vector<std::int64_t> terms(static_cast<std::size_t>(rows * state.numbers));
    kernel.run(1, static_cast<std::int64_t>(slot), 1, rows, choices.data(), zero.data(), true, terms.data());
    for (const auto term : terms) largest = std::max(largest, std::abs(term));
    state.terms.push_back(std::move(terms));
  }
  const auto& dimensions = target.weights.architecture.dimensions;
  const auto slots = static_cast<std::uint64_t>(state.terms.size());
  // Differences of two terms, summed over all slots, with a sign.
  state.bits =
      state.wraps
          ? static_cast<int>(dimensions.accumulator_bits.value_or(dimensions.precision.bits))
          : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(largest)) + std::bit_width(slots)) + 2;
  return state;
}

}  // namespace rung
