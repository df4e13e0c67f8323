// full: causal softmax attention, with a window or chunks, and over all positions in an encoder; topk: the
// same over the k positions that an index scores highest (token_selection.h). Keys and queries turn where the form has
// rotary positions.
//
// y_i = sum_j exp(tau q_i.k_j) v_j / sum_j exp(tau q_i.k_j), tau = 1/sqrt(dk) (the file's score.tau).
#include <cmath>

#include "rung/learn/causal_attention.h"
#include "rung/learn/mixers/mixers.h"
#include "rung/learn/mixers/released_parts.h"
#include "rung/learn/mixers/token_selection.h"
#include "rung/learn/mixers/visibility.h"

namespace rung::learn {
namespace {

class SoftmaxAttention : public LearnedMixer {
 public:
  SoftmaxAttention(const MixerShape& shape, const MixerPlace& place, ParameterLayout& layout)
      : shape_(shape),
        place_(place),
        tau_(place.scalar("score.tau", 1 / std::sqrt(static_cast<double>(shape.key_dim)))) {
    const std::string& p = place.prefix;
    rows_ = {shape.heads * shape.key_dim, shape.kv_heads * shape.key_dim, shape.kv_heads * shape.value_dim};
    std::vector<ParameterLayout::Part> parts{
        {p + "q.weight", rows_[0]}, {p + "k.weight", rows_[1]}, {p + "v.weight", rows_[2]}};
    if (shape.kind == MixerKind::topk) {
      parts.push_back({p + "index_q.weight", shape.index_heads * shape.index_dim});
      parts.push_back({p + "index_k.weight", shape.index_dim});
      parts.push_back({p + "index_mix.weight", shape.index_heads});
      index_bias_ = layout.add(p + "index_mix.bias", {shape.index_heads}, Start::constant(1), false);
    }
    weight_ = layout.add_stacked(parts, {place.width}, Start::normal(fan_in_deviation(place.width)), true);
    if (shape.conv > 0) conv_.emplace(p, rows_[0] + rows_[1] + rows_[2], shape.conv, layout);
  }

  torch::Tensor forward(const torch::Tensor& u, const Leaves& leaves,
                        const ForwardContext& pass) const override {
    const std::string& p = place_.prefix;
    const torch::Tensor all = apply_map(u, leaves[weight_]);
    const AttentionHeads division{shape_.heads, shape_.key_dim, tau_};
    if (is_bare() && !pass.plain && !pass.rounding && causal_attention_pays(all, division))
      return causal_attention(all, division);
    const std::int64_t length = u.size(2);
    std::vector<std::int64_t> sizes(rows_.begin(), rows_.end());
    if (shape_.kind == MixerKind::topk) sizes.push_back(all.size(-1) - rows_[0] - rows_[1] - rows_[2]);
    const std::vector<torch::Tensor> rows = convolved_rows(all, conv_, 3, sizes, leaves);
    // [E, B, H, T, d]
    const auto heads_first = [&](std::size_t which, std::int64_t heads, const char* name) {
      return spread_heads(split_heads(pass.round(p + name, rows[which]), heads), shape_.heads)
          .transpose(2, 3);
    };
    const Turn turn{shape_.form.rope, shape_.form.rope_dim, shape_.form.theta};
    const torch::Tensor q = turned(heads_first(0, shape_.heads, "q"), turn),
                        k = turned(heads_first(1, shape_.kv_heads, "k"), turn),
                        v = heads_first(2, shape_.kv_heads, "v");
    torch::Tensor y;
    if (shape_.kind == MixerKind::full && is_plainly_causal(shape_, place_.causal) && !pass.plain &&
        has_causal_attention(q)) {
      y = library_causal_attention(q, k, v, tau_);
    } else {
      // [T, T], true: not seen
      torch::Tensor hidden = hidden_positions(shape_, place_.causal, length, u.device());
      y = shape_.kind == MixerKind::topk ? attention_by_index({.q = q, .k = k, .v = v, .tau = tau_},
                                                              index_rows(rows[3], leaves), shape_, hidden)
                                         : softmax_attention(q, k, v, tau_, hidden, pass.plain);
    }
    return pass.round(p + "y", join_heads(y.transpose(2, 3)));
  }

  void describe(Weights& weights) const override {
    weights.tensors[place_.prefix + "score.tau"] = real_tensor({}, std::span(&tau_, 1), DType::f64);
  }

 private:
  // Nothing stands between the projection and attention over all earlier positions.
  bool is_bare() const {
    return shape_.kind == MixerKind::full && is_plainly_causal(shape_, place_.causal) && !conv_ &&
           shape_.form.rope == Rope::none && shape_.kv_heads == shape_.heads &&
           shape_.value_dim == shape_.key_dim;
  }
  IndexRows index_rows(const torch::Tensor& all, const Leaves& leaves) const {
    const std::int64_t hi = shape_.index_heads, di = shape_.index_dim;
    const auto parts = split_rows(all, {hi * di, di, hi});
    return {.q = split_heads(parts[0], hi).transpose(2, 3),
            .k = parts[1].unsqueeze(2),
            .mix = parts[2] + leaves[index_bias_].view({all.size(0), 1, 1, hi})};
  }

  MixerShape shape_;
  MixerPlace place_;
  double tau_;
  std::array<std::int64_t, 3> rows_{};
  ParameterLayout::Index weight_ = 0, index_bias_ = 0;
  std::optional<ShortConvolution> conv_;
};

}  // namespace

std::unique_ptr<LearnedMixer> softmax_mixer(const MixerShape& shape, const MixerPlace& place,
                                            ParameterLayout& layout) {
  return std::make_unique<SoftmaxAttention>(shape, place, layout);
}

}  // namespace rung::learn
