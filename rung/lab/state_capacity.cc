#include "rung/lab/state_capacity.h"

#include <cmath>

#include "rung/spec/accounting.h"
#include "rung/theory/ceiling.h"

namespace rung::lab {

double kept_bits(std::int64_t n, std::int64_t alphabet, double accuracy, bool one_level) {
  if (!one_level) return effective_bits(n, alphabet, accuracy);
  if (accuracy <= log_linear_ceiling(n, alphabet, Integer(0)).average) return 0;
  // The average ceiling grows with the bits of a level; all of the table in one level suffices.
  std::int64_t low = 0, high = static_cast<std::int64_t>(std::ceil(
                                   static_cast<double>(n) * std::log2(static_cast<double>(alphabet)))) +
                               1;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (log_linear_ceiling(n, alphabet, Integer(middle)).average >= accuracy ? high : low) = middle;
  }
  return static_cast<double>(high);
}

std::optional<StateCapacity> state_capacity(const Weights& weights, const Task& task, Variant variant,
                                            double accuracy) {
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
  out.kept_bits = kept_bits(out.n, out.alphabet, accuracy, out.one_level);
  return out;
}

}  // namespace rung::lab
