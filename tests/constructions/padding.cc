#include "tests/constructions/padding.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "rung/base/plural.h"
#include "rung/exact/random_model.h"
#include "rung/spec/mixers.h"
#include "rung/spec/parameters.h"

namespace rung {
namespace {

// Rows or columns of a smaller map in a larger one.
using IndexMap = std::function<std::int64_t(std::int64_t)>;

const IndexMap kSameIndex = [](std::int64_t i) { return i; };

Tensor embedded(const Tensor& from, std::int64_t rows, std::int64_t cols, const IndexMap& row,
                const IndexMap& col) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(rows * cols), 0);
  const std::int64_t old_cols = from.shape.size() > 1 ? from.shape[1] : 1;
  for (std::int64_t i = 0; i < from.size(); ++i)
    numbers[static_cast<std::size_t>(row(i / old_cols) * cols + col(i % old_cols))] = from.integer(i);
  return integer_tensor(
      from.shape.size() > 1 ? std::vector<std::int64_t>{rows, cols} : std::vector<std::int64_t>{rows},
      numbers);
}

// Parts of h of `each` numbers a head, where head h of the construction is head place(h) of the target.
IndexMap by_head(std::int64_t each, std::int64_t target_each, std::int64_t step) {
  return [=](std::int64_t i) { return i / each * step * target_each + i % each; };
}

// The same, step after step of the delta rule, each with all heads.
IndexMap by_step(std::int64_t each, std::int64_t heads, std::int64_t target_each, std::int64_t target_heads) {
  return [=](std::int64_t i) {
    const std::int64_t part = i / each;
    return (part / heads * target_heads + part % heads) * target_each + i % each;
  };
}

void zero(Tensor& tensor) {
  tensor =
      integer_tensor(tensor.shape, std::vector<std::int64_t>(static_cast<std::size_t>(tensor.size()), 0));
}

bool has_levels(const Mixer& mixer) {
  return mixer.kind == MixerKind::loglinear ||
         std::any_of(mixer.parts.begin(), mixer.parts.end(),
                     [](const HeadGroup& part) { return has_levels(part.mixer); });
}
bool has_levels(const Stack& stack) {
  return std::any_of(stack.layers.begin(), stack.layers.end(),
                     [](const Mixer& mixer) { return has_levels(mixer); });
}

// A layer of the stack and, in heads(...), a group of it.
struct UsedLayer {
  std::size_t layer = 0, part = 0;
};

bool takes_padding(const MixerShape& to, const MixerShape& from) {
  using enum MixerKind;
  if (from.kind == none) return true;
  if (to.kind != from.kind || to.window || to.chunk || to.conv > 0 || to.cache > 0) return false;
  if (to.kind == rnn || to.kind == gru) return to.relu_cell == from.relu_cell && to.inner >= from.inner;
  if (to.kind == linear || to.kind == loglinear) {
    const bool same = to.feature == from.feature ||
                      (from.feature == FeatureMap::identity && to.feature == FeatureMap::relu);
    if (!same || to.normalised != from.normalised || to.base != from.base) return false;
  }
  return std::min(to.heads, to.kv_heads) >= from.heads && to.key_dim >= from.key_dim &&
         to.value_dim >= from.value_dim && to.steps >= from.steps;
}

// Each layer of the construction in the first layer behind the last one that has room for it.
Result<std::vector<UsedLayer>> used_layers(const std::vector<LayerShape>& from,
                                           const std::vector<LayerShape>& to) {
  std::vector<UsedLayer> used;
  std::size_t next = 0;
  for (const auto& layer : from) {
    std::optional<std::size_t> part;
    for (; next < to.size() && !part; ++next) {
      const MixerShape& m = to[next].mixer;
      if (m.kind != MixerKind::heads || layer.mixer.kind == MixerKind::none) {
        if (takes_padding(m, layer.mixer)) part = 0;
        continue;
      }
      for (std::size_t j = 0; j < m.parts.size() && !part; ++j)
        if (takes_padding(m.parts[j], layer.mixer)) part = j;
    }
    if (!part)
      return fail(ErrorCode::range, "[build] no room for layer {} of {} of the construction in {}",
                  used.size() + 1, from.size(), counted(to.size(), "layer"));
    used.push_back({next - 1, *part});
  }
  return used;
}

// One used layer: where the rows of each map go.
struct MapPlaces {
  const MixerShape& from;
  const MixerShape& to;

  // Query heads of different key/value heads.
  std::int64_t query_step() const {
    return to.kind == MixerKind::full ? to.heads / std::max<std::int64_t>(1, to.kv_heads) : 1;
  }
  IndexMap rows(const std::string& map) const {
    using enum MixerKind;
    if (to.kind == rnn || to.kind == gru) return kSameIndex;
    if (map == "q") return by_head(from.key_dim, to.key_dim, query_step());
    if (to.kind == delta || to.kind == gdelta) {
      if (map == "k") return by_step(from.key_dim, from.kv_heads, to.key_dim, to.kv_heads);
      if (map == "v") return by_step(from.value_dim, from.heads, to.value_dim, to.heads);
      if (map == "beta") return by_step(1, from.heads, 1, to.heads);
    }
    if (map == "k" || map == "b" || map == "c") return by_head(from.key_dim, to.key_dim, 1);
    if (map == "v" || map == "x") return by_head(from.value_dim, to.value_dim, 1);
    return kSameIndex;  // gate, level: one head
  }
  IndexMap output_columns() const {
    if (to.kind == MixerKind::rnn || to.kind == MixerKind::gru) return kSameIndex;
    return by_head(from.value_dim, to.value_dim, query_step());
  }
};

bool of_layer(const std::string& own) {
  return own.starts_with("o.") || own.starts_with("mlp.") || own.starts_with("norm");
}

class Padder {
 public:
  Padder(Construction& made, Weights base, std::vector<LayerShape> from, std::vector<LayerShape> to)
      : made_(made.weights),
        out_(std::move(base)),
        from_(std::move(from)),
        to_(std::move(to)),
        width_(out_.architecture.dimensions.width) {}

  Result<Weights> take(const std::vector<UsedLayer>& places) {
    outside();
    for (std::size_t layer = 0; layer < to_.size(); ++layer) make_idle(layer);
    for (std::size_t i = 0; i < places.size(); ++i) RUNG_CHECK(place_layer(i, places[i]));
    if (out_.architecture.dimensions.precision.bits > made_.architecture.dimensions.precision.bits &&
        !out_.tensors.contains("stream.bits"))
      out_.tensors["stream.bits"] = integer_scalar(made_.architecture.dimensions.precision.bits);
    return std::move(out_);
  }

 private:
  Tensor wider(const Tensor& map) const {
    return embedded(map, map.shape.at(0), width_, kSameIndex, kSameIndex);
  }

  // Embeddings, positions, output.
  void outside() {
    std::erase_if(out_.tensors, [](const auto& named) {
      return named.first.starts_with("embed.") || named.first.starts_with("out.");
    });
    for (const auto& [name, tensor] : made_.tensors) {
      if (name.starts_with("embed.position.")) continue;
      if (name.starts_with("embed.") || name == "out.table")
        out_.tensors[name] = wider(tensor);
      else if (!name.starts_with("layers."))
        out_.tensors[name] = tensor;
    }
    positions();
  }

  void positions() {
    const auto table = made_.tensors.find("embed.position.table"),
               binary = made_.tensors.find("embed.position.binary");
    const std::int64_t context = out_.architecture.dimensions.context;
    const PositionCode wanted = out_.architecture.dimensions.position;
    if (wanted == PositionCode::none) return;
    if (wanted == PositionCode::binary) {
      const std::int64_t rows = position_digits(context) + 1;
      out_.tensors["embed.position.binary"] =
          binary != made_.tensors.end()
              ? wider(binary->second)
              : integer_tensor({rows, width_},
                               std::vector<std::int64_t>(static_cast<std::size_t>(rows * width_), 0));
      return;
    }
    if (table != made_.tensors.end()) {
      out_.tensors["embed.position.table"] = wider(table->second);
      return;
    }
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(context * width_), 0);
    if (binary != made_.tensors.end()) {
      const std::int64_t digits = binary->second.shape.at(0) - 1, cols = binary->second.shape.at(1);
      for (std::int64_t t = 0; t < context; ++t)
        for (std::int64_t d = 0; d <= digits; ++d)
          for (std::int64_t c = 0; c < cols; ++c)
            if (d == digits || (t >> d & 1) != 0)
              numbers[static_cast<std::size_t>(t * width_ + c)] += binary->second.integer(d * cols + c);
    }
    out_.tensors["embed.position.table"] = integer_tensor({context, width_}, numbers);
  }

  // Whatever the mixer says, nothing is added to the stream.
  void make_idle(std::size_t layer) {
    const std::string prefix = fmt::format("layers.{}.", layer);
    const std::string last = fmt::format("{}mlp.{}.", prefix, to_[layer].mlp.size());
    for (auto& [name, tensor] : out_.tensors)
      if (name == prefix + "o.weight" || name == last + "weight" || name == last + "bias") zero(tensor);
  }

  Result<void> place_layer(std::size_t i, const UsedLayer& place) {
    const std::string source = fmt::format("layers.{}.", i), layer = fmt::format("layers.{}.", place.layer);
    const MixerShape& stands = to_[place.layer].mixer;
    const bool grouped = stands.kind == MixerKind::heads;
    const MixerShape& from = from_[i].mixer;
    const bool only_mlp = from.kind == MixerKind::none;
    const MixerShape& to = grouped && !only_mlp ? stands.parts.at(place.part) : stands;
    const std::string target = grouped && !only_mlp ? fmt::format("{}part.{}.", layer, place.part) : layer;
    const MapPlaces places{from, to};
    // The layer's own MLP, and the mixer's tensors, give way to the construction's.
    std::erase_if(out_.tensors, [&](const auto& named) {
      if (named.first.starts_with(layer + "mlp.")) return true;
      return !only_mlp && named.first.starts_with(target) && !of_layer(named.first.substr(target.size())) &&
             !(target == layer && named.first.starts_with(layer + "part."));
    });
    std::erase_if(out_.tables, [&](const auto& named) { return named.first.starts_with(target); });
    std::int64_t first_column = 0;  // of the group in W_O
    for (std::size_t part = 0; grouped && !only_mlp && part < place.part; ++part)
      first_column += stands.parts[part].output_width();
    for (const auto& [name, tensor] : made_.tensors) {
      if (!name.starts_with(source)) continue;
      const std::string own = name.substr(source.size());
      if (own.starts_with("mlp.")) {
        place_mlp(layer + own, own, tensor, i);
        continue;
      }
      if (only_mlp) continue;
      const std::string map = own.substr(0, own.find('.'));
      if (own == "o.weight") {
        const auto columns = places.output_columns();
        const std::int64_t total = stands.output_width();
        out_.tensors[layer + own] = embedded(tensor, width_, total, kSameIndex,
                                             [&](std::int64_t c) { return first_column + columns(c); });
      } else if (own.starts_with("o.")) {
        out_.tensors[layer + own] = tensor;
      } else if (own.ends_with(".weight") || own.ends_with(".bias")) {
        RUNG_CHECK(place_map(target, own, map, tensor, places));
      } else {
        out_.tensors[target + own] = tensor;
      }
    }
    if (!only_mlp) {
      if (!made_.tensors.contains(source + "o.shift")) out_.tensors.erase(layer + "o.shift");
      if (to.kind == MixerKind::linear && (to.feature == FeatureMap::elu1 || to.feature == FeatureMap::exp))
        silence_unused_keys(target, from, to);
    }
    for (const auto& [name, table] : made_.tables)
      if (name.starts_with(source)) out_.tables[target + name.substr(source.size())] = table;
    return {};
  }

  void place_mlp(const std::string& name, const std::string& own, const Tensor& tensor, std::size_t i) {
    const std::string first = "mlp.0.weight", last = fmt::format("mlp.{}.", from_[i].mlp.size());
    if (own == last + "weight" && own == first)
      out_.tensors[name] = embedded(tensor, width_, width_, kSameIndex, kSameIndex);
    else if (own == first)
      out_.tensors[name] = wider(tensor);
    else if (own == last + "weight")
      out_.tensors[name] = embedded(tensor, width_, tensor.shape.at(1), kSameIndex, kSameIndex);
    else if (own == last + "bias")
      out_.tensors[name] = embedded(tensor, width_, 1, kSameIndex, kSameIndex);
    else
      out_.tensors[name] = tensor;
  }

  Result<void> place_map(const std::string& target, const std::string& own, const std::string& map,
                         const Tensor& tensor, const MapPlaces& places) {
    // Maps of attention and of the recurrences; not those of selection and compression.
    static constexpr std::string_view kKnown[] = {"q",  "k",  "v",  "x",  "h",  "b",    "c",   "xz",
                                                  "xr", "xn", "hz", "hr", "hn", "beta", "gate"};
    const MixerShape& to = places.to;
    std::int64_t rows = map == "level" ? to.heads * to.levels : 0;
    for (const MixerTensor& known : recurrence_of(to).tensors.value)
      if (known.name == map && std::find(std::begin(kKnown), std::end(kKnown), map) != std::end(kKnown))
        rows = size_of(known.rows, to, width_).or_zero();
    if (rows == 0) return fail(ErrorCode::unsupported, "[build] no place for \"{}\" in a larger layer", own);
    const bool square = map.front() == 'h', bias = own.ends_with(".bias");
    out_.tensors[target + own] = embedded(tensor, rows,
                                          bias     ? 1
                                          : square ? rows
                                                   : width_,
                                          places.rows(map), kSameIndex);
    return {};
  }

  // elu1 and exp of 0 are 1: keys that the construction does not use must lie below.
  void silence_unused_keys(const std::string& target, const MixerShape& from, const MixerShape& to) {
    constexpr std::int64_t kNoWeight = -2;  // e^-2 rounds to 0
    const std::int64_t rows = to.heads * to.key_dim;
    std::set<std::int64_t> used;
    const auto place = by_head(from.key_dim, to.key_dim, 1);
    for (std::int64_t i = 0; i < from.heads * from.key_dim; ++i) used.insert(place(i));
    std::vector<std::int64_t> bias(static_cast<std::size_t>(rows), 0);
    if (const auto found = out_.tensors.find(target + "k.bias"); found != out_.tensors.end())
      for (std::int64_t r = 0; r < rows; ++r) bias[static_cast<std::size_t>(r)] = found->second.integer(r);
    for (std::int64_t r = 0; r < rows; ++r)
      if (!used.contains(r)) bias[static_cast<std::size_t>(r)] = kNoWeight;
    out_.tensors[target + "k.bias"] = integer_tensor({rows}, bias);
  }

  const Weights& made_;
  Weights out_;
  std::vector<LayerShape> from_, to_;
  std::int64_t width_;
};

}  // namespace

Result<Construction> padded_to(Construction made, const Architecture& target, std::uint64_t seed) {
  Architecture architecture = target;
  const Dimensions& own = made.weights.architecture.dimensions;
  Dimensions& dimensions = architecture.dimensions;
  dimensions.mlp = own.mlp;
  dimensions.mlp_given = true;
  dimensions.activation = own.activation;
  dimensions.vocabulary = own.vocabulary;
  dimensions.outputs = own.outputs;
  dimensions.context = own.context;
  // What reads words of any length stands beside parts that need a context.
  if (own.context == 0 && (dimensions.position != PositionCode::none || has_levels(architecture.stack)))
    dimensions.context = made.task->prompt_length();
  RUNG_TRY(auto to, resolve(architecture));
  RUNG_TRY(auto from, resolve(made.weights.architecture));
  if (dimensions.width < own.width || dimensions.precision.bits < own.precision.bits)
    return fail(ErrorCode::range, "[build] width {} and {} bits; expected at least {} and {}",
                dimensions.width, dimensions.precision.bits, own.width, own.precision.bits);
  const bool placed = dimensions.position == own.position || dimensions.position == PositionCode::table ||
                      own.position == PositionCode::none;
  if (!placed || dimensions.norm != Norm::none)
    return fail(ErrorCode::unsupported, "[build] position {} and norm {}; expected {} or a table, and none",
                position_name(dimensions.position), norm_name(dimensions.norm), position_name(own.position));
  RUNG_TRY(const auto used, used_layers(from, to));
  RUNG_TRY(Weights base, random_weights({.architecture = architecture,
                                         .fields = made.weights.fields,
                                         .output = made.weights.output,
                                         .decode = made.weights.decode,
                                         .accumulator = Accumulator::exact,  // unless the line says otherwise
                                         .seed = seed}));
  Padder padder(made, std::move(base), std::move(from), std::move(to));
  RUNG_TRY(Weights weights, padder.take(used));
  weights.task = made.weights.task;
  weights.notes = made.weights.notes;
  made.weights = std::move(weights);
  return made;
}

Result<Construction> build_possible(const Setting& setting, const Question& question, const Verdict& verdict,
                                    std::uint64_t seed) {
  const nlohmann::ordered_json parameters = verdict.parameters;
  if (!parameters.contains("construction") || !parameters["construction"].contains("build"))
    return fail(ErrorCode::missing, "[build] {} names no construction", verdict.theorem);
  const auto& named = parameters["construction"];
  ConstructionRequest request{.name = named["build"].get<std::string>(), .sizes = question.sizes};
  if (named.contains("options"))
    for (const auto& [name, value] : named["options"].items())
      request.options[name] = value.get<std::string>();
  RUNG_TRY(Construction made, build_construction(request));
  return padded_to(std::move(made), setting.architecture, seed);
}

}  // namespace rung
