// sparse: blocks of B tokens compressed to one key and value; attention over the compressed blocks, the k
// best of which are selected (no gradient through the choice; the compressed branch trains it), attention
// over the tokens of the selected blocks and of the own block, an optional window, mixed by clipped shares.
//
// Prompts are short here: all T x T scores are formed and masked.
#include <cmath>

#include "rung/learn/mixers/mixers.h"
#include "rung/learn/mixers/visibility.h"

namespace rung::learn {
namespace {

class SparseAttention : public LearnedMixer {
 public:
  SparseAttention(const MixerShape& shape, const MixerPlace& place, ParameterLayout& layout)
      : shape_(shape),
        place_(place),
        tau_(1 / std::sqrt(static_cast<double>(shape.key_dim))),
        branches_(shape.window ? 3 : 2) {
    const std::string& p = place.prefix;
    rows_ = {shape.heads * shape.key_dim, shape.kv_heads * shape.key_dim, shape.kv_heads * shape.value_dim};
    shares_ = shape.heads * (branches_ == 3 ? 3 : 1);
    weight_ = layout.add_stacked({{p + "q.weight", rows_[0]},
                                  {p + "k.weight", rows_[1]},
                                  {p + "v.weight", rows_[2]},
                                  {p + "mix.weight", shares_}},
                                 {place.width}, Start::normal(fan_in_deviation(place.width)), true);
    mix_bias_ = layout.add(p + "mix.bias", {shares_}, Start::constant(branches_ == 3 ? 1.0 / 3 : 0.5), false);
    compress_ = layout.add_stacked({{p + "compress_k.weight", rows_[1]}, {p + "compress_v.weight", rows_[2]}},
                                   {shape.block * place.width},
                                   Start::normal(fan_in_deviation(shape.block * place.width)), true);
  }

  torch::Tensor forward(const torch::Tensor& u, const Leaves& leaves,
                        const ForwardContext& pass) const override {
    const std::string& p = place_.prefix;
    const std::int64_t members = u.size(0), prompts = u.size(1), length = u.size(2), block = shape_.block,
                       blocks = length / block;
    const std::vector<torch::Tensor> rows =
        split_rows(apply_map(u, leaves[weight_]), {rows_[0], rows_[1], rows_[2], shares_});
    const auto heads_first = [&](const torch::Tensor& x, std::int64_t heads) {
      return spread_heads(split_heads(x, heads), shape_.heads).transpose(2, 3);
    };
    const torch::Tensor q = heads_first(pass.round(p + "q", rows[0]), shape_.heads);
    const torch::Tensor k = heads_first(pass.round(p + "k", rows[1]), shape_.kv_heads);
    const torch::Tensor v = heads_first(pass.round(p + "v", rows[2]), shape_.kv_heads);
    const auto longs = torch::TensorOptions(torch::kLong).device(u.device());
    const torch::Tensor place = torch::arange(length, longs),
                        own = place.div(block, "floor");  // [T]: the block of each position

    torch::Tensor compressed, chosen;  // [E, B, H, T, dv]; [E, B, H, T, blocks] bool
    if (blocks > 0) {
      const torch::Tensor whole =
          u.narrow(2, 0, blocks * block).reshape({members, prompts, blocks, block * place_.width});
      const torch::Tensor packed = apply_map(whole, leaves[compress_]);
      const torch::Tensor block_k =
          heads_first(pass.round(p + "compress_k", packed.narrow(-1, 0, rows_[1])), shape_.kv_heads);
      const torch::Tensor block_v =
          heads_first(pass.round(p + "compress_v", packed.narrow(-1, rows_[1], rows_[2])), shape_.kv_heads);
      const torch::Tensor unseen =
          torch::arange(blocks, longs).unsqueeze(0) >= own.unsqueeze(1);  // [T, blocks]
      const torch::Tensor scores = torch::matmul(q, block_k.transpose(-1, -2)) * tau_;
      compressed = torch::matmul(scores.masked_fill(unseen, -INFINITY).softmax(-1).nan_to_num(0), block_v);
      const torch::Tensor grouped =
          scores.detach()
              .unflatten(2, std::vector<std::int64_t>{shape_.groups, shape_.heads / shape_.groups})
              .sum(3);  // [E, B, G, T, blocks]
      const torch::Tensor ranked = std::get<1>(grouped.masked_fill(unseen, -INFINITY).sort(true, -1, true));
      const torch::Tensor best = ranked.narrow(-1, 0, std::min(shape_.select, blocks));
      chosen = torch::zeros_like(grouped, torch::kBool)
                   .scatter_(-1, best, true)
                   .logical_and_(unseen.logical_not());
      chosen = chosen.repeat_interleave(shape_.heads / shape_.groups, 2);
    }
    torch::Tensor seen =
        (own.unsqueeze(0) == own.unsqueeze(1))
            .logical_and(place.unsqueeze(0) <= place.unsqueeze(1));  // [T, T]: the own block up to i
    if (blocks > 0) {
      const torch::Tensor complete = place.narrow(0, 0, blocks * block).div(block, "floor");
      const torch::Tensor picked =
          torch::constant_pad_nd(chosen.index_select(-1, complete), {0, length - blocks * block}, false);
      seen = seen.logical_or(picked);
    }
    const torch::Tensor selected = softmax_attention(q, k, v, tau_, seen.logical_not(), true);
    const torch::Tensor share =
        (rows[3] + leaves[mix_bias_].unsqueeze(1).unsqueeze(1)).clamp(0, 1);  // [E, B, T, H or 3H]
    if (!compressed.defined()) compressed = torch::zeros_like(selected);
    torch::Tensor y;
    if (branches_ == 2) {
      const torch::Tensor first = share.transpose(2, 3).unsqueeze(-1);  // [E, B, H, T, 1]
      y = first * compressed + (1 - first) * selected;
    } else {
      const torch::Tensor each = split_heads(share, shape_.heads).transpose(2, 3);  // [E, B, H, T, 3]
      const torch::Tensor near =
          softmax_attention(q, k, v, tau_, hidden_positions(shape_, true, length, u.device()), true);
      y = each.narrow(-1, 0, 1) * compressed + each.narrow(-1, 1, 1) * selected +
          each.narrow(-1, 2, 1) * near;
    }
    return pass.round(p + "y", join_heads(y.transpose(2, 3)));
  }

  void describe(Weights& weights) const override {
    weights.tensors[place_.prefix + "score.tau"] = real_tensor({}, std::span(&tau_, 1), DType::f64);
  }

 private:
  MixerShape shape_;
  MixerPlace place_;
  double tau_;
  int branches_;
  std::int64_t shares_ = 0;
  std::array<std::int64_t, 3> rows_{};
  ParameterLayout::Index weight_ = 0, mix_bias_ = 0, compress_ = 0;
};

}  // namespace

std::unique_ptr<LearnedMixer> sparse_mixer(const MixerShape& shape, const MixerPlace& place,
                                           ParameterLayout& layout) {
  return std::make_unique<SparseAttention>(shape, place, layout);
}

}  // namespace rung::learn
