// heads(...): parts that read the same input, their outputs side by side. identity: a map.
#include "rung/learn/mixers/mixers.h"

namespace rung::learn {
namespace {

class Heads : public LearnedMixer {
 public:
  Heads(const MixerShape& shape, const MixerPlace& place, ParameterLayout& layout) {
    for (std::size_t i = 0; i < shape.parts.size(); ++i) {
      MixerPlace part = place;
      part.prefix += "part." + std::to_string(i) + ".";
      parts_.push_back(make_mixer(shape.parts[i], part, layout));
    }
  }
  torch::Tensor forward(const torch::Tensor& u, const Leaves& leaves,
                        const ForwardContext& pass) const override {
    std::vector<torch::Tensor> y;
    for (const auto& part : parts_) y.push_back(part->forward(u, leaves, pass));
    return torch::cat(y, -1);
  }
  void describe(Weights& weights) const override {
    for (const auto& part : parts_) part->describe(weights);
  }
  void unfused(bool on_device, std::vector<std::string>& names) const override {
    for (const auto& part : parts_) part->unfused(on_device, names);
  }

 private:
  std::vector<std::unique_ptr<LearnedMixer>> parts_;
};

class Identity : public LearnedMixer {
 public:
  Identity(const MixerShape& shape, const MixerPlace& place, ParameterLayout& layout)
      : prefix_(place.prefix),
        value_(layout.add(place.prefix + "v.weight", {shape.output_width(), place.width},
                          Start::normal(fan_in_deviation(place.width)), true)) {}
  torch::Tensor forward(const torch::Tensor& u, const Leaves& leaves,
                        const ForwardContext& pass) const override {
    return pass.round(prefix_ + "y", apply_map(u, leaves[value_]));
  }

 private:
  std::string prefix_;
  ParameterLayout::Index value_;
};

}  // namespace

std::unique_ptr<LearnedMixer> heads_mixer(const MixerShape& shape, const MixerPlace& place,
                                          ParameterLayout& layout) {
  return std::make_unique<Heads>(shape, place, layout);
}
std::unique_ptr<LearnedMixer> identity_mixer(const MixerShape& shape, const MixerPlace& place,
                                             ParameterLayout& layout) {
  return std::make_unique<Identity>(shape, place, layout);
}

}  // namespace rung::learn
