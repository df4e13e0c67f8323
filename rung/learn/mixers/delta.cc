// delta: S_t = S_{t-1} (I - beta k k^T) + beta v k^T, y = S_t q, unit keys and queries; gdelta: S_{t-1}
// decays first. steps=k: k writes a token, the state decays before the first and is read after the last,
// which is the recurrence over k times as many tokens. range=2: beta = 2 sigmoid.
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
    keys_ = shape.kv_heads * shape.key_dim, values_ = shape.steps * shape.heads * shape.value_dim;
    betas_ = shape.steps * shape.heads;
    const std::int64_t gates = gated_ ? shape.heads : 0;
    weight_ = layout.add_stacked({{p + "q.weight", keys_},
                                  {p + "k.weight", shape.steps * keys_},
                                  {p + "v.weight", values_},
                                  {p + "beta.weight", betas_},
                                  {p + "gate.weight", gates}},
                                 {place.width}, Start::normal(fan_in_deviation(place.width)), true);
    beta_bias_ = layout.add(p + "beta.bias", {betas_}, beta_start(), false);
    if (gated_) gate_bias_ = layout.add(p + "gate.bias", {shape.heads}, gate_start(), false);
    if (shape.conv > 0) conv_.emplace(p, (1 + shape.steps) * keys_ + values_, shape.conv, layout);
  }

  torch::Tensor forward(const torch::Tensor& u, const Leaves& leaves,
                        const ForwardContext& pass) const override {
    const std::string& p = place_.prefix;
    std::vector<std::int64_t> sizes{keys_, shape_.steps * keys_, values_, betas_};
    if (gated_) sizes.push_back(shape_.heads);
    const std::vector<torch::Tensor> rows =
        mapped_rows(u, leaves[weight_], row_multiple(u), conv_, 3, sizes, leaves);
    const auto unit_heads = [&](std::size_t which, const char* name, std::int64_t heads) {
      const torch::Tensor unit = unit_rows(split_heads(pass.round(p + name, rows[which]), heads), pass.plain);
      return pass.round(p + "key", unit);
    };
    const torch::Tensor q = spread_heads(unit_heads(0, "q", shape_.kv_heads), shape_.heads);
    const torch::Tensor k = by_steps(unit_heads(1, "k", shape_.steps * shape_.kv_heads), shape_.kv_heads);
    const torch::Tensor v = by_steps(split_heads(pass.round(p + "v", rows[2]), betas_), shape_.heads);
    torch::Tensor beta = pass.round(p + "beta", rows[3] + leaves[beta_bias_].unsqueeze(1).unsqueeze(1))
                             .to(torch::kFloat32)
                             .sigmoid();
    if (shape_.range == 2) beta = 2 * beta;
    torch::Tensor decay;
    if (gated_)
      decay = log_decay(pass.round(p + "gate", rows[4] + leaves[gate_bias_].unsqueeze(1).unsqueeze(1)));
    const auto run = [&](const torch::Tensor& queries) {
      return matrix_recurrence({queries, k, v, decay, beta, pass.state_rounding(p + "state")}, pass.plain);
    };
    if (shape_.steps == 1) return pass.round(p + "y", join_heads(run(q)));
    beta = beta.unflatten(-1, {shape_.steps, shape_.heads}).flatten(2, 3);
    if (gated_) {
      std::vector<torch::Tensor> once(static_cast<std::size_t>(shape_.steps), torch::zeros_like(decay));
      once.front() = decay;
      decay = torch::stack(once, 3).flatten(2, 3);
    }
    const torch::Tensor all = run(q.repeat_interleave(shape_.steps, 2));  // [E, B, T * steps, H, dv]
    const torch::Tensor last =
        all.unflatten(2, {all.size(2) / shape_.steps, shape_.steps}).select(3, shape_.steps - 1);
    return pass.round(p + "y", join_heads(last));
  }

  void describe(Weights& weights) const override {
    weights.tensors[place_.prefix + "key.fraction"] = integer_scalar(0);
  }

 private:
  // [E, B, T, steps * heads, d] to one row a step: [E, B, T * steps, H, d].
  torch::Tensor by_steps(const torch::Tensor& x, std::int64_t heads) const {
    if (shape_.steps == 1) return spread_heads(x, shape_.heads);
    return spread_heads(x.unflatten(-2, {shape_.steps, heads}), shape_.heads).flatten(2, 3);
  }

  MixerShape shape_;
  MixerPlace place_;
  bool gated_;
  std::int64_t keys_ = 0, values_ = 0, betas_ = 0;
  ParameterLayout::Index weight_ = 0, beta_bias_ = 0, gate_bias_ = 0;
  std::optional<ShortConvolution> conv_;
};

}  // namespace

std::unique_ptr<LearnedMixer> delta_mixer(const MixerShape& shape, const MixerPlace& place,
                                          ParameterLayout& layout) {
  return std::make_unique<DeltaRule>(shape, place, layout);
}

}  // namespace rung::learn
