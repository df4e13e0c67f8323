// mamba: a diagonal recurrence a channel, h[i][n] = exp(D_i A[i][n]) h[i][n] + D_i b[n] x[i], y[i] = sum_n
// c[n] h[i][n] + skip[i] x[i], D = softplus(delta).

#include "rung/learn/diagonal_scan.h"
#include "rung/learn/mixers/mixers.h"
#include "rung/learn/mixers/short_convolution.h"

namespace rung::learn {
namespace {

class Mamba : public LearnedMixer {
 public:
  Mamba(const MixerShape& shape, const MixerPlace& place, ParameterLayout& layout)
      : shape_(shape), place_(place) {
    const std::string& p = place.prefix;
    const std::int64_t inner = shape.inner, states = shape.state;
    weight_ = layout.add_stacked({{p + "x.weight", inner},
                                  {p + "b.weight", states},
                                  {p + "c.weight", states},
                                  {p + "delta.weight", inner}},
                                 {place.width}, Start::normal(fan_in_deviation(place.width)), true);
    // softplus of these biases lies between about 0.001 and 0.1, the step sizes that the mechanism was
    // published with.
    delta_bias_ = layout.add(p + "delta.bias", {inner}, Start::uniform(2.3, -4.6), false);
    decay_ = layout.add(p + "a.weight", {inner, states}, Start{Start::Kind::log_spaced, 1}, false);
    skip_ = layout.add(p + "skip.weight", {inner}, Start::constant(1), false);
    if (shape.conv > 0) conv_.emplace(p, inner, shape.conv, layout);
  }

  torch::Tensor forward(const torch::Tensor& u, const Leaves& leaves,
                        const ForwardContext& pass) const override {
    const std::string& p = place_.prefix;
    const std::int64_t inner = shape_.inner, states = shape_.state;
    const std::vector<torch::Tensor> rows =
        convolved_rows(apply_map(u, leaves[weight_]), conv_, 1, {inner, states, states, inner}, leaves);
    const torch::Tensor x = pass.round(p + "x", rows[0]), b = pass.round(p + "b", rows[1]),
                        c = pass.round(p + "c", rows[2]);
    const torch::Tensor step =
        torch::softplus((rows[3] + leaves[delta_bias_].unsqueeze(1).unsqueeze(1)).to(torch::kFloat32));
    const torch::Tensor y = diagonal_scan(
        {x, b, c, step, leaves[decay_].to(torch::kFloat32), pass.state_rounding(p + "state")}, pass.plain);
    return pass.round(p + "y", y + leaves[skip_].unsqueeze(1).unsqueeze(1) * x);
  }

 private:
  MixerShape shape_;
  MixerPlace place_;
  ParameterLayout::Index weight_ = 0, delta_bias_ = 0, decay_ = 0, skip_ = 0;
  std::optional<ShortConvolution> conv_;
};

}  // namespace

std::unique_ptr<LearnedMixer> mamba_mixer(const MixerShape& shape, const MixerPlace& place,
                                          ParameterLayout& layout) {
  return std::make_unique<Mamba>(shape, place, layout);
}

}  // namespace rung::learn
