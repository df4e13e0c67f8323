#include "rung/lab/state_capacity.h"

#include <algorithm>
#include <cmath>

#include "rung/evaluation/interval.h"
#include "rung/spec/accounting.h"
#include "rung/theory/ceiling.h"

namespace rung::lab {

double kept_bits(std::int64_t n, std::int64_t alphabet, double accuracy, bool one_level) {
  if (!one_level) return effective_bits(n, alphabet, accuracy);
  const auto ceiling = [&](std::int64_t bits) {
    return log_linear_ceiling(n, alphabet, Integer(bits)).average;
  };
  if (accuracy <= ceiling(0)) return 0;
  // The average ceiling grows with the bits of a level; all of the table in one level suffices.
  std::int64_t low = 0, high = static_cast<std::int64_t>(std::ceil(
                                   static_cast<double>(n) * std::log2(static_cast<double>(alphabet)))) +
                               1;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (ceiling(middle) >= accuracy ? high : low) = middle;
  }
  return static_cast<double>(ceiling(high) <= accuracy ? high : low);
}

std::optional<StateCapacity> state_capacity(const Weights& weights, const Task& task, Variant variant) {
  if (!task.built_in() || (task.name() != "eva" && task.name() != "index") || variant != Variant::uniform ||
      !task.options().empty())
    return {};
  const auto layers = resolve(weights.architecture);
  if (!layers || !weights.architecture.dimensions.causal) return {};
  const Account counted = account(weights.architecture, *layers, {.context = task.prompt_length()});
  StateCapacity out;
  out.n = task.size().at("n");
  out.alphabet = task.name() == "eva" ? out.n : task.size().at("sigma").value;
  std::size_t log_linear = 0;
  for (const LayerAccount& layer : counted.layers) {
    if (layer.cache_elements > 0 || layer.window_elements > 0 || layer.conv_elements > 0) return {};
    log_linear += layer.levels > 1;
    out.elements += layer.state_elements;
  }
  if (out.elements == 0 || out.alphabet < 2 || (log_linear != 0 && log_linear != counted.layers.size()))
    return {};
  out.one_level = log_linear > 0;
  out.table_bits = static_cast<double>(out.n) * std::log2(static_cast<double>(out.alphabet));
  return out;
}

void measure_capacity(StateCapacity& capacity, std::span<const SeedScore> scores) {
  std::vector<AnswerCount> seeds;
  double mean = 0;
  for (const SeedScore& score : scores) {
    seeds.push_back({score.right, score.of});
    mean += score.accuracy() / static_cast<double>(scores.size());
  }
  capacity.mean_bits = kept_bits(capacity.n, capacity.alphabet, std::min(1.0, mean), capacity.one_level);
  capacity.accuracy_bound = accuracy_lower_bound(seeds);
  capacity.kept_bits = kept_bits(capacity.n, capacity.alphabet, capacity.accuracy_bound, capacity.one_level);
}

}  // namespace rung::lab
