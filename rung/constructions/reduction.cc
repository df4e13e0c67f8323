#include "rung/constructions/reduction.h"

namespace rung {
namespace {

Weights without_layer(Weights weights, std::size_t layer) {
  auto& layers = weights.architecture.stack.layers;
  const auto moved = [&](const std::string& name) -> std::optional<std::string> {
    for (std::size_t i = layer; i < layers.size(); ++i) {
      const std::string own = fmt::format("layers.{}.", i);
      if (!name.starts_with(own)) continue;
      if (i == layer) return std::nullopt;
      return fmt::format("layers.{}.{}", i - 1, name.substr(own.size()));
    }
    return name;
  };
  std::map<std::string, Tensor> tensors;
  for (auto& [name, tensor] : weights.tensors)
    if (const auto to = moved(name)) tensors[*to] = std::move(tensor);
  std::map<std::string, TableFunction> tables;
  for (auto& [name, table] : weights.tables)
    if (const auto to = moved(name + ".")) tables[to->substr(0, to->size() - 1)] = std::move(table);
  weights.tensors = std::move(tensors);
  weights.tables = std::move(tables);
  layers.erase(layers.begin() + static_cast<std::ptrdiff_t>(layer));
  return weights;
}

// Columns [first, end) of W_O become 0.
Weights without_columns(Weights weights, std::size_t layer, std::int64_t first, std::int64_t end) {
  Tensor& output = weights.tensors.at(fmt::format("layers.{}.o.weight", layer));
  const std::int64_t columns = output.shape[1];
  std::vector<std::int64_t> kept(static_cast<std::size_t>(output.size()));
  for (std::int64_t i = 0; i < output.size(); ++i) {
    const std::int64_t column = i % columns;
    kept[static_cast<std::size_t>(i)] = column >= first && column < end ? 0 : output.integer(i);
  }
  output = integer_tensor(output.shape, kept);
  return weights;
}

}  // namespace

Result<std::vector<Reduction>> reductions(const Construction& construction) {
  const Weights& weights = construction.weights;
  RUNG_TRY(const auto shapes, resolve(weights.architecture));
  std::optional<std::size_t> last, widest;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].mixer.kind == MixerKind::none) continue;
    last = i;
    const bool softmax =
        shapes[i].mixer.heads > 0 && shapes[i].mixer.value_dim > 0 && shapes[i].mixer.parts.empty();
    if (softmax && (!widest || shapes[i].mixer.heads > shapes[*widest].mixer.heads)) widest = i;
  }
  std::vector<Reduction> all;
  if (last && shapes.size() > 1)
    all.push_back(
        {Reduction::Part::layer, fmt::format("without layer {}", *last + 1), without_layer(weights, *last)});
  if (widest) {
    const auto& mixer = shapes[*widest].mixer;
    all.push_back({Reduction::Part::head,
                   fmt::format("without head {} of layer {}", mixer.heads, *widest + 1),
                   without_columns(weights, *widest, (mixer.heads - 1) * mixer.value_dim,
                                   mixer.heads * mixer.value_dim)});
  }
  if (const auto bits = weights.architecture.dimensions.accumulator_bits; bits && *bits > 1) {
    Weights narrow = weights;
    narrow.architecture.dimensions.accumulator_bits = *bits - 1;
    all.push_back(
        {Reduction::Part::state, fmt::format("with {} bits per state", *bits - 1), std::move(narrow)});
  }
  return all;
}

Result<std::vector<FailedReduction>> failing_reductions(const Construction& construction,
                                                        VerificationOptions options) {
  options.stop_at_first_error = true;
  RUNG_TRY(auto all, reductions(construction));
  std::vector<FailedReduction> failing;
  for (auto& reduction : all) {
    Construction reduced = construction;
    reduced.weights = std::move(reduction.weights);
    reduced.interval = nullptr;  // speaks of the whole
    RUNG_TRY(auto found, verify(reduced, options));
    if (found.failure)
      failing.push_back({reduction.part, std::move(reduction.what), std::move(*found.failure)});
  }
  return failing;
}

}  // namespace rung
