// The mixers that keep their tokens: full, topk, sparse (docs/weights.md, "Mixers").
#include <numeric>

#include "check/mixer.h"

namespace rung_check {
namespace {

// The k largest entries' indices, ties to the smaller, increasing.
Row largest(const std::vector<Int>& values, std::int64_t k, Budget& budget) {
  budget.sorting(values.size());
  Row order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    return values[static_cast<std::size_t>(a)] > values[static_cast<std::size_t>(b)];
  });
  if (static_cast<std::int64_t>(order.size()) > k) order.resize(static_cast<std::size_t>(k));
  std::sort(order.begin(), order.end());
  return order;
}
Int dot(const std::int64_t* a, const std::int64_t* b, std::int64_t n) {
  Int total = 0;  // both below 2^48: 2^31 products stay below 2^126
  for (std::int64_t i = 0; i < n; ++i) total += static_cast<Int>(a[i]) * b[i];
  return total;
}

// The softmax of one layer: queries, keys and values of every token, and the score table.
class Attention : public Mixer {
 public:
  Attention(const Shape& shape, const Context& context, const Source& source)
      : s_(shape),
        causal_(context.architecture.causal),
        source_(source),
        channels_(source, shape.conv),
        score_(source, "score") {
    channels_.add("q", s_.heads * s_.dk, context.width);
    channels_.add("k", s_.kv * s_.dk, context.width);
    channels_.add("v", s_.kv * s_.dv, context.width);
    channels_.finish();
    score_shift_ = source.shift("score");
    scale_ = source.scalar("value.scale", 1, 1, std::int64_t{1} << 32);
    y_bits_ = source.bits("y");
    for (const auto weight : score_.entries)
      if (weight < 0) throw Malformed(text(source.prefix, "score.table has a negative entry"));
    source.bits("score");  // this and tau are for mode Q
    if (source.has("score.tau")) {
      const Tensor& tau = source.file.take(source.prefix + "score.tau");
      if (tau.dtype != "F64" || !tau.shape.empty())
        throw Malformed(text(source.prefix, "score.tau is no F64 scalar"));
    }
  }
  void reset() override {
    channels_.reset();
    queries_.clear();
    keys_.clear();
    values_.clear();
  }
  void see(const Row& u) override {
    const Row all = channels_.next(u);
    source_.budget.store(all.size());
    const auto part = [&](std::size_t m, std::int64_t count) {
      return Row(all.begin() + channels_.offset(m), all.begin() + channels_.offset(m) + count);
    };
    queries_.push_back(part(0, s_.heads * s_.dk));
    keys_.push_back(part(1, s_.kv * s_.dk));
    values_.push_back(part(2, s_.kv * s_.dv));
  }

 protected:
  std::int64_t key_head(std::int64_t head) const { return head * s_.kv / s_.heads; }
  Int score(std::int64_t head, const Row& query, const Row& key) const {
    return rsh(dot(query.data() + head * s_.dk, key.data() + key_head(head) * s_.dk, s_.dk), score_shift_);
  }
  // Attention of one head over some of the keys, rounded to y.bits.
  Row attend(std::int64_t head, const Row& query, const std::vector<Row>& keys,
             const std::vector<Row>& values, const Row& which) const {
    source_.budget.work(which.size() * static_cast<std::uint64_t>(s_.dk + s_.dv));
    std::vector<Int> sums(static_cast<std::size_t>(s_.dv), 0);
    Int total = 0;
    for (const auto j : which) {
      const std::int64_t weight = score_(score(head, query, keys[static_cast<std::size_t>(j)]));
      if (weight == 0) continue;
      total = add(total, weight);
      const std::int64_t* v = values[static_cast<std::size_t>(j)].data() + key_head(head) * s_.dv;
      for (std::size_t r = 0; r < sums.size(); ++r) sums[r] = add(sums[r], static_cast<Int>(weight) * v[r]);
    }
    Row y(sums.size());
    for (std::size_t r = 0; r < sums.size(); ++r) y[r] = sat(quot(sums[r], total, scale_), y_bits_);
    return y;
  }
  // The positions that full would see.
  Row visible(std::int64_t i) const {
    const auto count = static_cast<std::int64_t>(keys_.size());
    std::int64_t begin = 0, end = causal_ ? i + 1 : count;
    if (s_.window > 0) {
      begin = std::max<std::int64_t>(0, i - s_.window + 1);
      if (!causal_) end = std::min(count, i + s_.window);
    }
    if (s_.chunk > 0) begin = i / s_.chunk * s_.chunk;
    return from_to(begin, end);
  }
  Row all_heads(std::int64_t i, const Row& which) const {
    Row y;
    for (std::int64_t h = 0; h < s_.heads; ++h) {
      const Row more = attend(h, queries_[static_cast<std::size_t>(i)], keys_, values_, which);
      y.insert(y.end(), more.begin(), more.end());
    }
    return y;
  }

  Shape s_;
  bool causal_;
  Source source_;
  Channels channels_;
  Table score_;
  std::int64_t score_shift_ = 0, scale_ = 1, y_bits_ = 0;
  std::vector<Row> queries_, keys_, values_;  // by position
};

class Full final : public Attention, public FullView {
 public:
  using Attention::Attention;
  // With a window or a chunk: the buffer, then key head by key head the tokens that a later one can see,
  // the oldest first, key and value of each.
  void remember(Memory& out) const override {
    if (s_.window == 0 && s_.chunk == 0) return Mixer::remember(out);
    State state;
    channels_.state(state);
    const auto seen = static_cast<std::int64_t>(keys_.size());
    const std::int64_t kept = s_.chunk > 0 ? seen % s_.chunk : std::min(seen, s_.window - 1);
    for (std::int64_t h = 0; h < s_.kv; ++h)
      for (std::int64_t j = seen - kept; j < seen; ++j) {
        const auto k = keys_[at(j)].begin() + h * s_.dk, v = values_[at(j)].begin() + h * s_.dv;
        state.append(Row(k, k + s_.dk), 0);
        state.append(Row(v, v + s_.dv), 0);
      }
    out.push_back(std::move(state.numbers));
  }
  void recall(const Memory& memory, std::size_t& next) override {
    if (s_.window == 0 && s_.chunk == 0) return Mixer::recall(memory, next);
    const Row& numbers = next_row(memory, next);
    const std::int64_t *from = numbers.data(), token = s_.kv * (s_.dk + s_.dv);
    channels_.recall(from);
    from += channels_.buffered();
    const std::int64_t kept = (static_cast<std::int64_t>(numbers.size() - channels_.buffered())) / token;
    queries_.assign(at(kept), Row());
    keys_.assign(at(kept), Row());
    values_.assign(at(kept), Row());
    for (std::int64_t h = 0; h < s_.kv; ++h)
      for (std::int64_t j = 0; j < kept; ++j, from += s_.dk + s_.dv) {
        keys_[at(j)].insert(keys_[at(j)].end(), from, from + s_.dk);
        values_[at(j)].insert(values_[at(j)].end(), from + s_.dk, from + s_.dk + s_.dv);
      }
  }
  Row last() override { return answer(static_cast<std::int64_t>(keys_.size()) - 1); }
  Row answer(std::int64_t i) override { return all_heads(i, visible(i)); }
  Int partial_sum_bits(std::int64_t tokens) const override {
    const std::int64_t largest_weight = *std::max_element(score_.entries.begin(), score_.entries.end());
    const std::int64_t den =
        bit_length(static_cast<std::uint64_t>(largest_weight)) + ceil_lg(static_cast<std::uint64_t>(tokens));
    return mul(s_.heads, add(mul(s_.dv, den + channels_.bits(2) + 1), den));
  }
};

class TopK final : public Attention {
 public:
  TopK(const Shape& shape, const Context& context, const Source& source)
      : Attention(shape, context, source),
        query_map_(source, "index_q", shape.index_heads * shape.index_dim, context.width),
        key_map_(source, "index_k", shape.index_dim, context.width),
        mix_map_(source, "index_mix", shape.index_heads, context.width),
        shift_(source.shift("index")) {}
  void reset() override {
    Attention::reset();
    index_queries_.clear();
    index_keys_.clear();
    mixes_.clear();
  }
  void see(const Row& u) override {
    Attention::see(u);
    index_queries_.push_back(query_map_(u, source_.budget));
    index_keys_.push_back(key_map_(u, source_.budget));
    mixes_.push_back(mix_map_(u, source_.budget));
    source_.budget.store(index_queries_.back().size() + index_keys_.back().size() + mixes_.back().size());
  }
  Row answer(std::int64_t i) override {
    const Row seen = visible(i);
    source_.budget.work(seen.size() * static_cast<std::uint64_t>(s_.index_heads * s_.index_dim));
    const Row &query = index_queries_[static_cast<std::size_t>(i)],
              &mix = mixes_[static_cast<std::size_t>(i)];
    std::vector<Int> index;
    for (const auto j : seen) {
      Int total = 0;
      for (std::int64_t h = 0; h < s_.index_heads; ++h) {
        const Int match = rsh(dot(query.data() + h * s_.index_dim,
                                  index_keys_[static_cast<std::size_t>(j)].data(), s_.index_dim),
                              shift_);
        const std::int64_t weight = mix[static_cast<std::size_t>(h)];
        total = add(total, mul(s_.signed_weights ? weight : std::max<std::int64_t>(0, weight),
                               std::max<Int>(0, match)));
      }
      index.push_back(total);
    }
    Row which = largest(index, s_.select, source_.budget);
    for (auto& j : which) j = seen[static_cast<std::size_t>(j)];
    return all_heads(i, which);
  }

 private:
  Map query_map_, key_map_, mix_map_;
  std::int64_t shift_;
  std::vector<Row> index_queries_, index_keys_, mixes_;
};

class Sparse final : public Attention, public SparseView {
 public:
  Sparse(const Shape& shape, const Context& context, const Source& source)
      : Attention(shape, context, source) {
    std::int64_t content = s_.block * context.width;
    if (source.has("compress_hidden.weight")) {
      const Tensor& weight = source.file.take(source.prefix + "compress_hidden.weight");
      if (weight.shape.size() != 2)
        throw Malformed(text(source.prefix, "compress_hidden.weight has no two axes"));
      hidden_.emplace(source, "compress_hidden", weight.shape[0], content);
      content = hidden_->rows;
    }
    compress_key_ = Map(source, "compress_k", s_.kv * s_.dk, content);
    compress_value_ = Map(source, "compress_v", s_.kv * s_.dv, content);
    mix_ = Map(source, "mix", (s_.window > 0 ? 3 : 1) * s_.heads, context.width);
    fraction_ = source.fraction("mix.fraction", 30);
  }
  void reset() override {
    Attention::reset();
    content_.clear();
    block_keys_.clear();
    block_values_.clear();
    mixes_.clear();
  }
  void see(const Row& u) override {
    Attention::see(u);
    mixes_.push_back(mix_(u, source_.budget));
    content_.insert(content_.end(), u.begin(), u.end());
    source_.budget.store(u.size() + mixes_.back().size());
    if (static_cast<std::int64_t>(keys_.size()) % s_.block != 0) return;
    Row c = std::move(content_);
    content_.clear();
    if (hidden_) {
      c = (*hidden_)(c, source_.budget);
      for (auto& x : c) x = std::max<std::int64_t>(0, x);
    }
    block_keys_.push_back(compress_key_(c, source_.budget));
    block_values_.push_back(compress_value_(c, source_.budget));
  }
  Row answer(std::int64_t i) override {
    const std::int64_t blocks = i / s_.block, one = std::int64_t{1} << fraction_;
    const auto groups = selected(i);
    const Row& query = queries_[static_cast<std::size_t>(i)];
    Row y;
    for (std::int64_t h = 0; h < s_.heads; ++h) {
      Row tokens;
      for (const auto r : groups[static_cast<std::size_t>(group(h))])
        for (const auto j : from_to(r * s_.block, (r + 1) * s_.block)) tokens.push_back(j);
      for (const auto j : from_to(blocks * s_.block, i + 1)) tokens.push_back(j);
      const Row cmp = attend(h, query, block_keys_, block_values_, from_to(0, blocks));
      const Row sel = attend(h, query, keys_, values_, tokens);
      const auto weight = [&](std::int64_t at) {
        return std::clamp<std::int64_t>(mixes_[static_cast<std::size_t>(i)][static_cast<std::size_t>(at)], 0,
                                        one);
      };
      Row win;
      if (s_.window > 0)
        win = attend(h, query, keys_, values_, from_to(std::max<std::int64_t>(0, i - s_.window + 1), i + 1));
      for (std::size_t r = 0; r < cmp.size(); ++r) {
        Int total;
        if (s_.window > 0)
          total = static_cast<Int>(weight(3 * h)) * cmp[r] + static_cast<Int>(weight(3 * h + 1)) * sel[r] +
                  static_cast<Int>(weight(3 * h + 2)) * win[r];
        else
          total = static_cast<Int>(weight(h)) * cmp[r] + static_cast<Int>(one - weight(h)) * sel[r];
        y.push_back(sat(rsh(total, fraction_), y_bits_));
      }
    }
    return y;
  }
  const Row& compressed_key(std::int64_t block) const override {
    return block_keys_.at(static_cast<std::size_t>(block));
  }
  const Row& compressed_value(std::int64_t block) const override {
    return block_values_.at(static_cast<std::size_t>(block));
  }
  std::int64_t message_bits() const override {
    return s_.kv * (s_.dk * compress_key_.bits + s_.dv * compress_value_.bits);
  }
  std::vector<Row> selected(std::int64_t i) const override {
    const auto blocks = static_cast<std::size_t>(i / s_.block);
    source_.budget.work(blocks * static_cast<std::uint64_t>(s_.heads * s_.dk));
    std::vector<std::vector<Int>> sums(static_cast<std::size_t>(s_.groups), std::vector<Int>(blocks, 0));
    for (std::int64_t h = 0; h < s_.heads; ++h)
      for (std::size_t r = 0; r < blocks; ++r)
        sums[static_cast<std::size_t>(group(h))][r] +=
            score_.clip(score(h, queries_[static_cast<std::size_t>(i)], block_keys_[r]));
    std::vector<Row> chosen;
    for (const auto& sum : sums) chosen.push_back(largest(sum, s_.select, source_.budget));
    return chosen;
  }

 private:
  std::int64_t group(std::int64_t head) const { return head * s_.groups / s_.heads; }

  std::optional<Map> hidden_;
  Map compress_key_, compress_value_, mix_;
  std::int64_t fraction_ = 0;
  Row content_;  // of the block that is not complete yet
  std::vector<Row> block_keys_, block_values_, mixes_;
};

}  // namespace

std::unique_ptr<Mixer> make_attention(const Shape& shape, const Context& context, const Source& source) {
  if (shape.kind == "full") return std::make_unique<Full>(shape, context, source);
  if (shape.kind == "topk") return std::make_unique<TopK>(shape, context, source);
  if (shape.kind == "sparse") return std::make_unique<Sparse>(shape, context, source);
  return nullptr;
}

}  // namespace rung_check
