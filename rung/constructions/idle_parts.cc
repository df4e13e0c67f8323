#include "rung/constructions/idle_parts.h"

#include "rung/base/nearest_word.h"
#include "rung/spec/parameters.h"

namespace rung {
namespace {

// Unnormalised and without a table: zeros are all that it needs.
constexpr std::string_view kIdleOptions = "feature=relu,normalised=no,dim=1,vdim=1";

Tensor zeros(const std::vector<std::int64_t>& shape) {
  std::int64_t size = 1;
  for (const auto extent : shape) size *= extent;
  return integer_tensor(shape, std::vector<std::int64_t>(static_cast<std::size_t>(size), 0));
}

// "layers.3.q.weight" -> 3 and "q.weight"; nothing for other names.
std::optional<std::pair<std::size_t, std::string>> layer_of(const std::string& name) {
  constexpr std::string_view kPrefix = "layers.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const auto dot = name.find('.', kPrefix.size());
  return std::pair{static_cast<std::size_t>(std::stoul(name.substr(kPrefix.size(), dot - kPrefix.size()))),
                   name.substr(dot + 1)};
}

template <class Value, class Rename>
void rename_all(std::map<std::string, Value>& named, const Rename& rename) {
  std::map<std::string, Value> renamed;
  for (auto& [name, value] : named) renamed.emplace(rename(name), std::move(value));
  named = std::move(renamed);
}

// W_O and the MLP are the layer's, the rest is the mixer's.
bool belongs_to_layer(const std::string& own) {
  return own.starts_with("o.") || own.starts_with("mlp.") || own.starts_with("norm");
}

Result<void> put_layer_in_front(Weights& weights) {
  const auto rename = [](const std::string& name) {
    const auto place = layer_of(name);
    return place ? fmt::format("layers.{}.{}", place->first + 1, place->second) : name;
  };
  rename_all(weights.tensors, rename);
  rename_all(weights.tables, rename);
  RUNG_TRY(const Stack idle, parse_stack(fmt::format("linear(heads=1,{})", kIdleOptions)));
  weights.architecture.stack.layers.insert(weights.architecture.stack.layers.begin(), idle.layers.front());
  RUNG_TRY(const auto shapes, resolve(weights.architecture));
  RUNG_TRY(const auto tensors, layer_tensors(shapes.front(), 0, weights.architecture.dimensions.norm));
  for (const auto& tensor : tensors) weights.tensors[tensor.name] = zeros(tensor.shape);
  return {};
}

Result<void> put_head_beside(Weights& weights) {
  const auto before = weights.architecture.stack.layers;
  std::vector<bool> changed;
  for (Mixer& mixer : weights.architecture.stack.layers) {
    changed.push_back(mixer.kind == MixerKind::full && mixer.number("heads"));
    if (!changed.back()) continue;
    Mixer own = mixer;
    std::erase_if(own.options, [](const MixerOption& option) { return option.name == "heads"; });
    RUNG_TRY(const Stack both, parse_stack(fmt::format("heads({}:{},linear({}):1)", format_mixer(own),
                                                       *mixer.number("heads"), kIdleOptions)));
    mixer = both.layers.front();
  }
  if (std::find(changed.begin(), changed.end(), true) == changed.end())
    return fail(ErrorCode::unsupported, "[build] {} has no full layer to stand beside",
                format_stack(weights.architecture.stack));
  const auto rename = [&](const std::string& name) {
    const auto place = layer_of(name);
    if (!place || !changed[place->first] || belongs_to_layer(place->second)) return name;
    return fmt::format("layers.{}.part.0.{}", place->first, place->second);
  };
  rename_all(weights.tensors, rename);
  rename_all(weights.tables, rename);
  RUNG_TRY(const auto shapes, resolve(weights.architecture));
  for (std::size_t layer = 0; layer < shapes.size(); ++layer) {
    if (!changed[layer]) continue;
    RUNG_TRY(const auto tensors, layer_tensors(shapes[layer], layer, weights.architecture.dimensions.norm));
    for (const auto& tensor : tensors) {
      const auto found = weights.tensors.find(tensor.name);
      if (found == weights.tensors.end()) {
        if (tensor.name.find(".part.1.") != std::string::npos)
          weights.tensors[tensor.name] = zeros(tensor.shape);
        continue;
      }
      if (!tensor.name.ends_with(".o.weight")) continue;
      const std::int64_t rows = tensor.shape.at(0), cols = tensor.shape.at(1),
                         old = found->second.shape.at(1);
      std::vector<std::int64_t> wider(static_cast<std::size_t>(rows * cols), 0);
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < old; ++c)
          wider[static_cast<std::size_t>(r * cols + c)] = found->second.integer(r * old + c);
      found->second = integer_tensor({rows, cols}, wider);
    }
  }
  return {};
}

}  // namespace

Result<IdlePart> parse_idle_part(std::string_view word) {
  if (word == "layer") return IdlePart::layer;
  if (word == "head") return IdlePart::head;
  return fail(ErrorCode::parse, "[build] `beside` {}; layer or head expected",
              rung::quoted(std::string(word)));
}

Result<Construction> beside_idle(Construction made, IdlePart part) {
  RUNG_CHECK(part == IdlePart::layer ? put_layer_in_front(made.weights) : put_head_beside(made.weights));
  const std::string said = part == IdlePart::layer
                               ? " A linear layer in front of it is idle."
                               : " A linear head beside those of every full layer is idle.";
  made.claim += said;
  made.weights.notes["claim"] = made.claim;
  made.weights.notes["idle"] = part == IdlePart::layer ? "layer 1" : "the last head of every full layer";
  return made;
}

}  // namespace rung
