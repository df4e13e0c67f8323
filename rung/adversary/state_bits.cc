#include "rung/adversary/state_bits.h"

#include <algorithm>
#include <bit>

#include "rung/base/ceil_lg.h"
#include "rung/spec/mixers.h"

namespace rung {
bool is_position_wise(const MixerShape& m) { return mixer_descriptor(m.kind).memory == Memory::none; }

bool has_bounded_state(const MixerShape& m) {
  const MixerDescriptor& descriptor = mixer_descriptor(m.kind);
  return !descriptor.opaque && descriptor.memory != Memory::past &&
         std::all_of(m.parts.begin(), m.parts.end(), has_bounded_state);
}

std::int64_t stored_number(const Weights& weights, const std::string& name, std::int64_t fallback) {
  const auto found = weights.tensors.find(name);
  return found == weights.tensors.end() || !found->second.is_integer() ? fallback : found->second.integer(0);
}

std::int64_t layer_state_bits(const Weights& weights, const MixerShape& m, const std::string& prefix,
                              std::int64_t positions) {
  const auto& dimensions = weights.architecture.dimensions;
  const std::int64_t p = dimensions.precision.bits, entry = dimensions.accumulator_bits.value_or(p);
  const auto bits = [&](const std::string& name) {
    return stored_number(weights, prefix + name + ".bits", p);
  };
  std::int64_t total = 0;
  for (std::size_t j = 0; j < m.parts.size(); ++j)
    total += layer_state_bits(weights, m.parts[j], fmt::format("{}part.{}.", prefix, j), positions);
  // Of exact sums: features times values, and features alone.
  const bool own_width = m.feature == FeatureMap::identity || m.feature == FeatureMap::relu;
  const auto channel = [&](const char* name) { return bits(m.conv > 0 ? "conv" : name); };
  const auto width = [&](StatePart::Holds holds) {
    if (holds == StatePart::Holds::entries || weights.accumulator != Accumulator::exact) return entry;
    const std::int64_t count = (own_width ? channel("k") : bits("feature")) + ceil_lg(positions);
    return holds == StatePart::Holds::counts ? count : count + channel("v");
  };
  for (const StatePart& part : recurrence_of(m).state.value)
    if (has_part(m, part)) total += size_of(part.extents, m, 0).or_zero() * width(part.holds);
  if (m.kind == MixerKind::loglinear) {  // levels as the next token finds them
    const auto tokens = static_cast<std::uint64_t>(positions);
    total *= m.form.strong ? std::bit_width(tokens) : std::popcount(tokens);
  }
  if (m.conv > 1 && has_bounded_state(m))
    for (const auto& [name, rows] : convolved_channels(m))
      total += (m.conv - 1) * rows * bits(std::string(name));
  return total;
}

std::int64_t nominal_state_bits(const Weights& weights, const std::vector<LayerShape>& layers,
                                std::int64_t positions) {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < layers.size(); ++i)
    total += layer_state_bits(weights, layers[i].mixer, fmt::format("layers.{}.", i), positions);
  return total;
}

}  // namespace rung
