#include "rung/exact/random_model.h"

#include <cmath>
#include <set>

#include "rung/base/random.h"
#include "rung/exact/released_form.h"
#include "rung/spec/mixers.h"
#include "rung/spec/parameters.h"

namespace rung {
namespace {

constexpr std::int64_t kTableRows = std::int64_t{1}
                                    << 16;  // larger alphabets are embedded by their binary code
constexpr std::int64_t kLargestWeight = 3;
constexpr int kRandomScaleFraction = 8;  // of read.scale
constexpr int kRandomChanceFraction = 20;
constexpr int kRandomNormExtra = 4;

// Half the bits of the spread of Σ w x over `fan_in` independent terms with |w| <= kLargestWeight.
int spread_shift(std::int64_t fan_in) {
  return static_cast<int>(std::lround(std::log2(2.0 * std::sqrt(static_cast<double>(fan_in)))));
}

// Maps of a whole row come back to p bits by a shift of their own; recurrent matrices, taps and decay rates
// do not.
bool is_map_of_row(const std::string& tensor) {
  static const std::set<std::string> kMaps{"q",       "k",          "v",          "o",     "x",
                                           "b",       "c",          "gate",       "delta", "beta",
                                           "level",   "compress_k", "compress_v", "mix",   "index_q",
                                           "index_k", "index_mix",  "dt",         "z",     "delta_low"};
  if (!tensor.ends_with(".weight")) return false;
  const std::string stem = tensor.substr(0, tensor.size() - 7);
  const std::string last = stem.substr(stem.rfind('.') + 1);
  return kMaps.count(last) != 0 || stem.find(".mlp.") != std::string::npos;
}

class Drawer {
 public:
  Drawer(Weights& weights, std::uint64_t seed)
      : weights_(weights), random_(seed), bits_(weights.architecture.dimensions.precision.bits) {}

  void draw(const std::string& name, const std::vector<std::int64_t>& shape, std::int64_t low,
            std::int64_t high) {
    std::int64_t count = 1;
    for (const auto extent : shape) count *= extent;
    std::vector<std::int64_t> values(static_cast<std::size_t>(count));
    for (auto& value : values) value = random_.between(low, high);
    weights_.tensors[name] = integer_tensor(shape, values);
  }
  void scalar(const std::string& name, std::int64_t value) { weights_.tensors[name] = integer_scalar(value); }
  void table(const std::string& name, const Table& table) {
    weights_.tensors[name + ".table"] =
        integer_tensor({static_cast<std::int64_t>(table.values.size())}, table.values);
    scalar(name + ".low", table.low);
    if (table.function) weights_.tables[name] = *table.function;
  }

  // A gate's table over the whole range of its channel (at most 2^16 entries), with values in [0,
  // 2^(gate_fraction_ + more)].
  Table gate(const char* function, int more = 0) const {
    const int range = std::min(bits_ - 1, 15);
    return make_table(function, -(std::int64_t{1} << range), (std::int64_t{1} << range) - 1,
                      std::max(0, range - 2), gate_fraction_ + more);
  }

  void mixer(const MixerShape& m, const std::string& prefix) {
    using enum MixerKind;
    const MixerKind kind = recurrence_of(m).kind;
    const int dot =
        2 * (bits_ - 2) + static_cast<int>(std::lround(
                              0.5 * std::log2(static_cast<double>(std::max<std::int64_t>(m.key_dim, 1)))));
    const int state = static_cast<int>(weights_.architecture.dimensions.accumulator_bits.value_or(bits_));
    // A read multiplies entries of about `entry` bits with p-bit queries, over key_dim terms, and comes back
    // to p bits. Entries are sums of products (linear, mamba2) or of values (delta, mamba), cut to the
    // accumulator's width.
    const bool products = kind == linear || (kind == mamba2 && !m.form.step);
    const int entry = std::min(state - 2, products ? 2 * (bits_ - 2) + 1 : bits_ - 2);
    const std::int64_t terms = kind == mamba ? m.state : std::max<std::int64_t>(m.key_dim, 1);
    const int read =
        std::max(0, entry + static_cast<int>(std::lround(0.5 * std::log2(static_cast<double>(terms)))));
    switch (kind) {
      case full:
      case sparse:
      case topk: {
        scalar(prefix + "score.shift", std::max(0, dot - 3));
        Table weights = make_table("exp", 0, 0, 0, 0);
        weights.low = -kRandomScore;
        weights.values.clear();
        weights.function.reset();
        for (std::int64_t s = -kRandomScore; s <= kRandomScore; ++s)
          weights.values.push_back(std::max<std::int64_t>(
              1, std::llround(std::ldexp(std::exp(kRandomTau * static_cast<double>(s)), kRandomExpBits))));
        table(prefix + "score", weights);
        const double tau = kRandomTau;
        weights_.tensors[prefix + "score.tau"] = real_tensor({}, std::span(&tau, 1), DType::f64);
        if (kind == sparse && m.form.plain()) scalar(prefix + "mix.fraction", std::max(0, bits_ - 2));
        if (kind == sparse && !m.form.plain()) {
          table(prefix + "mix", gate("sigmoid"));
          scalar(prefix + "mix.fraction", gate_fraction_);
          scalar(prefix + "chance.fraction", kRandomChanceFraction);
        }
        if (kind == topk) scalar(prefix + "index.shift", std::max(0, dot - bits_ + 2));
        break;
      }
      case linear:
        if (m.feature == FeatureMap::elu1 || m.feature == FeatureMap::exp) {
          const int range = std::min(bits_ - 1, 15);
          Table phi =
              make_table(m.feature == FeatureMap::exp ? "exp" : "elu1", -(std::int64_t{1} << range),
                         (std::int64_t{1} << range) - 1, std::max(0, range - 1), std::max(0, bits_ - 3));
          table(prefix + "feature", phi);
        }
        if (m.feature == FeatureMap::taylor2) {
          scalar(prefix + "feature.fraction", std::max(0, (bits_ - 2) / 2));
          scalar(prefix + "feature.shift", std::max(0, bits_ - 2));
        }
        scalar(prefix + "read.shift", read);
        scalar(prefix + "update.shift", std::max(0, bits_ - 2));
        break;
      case rnn:
        weights_.tensors.erase(prefix + "x.shift");  // its sums are used as they are
        scalar(prefix + "cell.shift", spread_shift(m.inner));
        if (!m.relu_cell) table(prefix + "cell", squash("tanh"));
        break;
      case gru:
        scalar(prefix + "gate.shift", spread_shift(m.inner));
        scalar(prefix + "cell.shift", spread_shift(m.inner));
        scalar(prefix + "gate.fraction", gate_fraction_);
        table(prefix + "gate", gate("sigmoid"));
        table(prefix + "cell", squash("tanh"));
        break;
      case mamba:
        table(prefix + "delta", gate("sigmoid"));
        table(prefix + "decay", make_table("exp", -(1 << 10), 0, 8, gate_fraction_));
        draw(prefix + "a.weight", {m.inner, m.state}, -16, -1);
        scalar(prefix + "decay.index_shift", m.form.plain() ? 2 : 5);
        scalar(prefix + "decay.shift", gate_fraction_);
        scalar(prefix + "update.shift", gate_fraction_ + std::max(0, bits_ - 2));
        scalar(prefix + "read.shift", read);
        if (m.form.inner_norms != InnerNorms::none)
          for (const char* norm : {"b_norm", "c_norm", "delta_norm"}) {
            scalar(prefix + norm + ".fraction", std::max(0, bits_ - 4));
            scalar(prefix + norm + ".extra", kRandomNormExtra);
          }
        break;
      case mamba2:
        head_decay(m, prefix, m.form.step ? "dt" : "gate");
        if (m.form.step) scalar(prefix + "update.shift", gate_fraction_ + std::max(0, bits_ - 2));
        if (m.form.skip != Skip::none) scalar(prefix + "skip.shift", 1);
        scalar(prefix + "read.shift", read);
        break;
      case delta:
      case gdelta:
        if (m.form.beta) table(prefix + "beta", gate("sigmoid", m.range == 2 ? 1 : 0));
        if (kind == gdelta) head_decay(m, prefix, "gate");
        if (m.form.plain() || m.form.key_norm != KeyNorm::none)
          scalar(prefix + "key.fraction", std::max(0, bits_ - 2));
        scalar(prefix + "predict.shift", std::max(0, bits_ - 2));
        scalar(prefix + "write.shift", (m.form.beta ? gate_fraction_ : 0) + std::max(0, bits_ - 2));
        scalar(prefix + "read.shift", std::max(0, bits_ - 2) + (m.form.scaled ? kRandomScaleFraction : 0));
        if (m.form.scaled)
          scalar(
              prefix + "read.scale",
              std::max<std::int64_t>(1, std::llround(std::ldexp(1 / std::sqrt(static_cast<double>(m.key_dim)),
                                                                kRandomScaleFraction))));
        break;
      case conv:
        scalar(prefix + "taps.shift", spread_shift(m.conv));
        return;
      case heads:
        for (std::size_t j = 0; j < m.parts.size(); ++j)
          mixer(m.parts[j], fmt::format("{}part.{}.", prefix, j));
        break;
      case identity:
      case none:
      case loglinear:  // its base
      case gla:
      case kda:
      case rwkv7:
      case recurrent:  // layer_tensors refuses opaque mixers
      case compressed:
        break;
    }
    if (m.kind != heads && m.conv > 0) scalar(prefix + "conv.shift", spread_shift(m.conv));
    if (m.kind == loglinear)
      scalar(prefix + "read.shift", read + (m.form.plain() ? bits_ - 2 : gate_fraction_));
    released(m, prefix);
  }

 private:
  // The decay of a head: from its gate alone, or from a step.
  void head_decay(const MixerShape& m, const std::string& prefix, const char* name) {
    table(prefix + name, gate(m.form.step ? "softplus" : "decay"));
    scalar(prefix + "decay.shift", gate_fraction_);
    if (!m.form.step) return;
    constexpr int kIndexFraction = 8, kRateBits = 6;
    draw(prefix + "a.weight", {m.heads}, -16, -1);
    scalar(prefix + "decay.index_shift", std::max(0, gate_fraction_ - kIndexFraction + kRateBits));
    table(prefix + "decay", make_table("exp", -(1 << 10), 0, kIndexFraction, gate_fraction_));
  }
  // What a released form has around the recurrence.
  void released(const MixerShape& m, const std::string& prefix) {
    const auto activation = [&](const char* name, Activation function) {
      if (function == Activation::none) return;
      const int range = std::min(bits_ - 1, 15);
      table(prefix + name,
            make_table(activation_function(function), -(std::int64_t{1} << range),
                       (std::int64_t{1} << range) - 1, std::max(0, range - 2), std::max(0, bits_ - 3)));
    };
    activation("act", m.form.act);
    activation("qk_act", m.form.key_act);
    if (m.form.gate != Activation::none) {
      table(prefix + "z", gate(activation_function(m.form.gate)));
      scalar(prefix + "gated.shift", gate_fraction_);
    }
    if (m.kind == MixerKind::loglinear && !m.form.plain()) table(prefix + "level", gate("softplus"));
  }
  Table squash(const char* function) const {
    const int range = std::min(bits_, 16);
    return make_table(function, -(std::int64_t{1} << range), std::int64_t{1} << range, std::max(0, bits_ - 2),
                      bits_ - 2);
  }

  Weights& weights_;
  Random random_;
  int bits_;
  int gate_fraction_ = std::min(14, bits_ - 1);  // gates lie in [0, 2^gate_fraction_]
};

}  // namespace

Result<Weights> random_weights(const RandomModel& model) {
  Weights weights;
  weights.architecture = model.architecture;
  weights.fields = model.fields;
  weights.output = model.output;
  weights.decode = model.decode;
  weights.accumulator = model.accumulator;
  RUNG_CHECK(separate_accumulator(weights));
  auto& dimensions = weights.architecture.dimensions;
  if (dimensions.precision.format != NumberFormat::fixed)
    return fail(ErrorCode::unsupported,
                "[build] random weights are integers; a precision in bits expected, not {}",
                format_precision(dimensions.precision));
  if (dimensions.position == PositionCode::rope)
    return fail(ErrorCode::unsupported,
                "[build] rotary positions have no integer form; position table, binary or none expected");
  RUNG_TRY(const auto layers, resolve(weights.architecture));
  if (const MixerShape* mixer = first_without_integers(layers))
    return fail(ErrorCode::unsupported, "[build] random weights are integers; {} has no integer form{}",
                form_name(*mixer), plain_form_hint(*mixer));
  Drawer drawer(weights, model.seed);
  const int bits = dimensions.precision.bits;
  const std::int64_t top = (std::int64_t{1} << (bits - 2)) - 1;

  RUNG_TRY(const auto outer, outer_tensors(dimensions));
  for (const auto& tensor : outer) {
    if (tensor.name.starts_with("embed.token") || tensor.name == "out.table") continue;
    if (tensor.name.ends_with("gain"))
      drawer.draw(tensor.name, tensor.shape, 1, kLargestWeight);
    else
      drawer.draw(tensor.name, tensor.shape, -top, top);
  }
  for (const auto& field : model.fields) {
    const std::string name = "embed." + field.name;
    if (field.length > 1)
      drawer.draw(name + ".linear", {field.length, dimensions.width}, -1, 1);
    else if (field.size <= kTableRows)
      drawer.draw(name + ".table", {field.size, dimensions.width}, -top, top);
    else
      drawer.draw(name + ".binary", {ceil_lg(static_cast<std::uint64_t>(field.size)) + 1, dimensions.width},
                  -std::max<std::int64_t>(1, top / 8), std::max<std::int64_t>(1, top / 8));
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    RUNG_TRY(const auto tensors, layer_tensors(layers[i], i, dimensions.norm));
    for (const auto& tensor : tensors) {
      if (tensor.name.ends_with("gain")) {
        drawer.draw(tensor.name, tensor.shape, 1, kLargestWeight);
        drawer.scalar(tensor.name.substr(0, tensor.name.size() - 4) + "fraction", std::max(0, bits - 4));
      } else {
        drawer.draw(tensor.name, tensor.shape, -kLargestWeight, kLargestWeight);
        if (is_map_of_row(tensor.name))
          drawer.scalar(tensor.name.substr(0, tensor.name.size() - 6) + "shift",
                        spread_shift(tensor.shape[1]));
      }
    }
    drawer.mixer(layers[i].mixer, fmt::format("layers.{}.", i));
  }
  if (dimensions.activation != MlpActivation::relu)
    for (std::size_t i = 0; i < layers.size(); ++i)
      for (std::size_t k = 0; k < layers[i].mlp.size(); ++k) {
        const int range = std::min(bits, 16);
        drawer.table(fmt::format("layers.{}.mlp.{}", i, k),
                     make_table(dimensions.activation == MlpActivation::gelu ? "gelu" : "silu",
                                -(std::int64_t{1} << range), std::int64_t{1} << range, std::max(0, bits - 3),
                                std::max(0, bits - 3)));
      }
  drawer.draw("out.table", {model.output.size, dimensions.width}, -kLargestWeight, kLargestWeight);
  if (model.output.kind == OutputSpec::Kind::binary || model.output.kind == OutputSpec::Kind::threshold)
    drawer.draw("out.threshold", {model.output.size}, -1, 1);
  return weights;
}

}  // namespace rung
