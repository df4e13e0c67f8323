#include "tests/exact/strained_model.h"

#include <algorithm>

namespace rung {
namespace {

class Strainer {
 public:
  Strainer(Weights& weights, std::uint64_t seed)
      : weights_(weights), random_(seed, 1), p_(weights.architecture.dimensions.precision.bits) {}

  void run() {
    const auto before = weights_.tensors;  // what is changed or added below is not changed again
    for (const auto& [name, tensor] : before) {
      if (ends(name, ".weight") && tensor.shape.size() == 2) map(stem(name), tensor.shape[0]);
      if (ends(name, ".shift") && chance(2)) set(name, {}, {tensor.integer(0) + random_.between(-2, 1)});
      if (ends(name, ".table") && name.starts_with("layers.") && chance(2)) table(stem(name));
      if (ends(name, ".gain")) norm(stem(name));
    }
    const auto layers = resolve(weights_.architecture);
    for (std::size_t i = 0; i < layers->size(); ++i)
      mixer((*layers)[i].mixer, "layers." + std::to_string(i) + ".");
    if (chance(3)) set("stream.bits", {}, {random_.between(std::max(2, p_ - 2), p_ + 3)});
    if (chance(3)) set("embed.shift", {}, {random_.between(-1, 2)});
    if (chance(2)) fill("out.bias", {weights_.output.size}, -100, 100);
  }

 private:
  static bool ends(const std::string& name, const char* end) { return name.ends_with(end); }
  static std::string stem(const std::string& name) { return name.substr(0, name.rfind('.')); }
  bool chance(std::uint64_t one_in) { return random_.below(one_in) == 0; }

  void set(const std::string& name, std::vector<std::int64_t> shape, std::vector<std::int64_t> values) {
    weights_.tensors[name] = integer_tensor(std::move(shape), values);
  }
  void fill(const std::string& name, const std::vector<std::int64_t>& shape, std::int64_t low,
            std::int64_t high) {
    std::int64_t count = 1;
    for (const auto extent : shape) count *= extent;
    std::vector<std::int64_t> values(static_cast<std::size_t>(count));
    for (auto& value : values) value = random_.between(low, high);
    set(name, shape, values);
  }
  void some_bits(const std::string& name) {
    if (chance(3)) set(name, {}, {random_.between(2, p_ + 4)});
  }

  void map(const std::string& name, std::int64_t rows) {
    const std::string last = name.substr(name.rfind('.') + 1);
    if (last == "conv" || last == "taps" || last == "a" || last == "skip") return;
    const std::int64_t large = std::int64_t{1} << std::min(p_, 12);
    if (chance(2)) fill(name + ".bias", {rows}, -large, large);
    if (last == "h" || (last.size() == 2 && (last[0] == 'x' || last[0] == 'h')) ||
        (last == "x" && weights_.tensors.count(stem(name) + ".h.weight")))
      return;
    some_bits(name + ".bits");
  }

  void table(const std::string& name) {
    const bool score = ends(name, "score");
    fill(name + ".table", {random_.between(1, 40)},
         score       ? 0
         : chance(2) ? 0
                     : -200,
         score && chance(2) ? 3 : 300);
    set(name + ".low", {}, {random_.between(-25, 10)});
    weights_.tables.erase(name);
  }

  void norm(const std::string& name) {
    fill(name + ".gain", weights_.tensors[name + ".gain"].shape, -9, 9);
    if (chance(2)) set(name + ".extra", {}, {random_.between(0, 9)});
    if (chance(2)) set(name + ".fraction", {}, {random_.between(0, p_)});
    some_bits(name + ".bits");
  }

  void mixer(const MixerShape& m, const std::string& prefix) {
    using enum MixerKind;
    for (std::size_t j = 0; j < m.parts.size(); ++j)
      mixer(m.parts[j], prefix + "part." + std::to_string(j) + ".");
    if (m.kind == none || m.kind == heads) return;
    const MixerKind kind = m.kind == loglinear ? m.base : m.kind;
    some_bits(prefix + "y.bits");
    const bool divides = kind == full || kind == topk || kind == sparse || (kind == linear && m.normalised);
    if (divides && chance(2)) set(prefix + "value.scale", {}, {random_.between(1, 40)});
    if (m.conv > 0 && m.kind != conv) {
      fill(prefix + "conv.weight", {m.conv_channels, m.conv}, -9, 9);
      some_bits(prefix + "conv.bits");
      if (chance(2)) table(prefix + "conv");
    }
    if (kind == linear) {
      if (m.feature == FeatureMap::elu1 || m.feature == FeatureMap::exp || m.feature == FeatureMap::taylor2)
        some_bits(prefix + "feature.bits");
      if (m.feature == FeatureMap::taylor2) set(prefix + "feature.fraction", {}, {random_.between(0, 5)});
    }
    if (kind == sparse) {
      set(prefix + "mix.fraction", {}, {random_.between(0, 6)});
      if (m.form.plain() && chance(2)) {
        const std::int64_t hidden = random_.between(1, 5), w = weights_.architecture.dimensions.width;
        fill(prefix + "compress_hidden.weight", {hidden, m.block * w}, -2, 2);
        fill(prefix + "compress_k.weight", {m.kv_heads * m.key_dim, hidden}, -3, 3);
        fill(prefix + "compress_v.weight", {m.kv_heads * m.value_dim, hidden}, -3, 3);
        set(prefix + "compress_hidden.shift", {}, {2});
      }
    }
    if (!m.form.plain()) released(m, prefix);
    if ((kind == delta || kind == gdelta) && (m.form.plain() || m.form.key_norm == KeyNorm::l2)) {
      if (chance(3) && m.form.plain())
        weights_.tensors.erase(prefix + "key.fraction");
      else {
        if (chance(2)) set(prefix + "key.extra", {}, {random_.between(0, 10)});
        some_bits(prefix + "key.bits");
      }
    }
    if (kind == gru) set(prefix + "gate.fraction", {}, {random_.between(0, 9)});
    if (kind == mamba) {
      fill(prefix + "a.weight", {m.inner, m.state}, -20, 20);
      fill(prefix + "skip.weight", {m.inner}, -5, 5);
      if (chance(2)) set(prefix + "skip.shift", {}, {random_.between(-1, 3)});
    }
    if (m.kind == loglinear && chance(2)) table(prefix + "level");
  }

  void released(const MixerShape& m, const std::string& prefix) {
    if (m.kind == MixerKind::sparse) {
      if (chance(2)) set(prefix + "chance.fraction", {}, {random_.between(0, 30)});
      for (const char* name : {"compress_k", "compress_v"}) {
        weights_.tensors.erase(prefix + name + ".bias");
        some_bits(prefix + name + ".bits");
      }
      if (const auto place = weights_.tensors.find(prefix + "compress_k.place");
          place != weights_.tensors.end())
        fill(prefix + "compress_k.place", std::vector(place->second.shape), -40, 40);
    }
    if (m.form.index_norm && chance(2)) set(prefix + "index_norm.epsilon", {}, {random_.between(0, 5000)});
    if (m.form.inner_norms != InnerNorms::none)
      for (const std::string norm : {"b_norm", "c_norm", "delta_norm"}) {
        if (chance(2)) set(prefix + norm + ".epsilon", {}, {random_.between(0, 5000)});
        if (chance(2)) set(prefix + norm + ".extra", {}, {random_.between(0, 9)});
        some_bits(prefix + norm + ".bits");
      }
    if (m.form.act != Activation::none) some_bits(prefix + "act.bits");
    if (m.form.key_act != Activation::none) some_bits(prefix + "qk_act.bits");
    if (m.form.key_norm != KeyNorm::none) some_bits(prefix + "key.bits");
    if (m.form.key_norm == KeyNorm::l2 && chance(2))
      set(prefix + "key.epsilon", {}, {random_.between(0, 5000)});
    if (m.form.conv_bias) fill(prefix + "conv.bias", {m.conv_channels}, -60, 60);
    if (m.form.scaled && chance(2)) set(prefix + "read.scale", {}, {random_.between(1, 300)});
    if (m.form.skip != Skip::none && chance(2)) set(prefix + "skip.shift", {}, {random_.between(-1, 3)});
    if (m.form.gate != Activation::none || m.form.norm != OutputNorm::none) some_bits(prefix + "read.bits");
    if (m.form.gate != Activation::none) some_bits(prefix + "gated.bits");
    if (m.form.norm != OutputNorm::none && chance(2))
      set(prefix + "ynorm.epsilon", {}, {random_.between(0, 5000)});
  }

  Weights& weights_;
  Random random_;
  int p_;
};

}  // namespace

RandomModel varied_model(const std::string& line, bool causal, std::uint64_t seed) {
  Random random(seed, 2);
  const auto pick = [&](std::initializer_list<std::int64_t> words) {
    return words.begin()[random.below(words.size())];
  };
  RandomModel model;
  model.architecture.stack = *parse_stack(line);
  auto& d = model.architecture.dimensions;
  d.width = pick({4, 6});
  d.heads = 2;
  d.state = pick({1, 3});
  if (random.below(4) == 0) d.value_dim = 3;
  d.mlp_given = true;
  d.mlp = random.below(3) == 0   ? std::vector<std::int64_t>{}
          : random.below(2) == 0 ? std::vector<std::int64_t>{5}
                                 : std::vector<std::int64_t>{3, 4};
  d.activation = random.below(2) == 0   ? MlpActivation::relu
                 : random.below(2) == 0 ? MlpActivation::gelu
                                        : MlpActivation::silu;
  d.norm = random.below(3) == 0 ? Norm::rms : Norm::none;
  d.position = random.below(3) == 0   ? PositionCode::binary
               : random.below(3) == 0 ? PositionCode::none
                                      : PositionCode::table;
  d.vocabulary = 5;
  d.context = 24;
  d.causal = causal;
  d.precision.bits = static_cast<int>(pick({3, 8, 8, 8, 16, 24}));
  const std::int64_t state_bits = pick({0, 12, 40});
  if (state_bits > 0) d.accumulator_bits = state_bits;
  model.accumulator = std::array{Accumulator::exact, Accumulator::wrap, Accumulator::round}[seed % 3];
  model.fields = {FieldSpec{"token", 5, 1, 0}};
  if (random.below(3) == 0) model.fields.push_back(FieldSpec{"vector", 7, 2, -3});
  if (random.below(3) == 0)
    model.fields.push_back(FieldSpec{"wide", 70'000, 1, -5});  // embedded by its binary code
  using enum OutputSpec::Kind;
  model.output = std::array<OutputSpec, 4>{
      {{logits, 5, 0}, {binary, 2, 0}, {threshold, 1, 0}, {vector, 3, 2}}}[random.below(4)];
  model.seed = seed;
  return model;
}

void strain(Weights& weights, std::uint64_t seed) { Strainer(weights, seed).run(); }

void strain_to_the_edge(Weights& weights, std::uint64_t seed) {
  strain(weights, seed);
  Random random(seed, 3);
  const auto some_size = [&](int most_bits) {
    return (std::int64_t{1} << random.below(static_cast<std::uint64_t>(most_bits) + 1)) - 1;
  };
  const auto any_below = [&](std::int64_t size) { return random.between(-size, size); };
  auto& dimensions = weights.architecture.dimensions;
  if (random.below(2) == 0) dimensions.accumulator_bits = random.between(2, 62);
  for (auto& [name, tensor] : weights.tensors) {
    if (!tensor.is_integer() || random.below(3) != 0) continue;
    const auto scalar = [&](std::int64_t value) { tensor = integer_scalar(value); };
    if (name.ends_with("shift")) {
      scalar(random.below(3) == 0 ? random.between(-40, 100) : random.between(-12, 40));
    } else if (name.ends_with(".bits")) {
      scalar(random.between(1, 48));
    } else if (name.ends_with("value.scale") || name.ends_with("read.scale")) {
      scalar(1 + some_size(32));
    } else if (name.ends_with(".epsilon")) {
      scalar(some_size(46));
    } else if (name.ends_with("extra") || name.ends_with("key.fraction") ||
               (name.ends_with("fraction") && name.find("norm") != std::string::npos)) {
      scalar(random.between(0, 24));
    } else if (name.ends_with(".fraction") || tensor.shape.empty()) {
      continue;
    } else {
      const std::int64_t size = some_size(46);
      const bool negative = !name.ends_with("score.table");
      std::vector<std::int64_t> values(static_cast<std::size_t>(tensor.size()));
      for (auto& value : values) value = negative ? any_below(size) : random.between(0, size);
      tensor = integer_tensor(tensor.shape, values);
    }
  }
}

Prompt random_prompt(const std::vector<FieldSpec>& fields, std::int64_t positions, std::uint64_t seed) {
  Random random(seed, 99);
  Prompt prompt{positions, {}};
  for (const auto& field : fields) {
    prompt.fields.emplace_back();
    for (std::int64_t i = 0; i < positions * field.length; ++i)
      prompt.fields.back().push_back(random.between(field.low, field.low + field.size - 1));
  }
  return prompt;
}

std::vector<std::int64_t> all_positions(std::int64_t count) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = i;
  return all;
}

}  // namespace rung
