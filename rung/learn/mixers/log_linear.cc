// loglinear over linear, mamba2 or gdelta: the prefix is split into dyadic buckets, each with a state of its
// own, and the reading is a weighted sum (level_reading.h), share = softplus(level map).
#include <cmath>

#include "rung/learn/log_linear_attention.h"
#include "rung/learn/mixers/features.h"
#include "rung/learn/mixers/gates.h"
#include "rung/learn/mixers/level_reading.h"
#include "rung/learn/mixers/mixers.h"
#include "rung/learn/mixers/short_convolution.h"
#include "rung/learn/row_norm.h"

namespace rung::learn {
namespace {

class LogLinear : public LearnedMixer {
 public:
  LogLinear(const MixerShape& shape, const MixerPlace& place, ParameterLayout& layout)
      : shape_(shape), place_(place) {
    const std::string& p = place.prefix;
    RUNG_REQUIRE(shape.levels > 0, "log-linear attention without a context");
    keys_ = shape.kv_heads * shape.key_dim, values_ = shape.heads * shape.value_dim;
    if (shape.base == MixerKind::linear) keys_ = shape.heads * shape.key_dim;
    gated_ = shape.base != MixerKind::linear, delta_ = shape.base == MixerKind::gdelta;
    const bool mamba = shape.base == MixerKind::mamba2;
    // Stacked as q, k, v; Mamba-2 calls them c, b, x and stacks them as x, b, c.
    const std::array<std::string, 3> names =
        mamba ? std::array<std::string, 3>{"x", "b", "c"} : std::array<std::string, 3>{"q", "k", "v"};
    const std::int64_t gates = gated_ ? shape.heads : 0, betas = delta_ ? shape.heads : 0;
    weight_ = layout.add_stacked({{p + names[0] + ".weight", mamba ? values_ : keys_},
                                  {p + names[1] + ".weight", keys_},
                                  {p + names[2] + ".weight", mamba ? keys_ : values_},
                                  {p + "level.weight", shape.heads * shape.levels},
                                  {p + "gate.weight", gates},
                                  {p + "beta.weight", betas}},
                                 {place.width}, Start::normal(fan_in_deviation(place.width)), true);
    level_bias_ = layout.add(p + "level.bias", {shape.heads * shape.levels},
                             Start::constant(std::log(std::expm1(1.0))), false);  // softplus gives 1
    if (gated_) gate_bias_ = layout.add(p + "gate.bias", {shape.heads}, gate_start(), false);
    if (delta_) beta_bias_ = layout.add(p + "beta.bias", {shape.heads}, beta_start(), false);
    if (shape.conv > 0) conv_.emplace(p, 2 * keys_ + values_, shape.conv, layout);
  }

  torch::Tensor forward(const torch::Tensor& u, const Leaves& leaves,
                        const ForwardContext& pass) const override {
    const std::string& p = place_.prefix;
    const bool mamba = shape_.base == MixerKind::mamba2;
    std::vector<std::int64_t> sizes{mamba ? values_ : keys_, keys_, mamba ? keys_ : values_,
                                    shape_.heads * shape_.levels};
    if (gated_) sizes.push_back(shape_.heads);
    if (delta_) sizes.push_back(shape_.heads);
    const std::vector<torch::Tensor> rows =
        mapped_rows(u, leaves[weight_], row_multiple(u), conv_, 3, sizes, leaves);
    const auto heads_of = [&](std::size_t which, std::int64_t heads, const char* name) {
      return split_heads(pass.round(p + name, rows[which]), heads);
    };
    const std::int64_t key_heads = shape_.base == MixerKind::linear ? shape_.heads : shape_.kv_heads;
    torch::Tensor q = heads_of(mamba ? 2 : 0, key_heads, mamba ? "c" : "q"),
                  k = heads_of(1, key_heads, mamba ? "b" : "k");
    if (shape_.base == MixerKind::linear)
      q = feature_map(shape_.feature, q, true), k = feature_map(shape_.feature, k, false);
    if (delta_) q = unit_rows(q, pass.plain), k = unit_rows(k, pass.plain);
    const auto biased = [&](std::size_t which, ParameterLayout::Index bias) {
      return (rows[which] + leaves[bias].unsqueeze(1).unsqueeze(1)).to(torch::kFloat32);
    };
    const LogLinearInputs inputs{spread_heads(q, shape_.heads), spread_heads(k, shape_.heads),
                                 heads_of(mamba ? 0 : 2, shape_.heads, mamba ? "x" : "v"),
                                 split_heads(torch::softplus(biased(3, level_bias_)), shape_.heads),
                                 gated_ ? log_decay(biased(4, gate_bias_)) : torch::Tensor()};
    if (!pass.plain && !delta_ && !(gated_ && pass.rounding) && log_linear_fits(inputs))
      return pass.round(p + "y", join_heads(log_linear_attention(inputs)));
    LevelRows r{.q = inputs.q.transpose(2, 3),
                .k = inputs.k.transpose(2, 3),
                .v = inputs.v.transpose(2, 3),
                .share = inputs.share.transpose(2, 3)};
    if (gated_) r.log_decay = inputs.log_decay.transpose(2, 3);
    if (delta_) r.beta = biased(5, beta_bias_).sigmoid().transpose(2, 3) * static_cast<double>(shape_.range);
    // Linear attention's sums are exact in the integer model; the others' states are as wide as its numbers.
    const StateRounding settle = gated_ ? pass.state_rounding(p + "state") : StateRounding();
    return pass.round(p + "y",
                      join_heads(level_reading(r, settle, pass.plain).transpose(2, 3)).to(u.dtype()));
  }

  void describe(Weights& weights) const override {
    weights.tables[place_.prefix + "level"] = TableFunction{"softplus"};
    if (delta_) weights.tensors[place_.prefix + "key.fraction"] = integer_scalar(0);
  }

 private:
  MixerShape shape_;
  MixerPlace place_;
  bool gated_ = false, delta_ = false;
  std::int64_t keys_ = 0, values_ = 0;
  ParameterLayout::Index weight_ = 0, level_bias_ = 0, gate_bias_ = 0, beta_bias_ = 0;
  std::optional<ShortConvolution> conv_;
};

}  // namespace

std::unique_ptr<LearnedMixer> log_linear_mixer(const MixerShape& shape, const MixerPlace& place,
                                               ParameterLayout& layout) {
  return std::make_unique<LogLinear>(shape, place, layout);
}

}  // namespace rung::learn
