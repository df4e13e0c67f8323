// mamba2: S_t = a_t S_{t-1} + x_t b_t^T, y_t = S_t c_t, a_t = 1 - sigmoid(gate_t) a head; groups of heads
// share b and c.
#include "rung/learn/matrix_recurrence.h"
#include "rung/learn/mixers/gates.h"
#include "rung/learn/mixers/mixers.h"
#include "rung/learn/mixers/short_convolution.h"

namespace rung::learn {
namespace {

class Mamba2 : public LearnedMixer {
 public:
  Mamba2(const MixerShape& shape, const MixerPlace& place, ParameterLayout& layout)
      : shape_(shape), place_(place) {
    const std::string& p = place.prefix;
    values_ = shape.heads * shape.value_dim, keys_ = shape.kv_heads * shape.key_dim;
    weight_ = layout.add_stacked({{p + "x.weight", values_},
                                  {p + "b.weight", keys_},
                                  {p + "c.weight", keys_},
                                  {p + "gate.weight", shape.heads}},
                                 {place.width}, Start::normal(fan_in_deviation(place.width)), true);
    gate_bias_ = layout.add(p + "gate.bias", {shape.heads}, gate_start(), false);
    if (shape.conv > 0) conv_.emplace(p, values_ + 2 * keys_, shape.conv, layout);
  }

  torch::Tensor forward(const torch::Tensor& u, const Leaves& leaves,
                        const ForwardContext& pass) const override {
    const std::string& p = place_.prefix;
    const std::vector<torch::Tensor> rows = mapped_rows(u, leaves[weight_], row_multiple(u), conv_, 3,
                                                        {values_, keys_, keys_, shape_.heads}, leaves);
    const torch::Tensor x = split_heads(pass.round(p + "x", rows[0]), shape_.heads);
    const torch::Tensor b =
        spread_heads(split_heads(pass.round(p + "b", rows[1]), shape_.kv_heads), shape_.heads);
    const torch::Tensor c =
        spread_heads(split_heads(pass.round(p + "c", rows[2]), shape_.kv_heads), shape_.heads);
    const torch::Tensor gate = pass.round(p + "gate", rows[3] + leaves[gate_bias_].unsqueeze(1).unsqueeze(1));
    return pass.round(p + "y",
                      join_heads(matrix_recurrence(
                          {c, b, x, log_decay(gate), {}, pass.state_rounding(p + "state")}, pass.plain)));
  }

 private:
  MixerShape shape_;
  MixerPlace place_;
  std::int64_t values_ = 0, keys_ = 0;
  ParameterLayout::Index weight_ = 0, gate_bias_ = 0;
  std::optional<ShortConvolution> conv_;
};

}  // namespace

std::unique_ptr<LearnedMixer> mamba2_mixer(const MixerShape& shape, const MixerPlace& place,
                                           ParameterLayout& layout) {
  return std::make_unique<Mamba2>(shape, place, layout);
}

}  // namespace rung::learn
