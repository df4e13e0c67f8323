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
        shift_(source.shift("index")) {
    if (!shape.form.index_norm) return;
    gain_ = source.numbers("index_norm.gain", {shape.index_dim});
    bias_ = source.numbers("index_norm.bias", {shape.index_dim});
    fraction_ = source.fraction("index_norm.fraction", 24);
    extra_ = source.fraction("index_norm.extra", 24);
    bits_ = source.bits("index_norm");
    epsilon_ = source.scalar("index_norm.epsilon", 0, 0, std::int64_t{1} << 46);
  }
  void reset() override {
    Attention::reset();
    index_queries_.clear();
    index_keys_.clear();
    mixes_.clear();
  }
  void see(const Row& u) override {
    Attention::see(u);
    index_queries_.push_back(query_map_(u, source_.budget));
    index_keys_.push_back(key_of(key_map_(u, source_.budget)));
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
  // Behind its layer norm, where the form has one.
  Row key_of(Row x) const {
    if (gain_.empty()) return x;
    const auto size = static_cast<std::int64_t>(x.size());
    Int sum = 0;
    for (const auto number : x) sum += number;
    for (auto& number : x) number = kept(static_cast<Int>(size) * number - sum);
    x = normalised(x, gain_, size, fraction_, extra_, bits_, epsilon_);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = sat(static_cast<Int>(x[i]) + bias_[i], bits_);
    return x;
  }

  Map query_map_, key_map_, mix_map_;
  std::int64_t shift_, fraction_ = 0, extra_ = 0, bits_ = 0, epsilon_ = 0;
  Row gain_, bias_;
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

// sparse in its released form: overlapping windows, blocks ranked by what the softmax over windows gives them.
class WindowSparse final : public Attention {
 public:
  WindowSparse(const Shape& shape, const Context& context, const Source& source)
      : Attention(shape, context, source),
        key_(source, "compress_k", shape, shape.dk),
        value_(source, "compress_v", shape, shape.dv),
        mix_(source, "mix", 3 * shape.heads, context.width),
        gates_(source, "mix"),
        fraction_(source.fraction("mix.fraction", 30)),
        chance_fraction_(source.fraction("chance.fraction", 30)) {
    if (shape.form.compress != "mean")
      key_.place = source.numbers("compress_k.place", {shape.kv, shape.form.span, shape.dk});
  }
  void reset() override {
    Attention::reset();
    window_keys_.clear();
    window_values_.clear();
    mixes_.clear();
  }
  void see(const Row& u) override {
    Attention::see(u);
    mixes_.push_back(mix_(u, source_.budget));
    source_.budget.store(mixes_.back().size());
    const std::int64_t first = static_cast<std::int64_t>(keys_.size()) - s_.form.span;
    if (first < 0 || first % s_.form.stride != 0) return;
    window_keys_.push_back(joined(key_, keys_, first));
    window_values_.push_back(joined(value_, values_, first));
    source_.budget.store(window_keys_.back().size() + window_values_.back().size());
  }
  Row answer(std::int64_t i) override {
    const Row windows = from_to(0, windows_at(i));
    Row y;
    std::vector<Row> chosen;
    for (std::int64_t g = 0; g < s_.kv; ++g) chosen.push_back(tokens(i, g, windows));
    for (std::int64_t h = 0; h < s_.heads; ++h) {
      const Row& query = queries_[at(i)];
      std::vector<Row> branches = {attend(h, query, window_keys_, window_values_, windows),
                                   attend(h, query, keys_, values_, chosen[at(key_head(h))])};
      if (s_.window > 0)
        branches.push_back(
            attend(h, query, keys_, values_, from_to(std::max<std::int64_t>(0, i - s_.window + 1), i + 1)));
      for (std::int64_t r = 0; r < s_.dv; ++r) {
        Int total = 0;
        for (std::size_t b = 0; b < branches.size(); ++b)
          total = add(total, mul(gates_(mixes_[at(i)][at(3 * h) + b]), branches[b][at(r)]));
        y.push_back(sat(rsh(total, fraction_), y_bits_));
      }
    }
    return y;
  }

 private:
  // What makes one key, or one value, of a window.
  struct Joint {
    Joint(const Source& source, const std::string& name, const Shape& s, std::int64_t d)
        : dim(d), bits(source.bits(name)) {
      if (s.form.compress != "weighted" && s.form.compress != "linear") return;
      weight = s.form.compress == "weighted" ? source.numbers(name + ".weight", {s.kv, s.form.span})
                                             : source.numbers(name + ".weight", {s.kv, s.form.span * d, d});
      shift = source.shift(name);
    }
    std::int64_t dim, bits, shift = 0;
    Row weight, place;
  };

  Row joined(const Joint& joint, const std::vector<Row>& rows, std::int64_t first) const {
    const std::int64_t span = s_.form.span, dim = joint.dim;
    const bool linear = s_.form.compress == "linear";
    source_.budget.work(static_cast<std::uint64_t>(s_.kv * span * dim) *
                        static_cast<std::uint64_t>(linear ? dim : 1));
    Row out;
    for (std::int64_t g = 0; g < s_.kv; ++g) {
      std::vector<Int> sums(at(dim), 0);
      for (std::int64_t j = 0; j < span; ++j)
        for (std::int64_t i = 0; i < dim; ++i) {
          Int x = rows[at(first + j)][at(g * dim + i)];
          if (!joint.place.empty()) x += joint.place[at((g * span + j) * dim + i)];
          for (std::int64_t e = linear ? 0 : i; e < (linear ? dim : i + 1); ++e) {
            const std::int64_t weight = joint.weight.empty() ? 1
                                        : linear ? joint.weight[at(((g * span + j) * dim + i) * dim + e)]
                                                 : joint.weight[at(g * span + j)];
            sums[at(e)] = add(sums[at(e)], mul(weight, x));
          }
        }
      for (const Int sum : sums)
        out.push_back(sat(joint.weight.empty() ? quot(sum, span, 1) : rsh(sum, joint.shift), joint.bits));
    }
    return out;
  }
  // Windows whose last token is i or before.
  std::int64_t windows_at(std::int64_t i) const {
    return i + 1 < s_.form.span ? 0 : (i + 1 - s_.form.span) / s_.form.stride + 1;
  }
  // The tokens of the blocks that key head g selects.
  Row tokens(std::int64_t i, std::int64_t g, const Row& windows) const {
    std::vector<Int> chance(windows.size(), 0);
    source_.budget.work(windows.size() * static_cast<std::uint64_t>(s_.heads * s_.dk));
    for (std::int64_t h = 0; h < s_.heads; ++h) {
      if (key_head(h) != g) continue;
      Row weights;
      Int all = 0;
      for (const auto c : windows) {
        weights.push_back(score_(score(h, queries_[at(i)], window_keys_[at(c)])));
        all += weights.back();
      }
      for (std::size_t c = 0; c < weights.size(); ++c)
        chance[c] += quot(weights[c], all, std::int64_t{1} << chance_fraction_);
    }
    const std::int64_t own = i / s_.block, per_block = s_.block / s_.form.stride,
                       reach = s_.form.span / s_.form.stride;
    source_.budget.work(static_cast<std::uint64_t>(own + 1) * static_cast<std::uint64_t>(per_block) *
                        static_cast<std::uint64_t>(reach));
    std::vector<Int> scores;
    for (std::int64_t b = 0; b <= own; ++b) {
      Int total = 0;
      for (std::int64_t a = 0; a < reach; ++a)
        for (std::int64_t j = 0; j < per_block; ++j) {
          const std::int64_t c = b * per_block + a + j - reach + 1;
          if (c >= 0 && c < static_cast<std::int64_t>(chance.size())) total = add(total, chance[at(c)]);
        }
      const bool forced = b < s_.form.first || b > own - s_.form.local;
      scores.push_back(forced ? Int{1} << 120 : total);
    }
    Row out;
    for (const auto b : largest(scores, s_.select, source_.budget))
      for (const auto t : from_to(b * s_.block, std::min((b + 1) * s_.block, i + 1))) out.push_back(t);
    return out;
  }

  Joint key_, value_;
  Map mix_;
  Table gates_;
  std::int64_t fraction_, chance_fraction_;
  std::vector<Row> window_keys_, window_values_, mixes_;
};

}  // namespace

std::unique_ptr<Mixer> make_attention(const Shape& shape, const Context& context, const Source& source) {
  if (shape.kind == "full") return std::make_unique<Full>(shape, context, source);
  if (shape.kind == "topk") return std::make_unique<TopK>(shape, context, source);
  if (shape.kind == "sparse" && !shape.form.plain())
    return std::make_unique<WindowSparse>(shape, context, source);
  if (shape.kind == "sparse") return std::make_unique<Sparse>(shape, context, source);
  return nullptr;
}

}  // namespace rung_check
