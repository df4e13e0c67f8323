// sparse and topk in their released forms, learned (docs/parity.md; rung/exact/mixers/block_sparse.cc and
// indexed_attention.cc have the formulas). What is chosen has no gradient; the compressed branch trains the ranking of
// blocks, and an index learns as in token_selection.h. All T x T scores are formed and masked.
#include <cmath>

#include "rung/learn/mixers/mixers.h"
#include "rung/learn/mixers/released_parts.h"
#include "rung/learn/mixers/token_selection.h"
#include "rung/learn/mixers/visibility.h"

namespace rung::learn {
namespace {

// [E, B, T, heads * d] -> [E, B, heads, T, d]
torch::Tensor heads_before_tokens(const torch::Tensor& x, std::int64_t heads) {
  return split_heads(x, heads).transpose(2, 3);
}
double score_scale(const MixerShape& shape, const MixerPlace& place) {
  return place.scalar("score.tau", 1 / std::sqrt(static_cast<double>(shape.key_dim)));
}

class BlockSparse : public LearnedMixer {
 public:
  BlockSparse(const MixerShape& shape, const MixerPlace& place, ParameterLayout& layout)
      : shape_(shape), prefix_(place.prefix), tau_(score_scale(shape, place)) {
    const std::string& p = place.prefix;
    const std::int64_t kv = shape.kv_heads, dk = shape.key_dim, dv = shape.value_dim, span = shape.form.span;
    rows_ = {shape.heads * dk, kv * dk, kv * dv, shape.heads * 3};
    weight_ = layout.add_stacked({{p + "q.weight", rows_[0]},
                                  {p + "k.weight", rows_[1]},
                                  {p + "v.weight", rows_[2]},
                                  {p + "mix.weight", rows_[3]}},
                                 {place.width}, Start::normal(fan_in_deviation(place.width)), true);
    if (shape.form.compress == Compression::weighted) {
      const Start mean = Start::constant(1 / static_cast<double>(span));
      compress_k_ = layout.add(p + "compress_k.weight", {kv, span}, mean, true);
      compress_v_ = layout.add(p + "compress_v.weight", {kv, span}, mean, true);
    }
    if (shape.form.compress == Compression::linear) {
      compress_k_ = layout.add(p + "compress_k.weight", {kv, span * dk, dk},
                               Start::normal(fan_in_deviation(span * dk)), true);
      compress_v_ = layout.add(p + "compress_v.weight", {kv, span * dv, dv},
                               Start::normal(fan_in_deviation(span * dv)), true);
    }
    if (shape.form.compress != Compression::mean)
      place_ = layout.add(p + "compress_k.place", {kv, span, dk}, Start::constant(0), false);
  }

  torch::Tensor forward(const torch::Tensor& u, const Leaves& leaves, const ForwardContext&) const override {
    const MixerForm& f = shape_.form;
    const std::int64_t length = u.size(2), block = shape_.block, shared = shape_.heads / shape_.kv_heads;
    const Turn turn{f.rope, f.rope_dim, f.theta};
    const auto rows = split_rows(apply_map(u, leaves[weight_]), rows_);
    const torch::Tensor q = turned(heads_before_tokens(rows[0], shape_.heads), turn);  // [E, B, H, T, d]
    const torch::Tensor plain_k = heads_before_tokens(rows[1], shape_.kv_heads), k = turned(plain_k, turn),
                        v = heads_before_tokens(rows[2], shape_.kv_heads);
    const auto spread = [&](const torch::Tensor& x) {  // key heads to heads
      return shared == 1 ? x : x.repeat_interleave(shared, 2);
    };
    const auto longs = torch::TensorOptions(torch::kLong).device(u.device());
    const torch::Tensor place = torch::arange(length, longs), own = place.div(block, "floor");  // [T]
    const torch::Tensor later = place.unsqueeze(0) > place.unsqueeze(1);                        // [T, T]

    const std::int64_t windows = length >= f.span ? (length - f.span) / f.stride + 1 : 0;
    const std::int64_t blocks = (length - 1) / block + 1;
    torch::Tensor compressed, score;  // [E, B, H, T, dv]; [E, B, K, T, blocks]
    if (windows > 0) {
      const torch::Tensor unseen =
          (torch::arange(windows, longs) * f.stride + (f.span - 1)).unsqueeze(0) > place.unsqueeze(1);
      const torch::Tensor keys = compressed_keys(f.compress == Compression::mean ? k : plain_k, leaves),
                          values = windowed(v, compress_v_, {}, leaves);
      const torch::Tensor weight = (torch::matmul(q, spread(keys).transpose(-1, -2)) * tau_)
                                       .masked_fill(unseen, -INFINITY)
                                       .softmax(-1)
                                       .nan_to_num(0);  // [E, B, H, T, windows]
      compressed = torch::matmul(weight, spread(values));
      const torch::Tensor grouped =
          weight.detach().unflatten(2, std::vector<std::int64_t>{shape_.kv_heads, shared}).sum(3);
      score = torch::matmul(grouped, overlap(windows, blocks, longs).to(grouped.dtype()));
    } else {
      score = torch::zeros({u.size(0), u.size(1), shape_.kv_heads, length, blocks},
                           u.options().requires_grad(false));
    }
    const torch::Tensor seen_block = seen_blocks(score, own, blocks, longs);  // [E, B, K, T, blocks]
    const torch::Tensor hidden = seen_block.index_select(-1, own).logical_not().logical_or(later);
    torch::Tensor y = softmax_attention(q, spread(k), spread(v), tau_, spread(hidden), true);
    const torch::Tensor gate =
        split_heads(rows[3].sigmoid(), shape_.heads).transpose(2, 3);  // [E, B, H, T, 3]
    y = y * gate.narrow(-1, 1, 1);
    if (compressed.defined()) y = y + compressed * gate.narrow(-1, 0, 1);
    if (shape_.window)
      y = y + softmax_attention(q, spread(k), spread(v), tau_,
                                hidden_positions(shape_, true, length, u.device()), true) *
                  gate.narrow(-1, 2, 1);
    return join_heads(y.transpose(2, 3));
  }
  void describe(Weights& weights) const override { put_scalar(weights, prefix_ + "score.tau", tau_); }

 private:
  // One entry a window: x [E, B, K, T, d] -> [E, B, K, windows, d].
  torch::Tensor windowed(const torch::Tensor& x, ParameterLayout::Index weight, const torch::Tensor& code,
                         const Leaves& leaves) const {
    torch::Tensor parts = x.unfold(3, shape_.form.span, shape_.form.stride);  // [E, B, K, windows, d, span]
    if (code.defined()) parts = parts + code.transpose(-1, -2).unsqueeze(1).unsqueeze(3);
    switch (shape_.form.compress) {
      case Compression::map:
      case Compression::mean:
      case Compression::pool:
        break;
      case Compression::weighted:
        return (parts * leaves[weight].unsqueeze(1).unsqueeze(3).unsqueeze(3)).sum(-1);
      case Compression::linear:
        return torch::matmul(parts.transpose(-1, -2).flatten(-2), leaves[weight].unsqueeze(1));
    }
    return parts.mean(-1);
  }
  torch::Tensor compressed_keys(const torch::Tensor& k, const Leaves& leaves) const {
    const MixerForm& f = shape_.form;
    if (f.compress == Compression::mean) return windowed(k, compress_k_, {}, leaves);  // of turned keys
    return turned(windowed(k, compress_k_, leaves[place_], leaves),
                  {f.rope, f.rope_dim, f.theta, 0, f.stride});
  }
  // [windows, blocks]: block b counts window c as often as c = b B/s + i + j - κ/s + 1 with i < κ/s, j < B/s.
  torch::Tensor overlap(std::int64_t windows, std::int64_t blocks, torch::TensorOptions longs) const {
    const std::int64_t per_block = shape_.block / shape_.form.stride,
                       reach = shape_.form.span / shape_.form.stride;
    const torch::Tensor sum = torch::arange(windows, longs).unsqueeze(1) -
                              torch::arange(blocks, longs).unsqueeze(0) * per_block + (reach - 1);  // i + j
    return torch::minimum(sum + 1, reach + per_block - 1 - sum).clamp(0, std::min(reach, per_block));
  }
  // The best k of the blocks up to the own one, forced ones first, ties to the smaller.
  torch::Tensor seen_blocks(const torch::Tensor& score, const torch::Tensor& own, std::int64_t blocks,
                            torch::TensorOptions longs) const {
    const torch::Tensor b = torch::arange(blocks, longs).unsqueeze(0),
                        mine = own.unsqueeze(1);  // [T, blocks]
    const torch::Tensor beyond = b > mine;
    const torch::Tensor forced =
        (b < shape_.form.first_blocks).logical_or(b > mine - shape_.form.local_blocks);
    const torch::Tensor ranked =
        std::get<1>(score.masked_fill(forced, INFINITY).masked_fill(beyond, -INFINITY).sort(true, -1, true));
    const torch::Tensor best = ranked.narrow(-1, 0, std::min(shape_.select, blocks));
    return torch::zeros_like(score, torch::kBool).scatter_(-1, best, true).logical_and_(beyond.logical_not());
  }

  MixerShape shape_;
  std::string prefix_;
  double tau_;
  std::vector<std::int64_t> rows_;
  ParameterLayout::Index weight_ = 0, compress_k_ = 0, compress_v_ = 0, place_ = 0;
};

// A norm of `size` entries with a gain, and a mean and a bias where it has them.
class LearnedNorm {
 public:
  LearnedNorm() = default;
  LearnedNorm(const MixerPlace& place, const std::string& name, std::int64_t size, bool centred,
              ParameterLayout& layout)
      : name_(place.prefix + name + ".epsilon"), epsilon_(place.scalar(name + ".epsilon", 1e-6)) {
    gain_ = layout.add(place.prefix + name + ".gain", {size}, Start::constant(1), false);
    if (centred) bias_ = layout.add(place.prefix + name + ".bias", {size}, Start::constant(0), false);
  }
  torch::Tensor forward(torch::Tensor x, const Leaves& leaves) const {
    if (bias_) x = x - x.mean(-1, true);
    x = root_mean_square(x, epsilon_) * at_every_token(leaves[gain_]);
    return bias_ ? x + at_every_token(leaves[*bias_]) : x;
  }
  void describe(Weights& weights) const { put_scalar(weights, name_, epsilon_); }

 private:
  std::string name_;
  double epsilon_ = 0;
  ParameterLayout::Index gain_ = 0;
  std::optional<ParameterLayout::Index> bias_;
};

class IndexedAttention : public LearnedMixer {
 public:
  IndexedAttention(const MixerShape& shape, const MixerPlace& place, ParameterLayout& layout)
      : shape_(shape), prefix_(place.prefix), tau_(score_scale(shape, place)) {
    const std::string& p = place.prefix;
    const MixerForm& f = shape.form;
    const auto map = [&](const char* name, std::int64_t rows, std::int64_t width) {
      return LearnedMap(p + name, rows, width, 0, std::nullopt, layout);
    };
    std::int64_t from = place.width, latent = place.width;
    if (f.kv_rank > 0) {
      nope_ = shape.key_dim - f.rope_dim;
      query_low_ = map("q_low", f.q_rank, place.width);
      query_norm_ = LearnedNorm(place, "q_norm", f.q_rank, false, layout);
      latent_ = map("kv_low", f.kv_rank + f.rope_dim, place.width);
      latent_norm_ = LearnedNorm(place, "kv_norm", f.kv_rank, false, layout);
      from = f.q_rank, latent = f.kv_rank;
    }
    query_ = map("q", shape.heads * shape.key_dim, from);
    key_ = map("k", f.kv_rank > 0 ? shape.heads * nope_ : shape.kv_heads * shape.key_dim, latent);
    value_ = map("v", (f.kv_rank > 0 ? shape.heads : shape.kv_heads) * shape.value_dim, latent);
    index_query_ = map("index_q", shape.index_heads * shape.index_dim, from);
    index_key_ = map("index_k", shape.index_dim, place.width);
    index_mix_ = map("index_mix", shape.index_heads, place.width);
    if (f.index_norm) index_norm_ = LearnedNorm(place, "index_norm", shape.index_dim, true, layout);
  }

  torch::Tensor forward(const torch::Tensor& u, const Leaves& leaves, const ForwardContext&) const override {
    const MixerForm& f = shape_.form;
    const Turn turn{f.rope, f.rope_dim, f.theta}, index_turn{f.index_rope, f.rope_dim, f.theta};
    torch::Tensor from = u, k, v;
    if (f.kv_rank > 0) {
      from = query_norm_.forward(query_low_.forward(u, leaves), leaves);
      const auto parts = split_rows(latent_.forward(u, leaves), {f.kv_rank, f.rope_dim});
      const torch::Tensor c = latent_norm_.forward(parts[0], leaves);
      const torch::Tensor shared = turned(parts[1], turn).unsqueeze(2);  // [E, B, 1, T, rope]
      const torch::Tensor own = heads_before_tokens(key_.forward(c, leaves), shape_.heads);
      k = torch::cat({own, shared.expand({own.size(0), own.size(1), own.size(2), own.size(3), f.rope_dim})},
                     -1);
      v = heads_before_tokens(value_.forward(c, leaves), shape_.heads);
    } else {
      const auto spread = [&](const torch::Tensor& x) {
        return spread_heads(split_heads(x, shape_.kv_heads), shape_.heads).transpose(2, 3);
      };
      k = turned(spread(key_.forward(u, leaves)), turn);
      v = spread(value_.forward(u, leaves));
    }
    Turn query_turn = turn;
    query_turn.begin = nope_;
    const torch::Tensor q =
        turned(heads_before_tokens(query_.forward(from, leaves), shape_.heads), query_turn);
    const torch::Tensor index_q =
        turned(heads_before_tokens(index_query_.forward(from, leaves), shape_.index_heads), index_turn);
    torch::Tensor index_k = index_key_.forward(u, leaves);  // [E, B, T, di]
    if (f.index_norm) index_k = index_norm_.forward(index_k, leaves);
    index_k = turned(index_k, index_turn).unsqueeze(2);
    const torch::Tensor y =
        attention_by_index({.q = q, .k = k, .v = v, .tau = tau_},
                           {.q = index_q, .k = index_k, .mix = index_mix_.forward(u, leaves)}, shape_,
                           hidden_positions(shape_, true, u.size(2), u.device()));
    return join_heads(y.transpose(2, 3));
  }
  void describe(Weights& weights) const override {
    put_scalar(weights, prefix_ + "score.tau", tau_);
    if (shape_.form.kv_rank > 0) {
      query_norm_.describe(weights);
      latent_norm_.describe(weights);
    }
    if (shape_.form.index_norm) index_norm_.describe(weights);
  }

 private:
  MixerShape shape_;
  std::string prefix_;
  double tau_;
  std::int64_t nope_ = 0;  // entries of a head before those that turn
  LearnedMap query_low_, query_, latent_, key_, value_, index_query_, index_key_, index_mix_;
  LearnedNorm query_norm_, latent_norm_, index_norm_;
};

}  // namespace

std::unique_ptr<LearnedMixer> released_sparse_mixer(const MixerShape& shape, const MixerPlace& place,
                                                    ParameterLayout& layout) {
  return std::make_unique<BlockSparse>(shape, place, layout);
}
std::unique_ptr<LearnedMixer> released_topk_mixer(const MixerShape& shape, const MixerPlace& place,
                                                  ParameterLayout& layout) {
  return std::make_unique<IndexedAttention>(shape, place, layout);
}

}  // namespace rung::learn
