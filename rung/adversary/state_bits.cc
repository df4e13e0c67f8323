#include "rung/adversary/state_bits.h"

#include <algorithm>
#include <bit>

#include "rung/base/ceil_lg.h"

namespace rung {
bool is_position_wise(const MixerShape& m) {
  return m.kind == MixerKind::identity || m.kind == MixerKind::none;
}

bool has_bounded_state(const MixerShape& m) {
  using enum MixerKind;
  switch (m.kind) {
    case linear:
    case rnn:
    case gru:
    case mamba:
    case mamba2:
    case delta:
    case gdelta:
    case loglinear:
    case conv:
    case identity:
    case none:
      return true;
    case heads:
      return std::all_of(m.parts.begin(), m.parts.end(), has_bounded_state);
    default:
      return false;
  }
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
  using enum MixerKind;
  const MixerKind kind = m.kind == loglinear ? m.base : m.kind;
  std::int64_t state = 0, buffer = 0;
  switch (kind) {
    case linear: {
      const std::int64_t features = m.heads * m.feature_dim();
      const bool own_width = m.feature == FeatureMap::identity || m.feature == FeatureMap::relu;
      const std::int64_t feature = own_width ? (m.conv > 0 ? bits("conv") : bits("k")) : bits("feature");
      const std::int64_t value = m.conv > 0 ? bits("conv") : bits("v");
      const bool exact = weights.accumulator == Accumulator::exact;
      const std::int64_t sum = exact ? feature + value + ceil_lg(positions) : entry;
      const std::int64_t count = exact ? feature + ceil_lg(positions) : entry;
      state = features * m.value_dim * sum + (m.normalised && m.kind != loglinear ? features * count : 0);
      buffer = m.heads * (m.key_dim * (bits("q") + bits("k")) + m.value_dim * bits("v"));
      break;
    }
    case mamba2:
      state = m.heads * m.value_dim * m.key_dim * entry;
      buffer = m.heads * m.value_dim * bits("x") + m.kv_heads * m.key_dim * (bits("b") + bits("c"));
      break;
    case delta:
    case gdelta:
      state = m.heads * m.value_dim * m.key_dim * entry;
      buffer = m.kv_heads * m.key_dim * (bits("q") + bits("k")) + m.heads * m.value_dim * bits("v");
      break;
    case mamba:
      state = m.inner * m.state * entry;
      buffer = m.inner * bits("x");
      break;
    case rnn:
    case gru:
      state = m.inner * entry;
      break;
    case conv:
      return std::max<std::int64_t>(m.conv - 1, 0) * m.inner * bits("v");
    case heads: {
      std::int64_t total = 0;
      for (std::size_t j = 0; j < m.parts.size(); ++j)
        total += layer_state_bits(weights, m.parts[j], fmt::format("{}part.{}.", prefix, j), positions);
      return total;
    }
    default:
      return 0;
  }
  if (m.kind == loglinear)
    state *= std::popcount(static_cast<std::uint64_t>(positions));  // levels as the next token finds them
  return state + std::max<std::int64_t>(m.conv - 1, 0) * buffer;
}

std::int64_t nominal_state_bits(const Weights& weights, const std::vector<LayerShape>& layers,
                                std::int64_t positions) {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < layers.size(); ++i)
    total += layer_state_bits(weights, layers[i].mixer, fmt::format("layers.{}.", i), positions);
  return total;
}

}  // namespace rung
