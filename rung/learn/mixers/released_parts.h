// What released layers have around their recurrences and attentions (docs/parity.md), learned: activations, norms,
// rotary positions, maps through bottlenecks, the output stage. The exact machine has its own
// (rung/exact/released_layer.h, rotary.h); tests compare them.
#pragma once

#include <optional>
#include <string>

#include "rung/learn/mixer.h"
#include "rung/learn/mixers/short_convolution.h"

namespace rung::learn {

// At least float32: norms, gates and recurrences are no narrower, whatever the model computes in.
inline torch::Tensor wide(const torch::Tensor& x) {
  return x.scalar_type() == torch::kDouble ? x : x.to(torch::kFloat32);
}
// A parameter [E, ...] beside rows [E, B, T, ...].
inline torch::Tensor at_every_token(const torch::Tensor& parameter) {
  return parameter.unsqueeze(1).unsqueeze(1);
}

torch::Tensor activated(Activation function, const torch::Tensor& x);
// x / √(Σx² + 1e-6), x / Σx or x / max(‖x‖, 1e-12) along the last dimension.
torch::Tensor scaled_keys(KeyNorm norm, const torch::Tensor& x);
// x / √(mean(x²) + epsilon) along the last dimension.
torch::Tensor root_mean_square(const torch::Tensor& x, double epsilon);

// Rotary positions: x [.., T, d]; pairs of the `size` entries from `begin` on, at position `step` t.
struct Turn {
  Rope kind = Rope::none;
  std::int64_t size = 0, theta = 0, begin = 0, step = 1;
};
torch::Tensor turned(const torch::Tensor& x, const Turn& turn);

// NAME.weight [rows, width] with NAME.bias where a start is given; through a bottleneck where rank > 0.
class LearnedMap {
 public:
  LearnedMap() = default;
  LearnedMap(const std::string& name, std::int64_t rows, std::int64_t width, std::int64_t rank,
             std::optional<Start> bias, ParameterLayout& layout);
  // `inside` acts on the bottleneck.
  torch::Tensor forward(const torch::Tensor& u, const Leaves& leaves,
                        torch::Tensor (*inside)(const torch::Tensor&) = nullptr) const;

 private:
  std::optional<ParameterLayout::Index> low_, bias_;
  ParameterLayout::Index weight_ = 0;
};

// Channels after the short convolution and its bias, where the layer has them.
class LearnedFront {
 public:
  LearnedFront() = default;
  LearnedFront(const MixerShape& shape, const MixerPlace& place,
               const std::vector<ParameterLayout::Part>& parts, ParameterLayout& layout);
  // One tensor a part, as they come from the convolution.
  std::vector<torch::Tensor> forward(const torch::Tensor& u, const Leaves& leaves) const;

 private:
  std::vector<std::int64_t> sizes_;
  ParameterLayout::Index weight_ = 0;
  std::optional<ParameterLayout::Index> bias_;
  std::optional<ShortConvolution> conv_;
};

inline constexpr double kOutputEpsilon = 1e-5;

// rms(o) ⊙ act(z) or rms(o ⊙ act(z)), each part only where the form has it; o [E, B, T, numbers of the output].
class LearnedOutput {
 public:
  LearnedOutput() = default;
  LearnedOutput(const MixerShape& shape, const MixerPlace& place, std::int64_t width, std::int64_t gain,
                std::int64_t group, std::int64_t rank, ParameterLayout& layout);
  torch::Tensor forward(const torch::Tensor& u, const torch::Tensor& o, const Leaves& leaves) const;
  void describe(Weights& weights) const;

 private:
  MixerForm form_;
  std::string prefix_;
  std::int64_t group_ = 1, repeats_ = 1;
  double epsilon_ = kOutputEpsilon;
  LearnedMap gate_;
  ParameterLayout::Index gain_ = 0;
};

// Steps between about 0.001 and 0.1, and the logarithms of rates between 1 and 16, as the mechanisms were published.
inline Start step_start() { return Start::uniform(2.3, -4.6); }
inline Start rate_start() { return Start::uniform(1.38, 1.38); }

void put_scalar(Weights& weights, const std::string& name, double value);

}  // namespace rung::learn
