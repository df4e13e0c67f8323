// delta: S_t = S_{t-1} (I - beta k k^T) + beta v k^T, y = S_t q, unit keys and queries; gdelta: S_{t-1}
// decays first.
#include "rung/learn/matrix_recurrence.h"
#include "rung/learn/mixers/gates.h"
#include "rung/learn/mixers/mixers.h"
#include "rung/learn/mixers/short_convolution.h"
#include "rung/learn/row_norm.h"

namespace rung::learn {
namespace {

class DeltaRule : public LearnedMixer {
 public:
  DeltaRule(const MixerShape& shape, const MixerPlace& place, ParameterLayout& layout)
      : shape_(shape), place_(place), gated_(shape.kind == MixerKind::gdelta) {
    const std::string& p = place.prefix;
    keys_ = shape.kv_heads * shape.key_dim, values_ = shape.heads * shape.value_dim;
    const std::int64_t gates = gated_ ? shape.heads : 0;
    weight_ = layout.add_stacked({{p + "q.weight", keys_},
                                  {p + "k.weight", keys_},
                                  {p + "v.weight", values_},
                                  {p + "beta.weight", shape.heads},
                                  {p + "gate.weight", gates}},
                                 {place.width}, Start::normal(fan_in_deviation(place.width)), true);
    beta_bias_ = layout.add(p + "beta.bias", {shape.heads}, beta_start(), false);
    if (gated_) gate_bias_ = layout.add(p + "gate.bias", {shape.heads}, gate_start(), false);
    if (shape.conv > 0) conv_.emplace(p, 2 * keys_ + values_, shape.conv, layout);
  }

  torch::Tensor forward(const torch::Tensor& u, const Leaves& leaves,
                        const ForwardContext& pass) const override {
    const std::string& p = place_.prefix;
    std::vector<std::int64_t> sizes{keys_, keys_, values_, shape_.heads};
    if (gated_) sizes.push_back(shape_.heads);
    const std::vector<torch::Tensor> rows =
        convolved_rows(apply_map(u, leaves[weight_]), conv_, 3, sizes, leaves);
    const auto unit_heads = [&](std::size_t which, const char* name) {
      const torch::Tensor unit =
          unit_rows(split_heads(pass.round(p + name, rows[which]), shape_.kv_heads), pass.plain);
      return spread_heads(pass.round(p + "key", unit), shape_.heads);
    };
    const torch::Tensor q = unit_heads(0, "q"), k = unit_heads(1, "k");
    const torch::Tensor v = split_heads(pass.round(p + "v", rows[2]), shape_.heads);
    const torch::Tensor beta = pass.round(p + "beta", rows[3] + leaves[beta_bias_].unsqueeze(1).unsqueeze(1))
                                   .to(torch::kFloat32)
                                   .sigmoid();
    torch::Tensor decay;
    if (gated_)
      decay = log_decay(pass.round(p + "gate", rows[4] + leaves[gate_bias_].unsqueeze(1).unsqueeze(1)));
    return pass.round(p + "y", join_heads(matrix_recurrence(
                                   {q, k, v, decay, beta, pass.state_rounding(p + "state")}, pass.plain)));
  }

  void describe(Weights& weights) const override {
    weights.tensors[place_.prefix + "key.fraction"] = integer_scalar(0);
  }

 private:
  MixerShape shape_;
  MixerPlace place_;
  bool gated_;
  std::int64_t keys_ = 0, values_ = 0;
  ParameterLayout::Index weight_ = 0, beta_bias_ = 0, gate_bias_ = 0;
  std::optional<ShortConvolution> conv_;
};

}  // namespace

std::unique_ptr<LearnedMixer> delta_mixer(const MixerShape& shape, const MixerPlace& place,
                                          ParameterLayout& layout) {
  return std::make_unique<DeltaRule>(shape, place, layout);
}

}  // namespace rung::learn
