#include "tests/exact/random_real_model.h"

#include <cmath>

#include "rung/base/random.h"
#include "rung/spec/parameters.h"

namespace rung {
namespace {

class RealDrawer {
 public:
  RealDrawer(Weights& weights, const RealModel& model)
      : weights_(weights), random_(model.seed), spread_(model.spread) {}

  double normal() {  // Box and Muller
    return std::sqrt(-2 * std::log(1 - random_.unit())) * std::cos(6.283185307179586 * random_.unit());
  }
  void draw(const std::string& name, const std::vector<std::int64_t>& shape, double centre, double spread) {
    std::int64_t count = 1;
    for (const auto extent : shape) count *= extent;
    std::vector<double> values(static_cast<std::size_t>(count));
    for (auto& value : values) value = centre + spread * normal();
    weights_.tensors[name] = real_tensor(shape, values, DType::f32);
  }
  void scalar(const std::string& name, double value) {
    weights_.tensors[name] = real_tensor({}, std::span(&value, 1), DType::f64);
  }

  void tensor(const ParameterTensor& t) {
    const std::string& name = t.name;
    if (name.ends_with(".gain")) {
      draw(name, t.shape, 1, 0.3);
      scalar(name.substr(0, name.size() - 4) + "epsilon", 1e-6);
    } else if (name.ends_with(".bias")) {
      draw(name, t.shape, 0, 0.3);
    } else if (name.ends_with("a.weight")) {
      draw(name, t.shape, -1.5, 0.3);
    } else if (name.ends_with("skip.weight")) {
      draw(name, t.shape, 1, 0.3);
    } else if (name.starts_with("embed.")) {
      draw(name, t.shape, 0, 1);
    } else {
      draw(name, t.shape, 0, spread_ / std::sqrt(static_cast<double>(t.shape.back())));
      const std::string stem = name.substr(0, name.size() - 7), last = stem.substr(stem.rfind('.') + 1);
      if (last == "gate" || last == "beta" || last == "delta" || last == "mix" || last == "level" ||
          last == "q")
        draw(stem + ".bias", {t.shape[0]}, last == "mix" || last == "level" ? 0.5 : 0, 0.3);
    }
  }
  void mixer(const MixerShape& m, const std::string& prefix) {
    using enum MixerKind;
    const MixerKind kind = m.kind == loglinear ? m.base : m.kind;
    if (kind == full || kind == topk || kind == sparse)
      scalar(prefix + "score.tau", 1 / std::sqrt(static_cast<double>(m.key_dim)));
    if ((kind == delta || kind == gdelta) && m.form.plain())
      weights_.tensors[prefix + "key.fraction"] = integer_scalar(0);
    for (std::size_t j = 0; j < m.parts.size(); ++j) mixer(m.parts[j], fmt::format("{}part.{}.", prefix, j));
  }

 private:
  Weights& weights_;
  Random random_;
  double spread_;
};

}  // namespace

Weights random_real_weights(const RealModel& model) {
  Weights weights;
  auto stack = parse_stack(model.line);
  RUNG_REQUIRE(stack.ok(), "{}", stack.error().message);
  weights.architecture = {*stack, model.dimensions};
  weights.mode = WeightMode::real;
  const auto& dimensions = model.dimensions;
  weights.fields = {FieldSpec{"token", dimensions.vocabulary, 1, 0}};
  weights.output = {OutputSpec::Kind::logits, dimensions.vocabulary, 0};
  const auto layers = resolve(weights.architecture);
  RUNG_REQUIRE(layers.ok(), "{}", layers.error().message);
  RealDrawer drawer(weights, model);
  const auto outer = outer_tensors(dimensions);
  RUNG_REQUIRE(outer.ok(), "{}", outer.error().message);
  for (const auto& tensor : *outer) drawer.tensor(tensor);
  for (std::size_t i = 0; i < layers->size(); ++i) {
    const auto tensors = layer_tensors((*layers)[i], i, dimensions.norm);
    RUNG_REQUIRE(tensors.ok(), "{}", tensors.error().message);
    for (const auto& tensor : *tensors) drawer.tensor(tensor);
    drawer.mixer((*layers)[i].mixer, fmt::format("layers.{}.", i));
  }
  return weights;
}

}  // namespace rung
