// The mixers that keep their tokens: full, topk, sparse (docs/weights.md, "Mixers").
#include "check/mixer.h"

namespace rung_check {
namespace {

template <class N>
Sum<N> dot(const Number<N>* a, const Number<N>* b, std::int64_t n) {
  Sum<N> total = 0;  // integers are below 2^48: 2^31 products stay below 2^126
  for (std::int64_t i = 0; i < n; ++i) total += product(a[i], b[i]);
  return total;
}

// From scores to weights.
template <class N>
class Softmax;
template <>
class Softmax<Integers> {
 public:
  explicit Softmax(const Part<Integers>& part) : table_(part, "score") {
    for (const auto weight : table_.entries)
      if (weight < 0) throw Malformed(text(part.prefix, "score.table has a negative entry"));
    if (!part.has("score.tau")) return;  // for mode Q
    const Tensor& tau = part.file.take(part.prefix + "score.tau");
    if (tau.dtype != "F64" || !tau.shape.empty())
      throw Malformed(text(part.prefix, "score.tau is no F64 scalar"));
  }
  Row weights(const std::vector<Int>& scores) const {
    Row all;
    for (const auto score : scores) all.push_back(table_(score));
    return all;
  }
  // By which blocks are selected.
  Int rank(Int score) const { return table_.clip(score); }
  // What each of the scores has of the whole, times 2^fraction.
  std::vector<Int> shares(const std::vector<Int>& scores, std::int64_t fraction,
                          const Part<Integers>&) const {
    Int all = 0;
    std::vector<Int> parts;
    for (const auto weight : weights(scores)) {
      all += weight;
      parts.push_back(weight);
    }
    for (auto& part : parts) part = quot(part, all, std::int64_t{1} << fraction);
    return parts;
  }
  std::int64_t weight_bits() const {
    return bit_length(
        static_cast<std::uint64_t>(*std::max_element(table_.entries.begin(), table_.entries.end())));
  }

 private:
  Table table_;
};
template <>
class Softmax<Intervals> {
 public:
  explicit Softmax(const Part<Intervals>& part)
      : tau_(part.has("score.tau") ? part.numbers("score.tau", {}).front() : 1) {}
  // The largest is brought near 1, which changes no average.
  Reals weights(const Reals& scores) const {
    Reals all;
    double top = -kInfinity;
    for (const auto& score : scores) {
      all.push_back(Real(tau_) * score);
      top = std::max(top, all.back().high);
    }
    for (auto& weight : all)
      weight = std::isfinite(top) ? exponential(weight - Real(top)) : Real(-kInfinity, kInfinity);
    return all;
  }
  Real rank(const Real& score) const { return score; }
  Reals shares(const Reals& scores, std::int64_t, const Part<Intervals>& part) const {
    part.work(scores.size() * scores.size());
    Reals parts;
    for (std::size_t c = 0; c < scores.size(); ++c) {
      Real over = 1;  // 1 / share: the sum of e^(s_j - s_c)
      for (std::size_t j = 0; j < scores.size(); ++j)
        if (j != c) over += exponential(Real(tau_) * scores[j] - Real(tau_) * scores[c]);
      parts.push_back(Real(1) / over);
    }
    return parts;
  }

 private:
  double tau_;
};

// The softmax of one layer over queries, keys and values of every token.
template <class N>
class Attention : public Mixer<N> {
 public:
  Attention(const Shape& shape, const Part<N>& part)
      : s_(shape), part_(part), channels_(part, shape.conv), softmax_(part) {
    channels_.add("q", s_.heads * s_.dk);
    channels_.add("k", s_.kv * s_.dk);
    channels_.add("v", s_.kv * s_.dv);
    channels_.finish();
    score_shift_ = part.shift("score");
    scale_ = part.scalar("value.scale", 1, 1, std::int64_t{1} << 32);
    y_bits_ = part.bits("y");
    part.bits("score");  // for mode Q
  }
  void reset() override {
    channels_.reset();
    queries_.clear();
    keys_.clear();
    values_.clear();
  }
  void see(const Numbers<N>& u) override {
    const Numbers<N> all = channels_.next(u);
    part_.store(all.size());
    const auto part = [&](std::size_t m, std::int64_t count) {
      return Numbers<N>(all.begin() + channels_.offset(m), all.begin() + channels_.offset(m) + count);
    };
    queries_.push_back(part(0, s_.heads * s_.dk));
    keys_.push_back(part(1, s_.kv * s_.dk));
    values_.push_back(part(2, s_.kv * s_.dv));
  }

 protected:
  std::int64_t key_head(std::int64_t head) const { return head * s_.kv / s_.heads; }
  Sum<N> score(std::int64_t head, const Numbers<N>& query, const Numbers<N>& key) const {
    return rsh(dot<N>(query.data() + head * s_.dk, key.data() + key_head(head) * s_.dk, s_.dk), score_shift_);
  }
  // Attention of one head over some of the keys, rounded to y.bits.
  Numbers<N> attend(std::int64_t head, const Numbers<N>& query, const std::vector<Numbers<N>>& keys,
                    const std::vector<Numbers<N>>& values, const Row& which) const {
    part_.work(which.size() * (at(s_.dk + s_.dv) + N::kPerFunction));
    Sums<N> scores, sums(at(s_.dv), 0);
    for (const auto j : which) scores.push_back(score(head, query, keys[at(j)]));
    const Numbers<N> weights = softmax_.weights(scores);
    Sum<N> total = 0;
    for (std::size_t j = 0; j < which.size(); ++j) {
      if constexpr (N::kRounded)
        if (weights[j] == 0) continue;
      total = add(total, weights[j]);
      const Number<N>* v = values[at(which[j])].data() + key_head(head) * s_.dv;
      for (std::size_t r = 0; r < sums.size(); ++r) sums[r] = add(sums[r], product(weights[j], v[r]));
    }
    Numbers<N> y;
    for (const auto& sum : sums) y.push_back(sat(quot(sum, total, scale_), y_bits_));
    return y;
  }
  // The positions that full would see.
  Row visible(std::int64_t i) const {
    const bool causal = part_.header.architecture.causal;
    const auto count = static_cast<std::int64_t>(keys_.size());
    std::int64_t begin = 0, end = causal ? i + 1 : count;
    if (s_.window > 0) {
      begin = std::max<std::int64_t>(0, i - s_.window + 1);
      if (!causal) end = std::min(count, i + s_.window);
    }
    if (s_.chunk > 0) begin = i / s_.chunk * s_.chunk;
    return from_to(begin, end);
  }
  // The last `window` positions up to i.
  Row in_window(std::int64_t i) const { return from_to(std::max<std::int64_t>(0, i - s_.window + 1), i + 1); }
  Numbers<N> all_heads(std::int64_t i, const Row& which) const {
    Numbers<N> y;
    for (std::int64_t h = 0; h < s_.heads; ++h) {
      const Numbers<N> more = attend(h, queries_[at(i)], keys_, values_, which);
      y.insert(y.end(), more.begin(), more.end());
    }
    return y;
  }

  Shape s_;
  Part<N> part_;
  Channels<N> channels_;
  Softmax<N> softmax_;
  std::int64_t score_shift_ = 0, scale_ = 1, y_bits_ = 0;
  std::vector<Numbers<N>> queries_, keys_, values_;  // by position
};

template <class N>
class Full : public Attention<N> {
 protected:
  using Attention<N>::s_, Attention<N>::channels_, Attention<N>::keys_, Attention<N>::values_;

 public:
  using Attention<N>::Attention;
  // With a window or a chunk: the buffer, then key head by key head the tokens that a later one can see,
  // the oldest first, key and value of each.
  void remember(MemoryOf<N>& out) const override {
    if (s_.window == 0 && s_.chunk == 0) return Mixer<N>::remember(out);
    StateOf<N> state;
    channels_.state(state);
    const auto seen = static_cast<std::int64_t>(keys_.size());
    const std::int64_t kept = s_.chunk > 0 ? seen % s_.chunk : std::min(seen, s_.window - 1);
    for (std::int64_t h = 0; h < s_.kv; ++h)
      for (std::int64_t j = seen - kept; j < seen; ++j) {
        const auto k = keys_[at(j)].begin() + h * s_.dk, v = values_[at(j)].begin() + h * s_.dv;
        state.append(Numbers<N>(k, k + s_.dk), 0);
        state.append(Numbers<N>(v, v + s_.dv), 0);
      }
    out.push_back(std::move(state.numbers));
  }
  void recall(const MemoryOf<N>& memory, std::size_t& next) override {
    if (s_.window == 0 && s_.chunk == 0) return Mixer<N>::recall(memory, next);
    const Numbers<N>& numbers = next_row(memory, next);
    const Number<N>* from = numbers.data();
    const std::int64_t token = s_.kv * (s_.dk + s_.dv);
    channels_.recall(from);
    from += channels_.buffered();
    const std::int64_t kept = (static_cast<std::int64_t>(numbers.size() - channels_.buffered())) / token;
    this->queries_.assign(at(kept), {});
    keys_.assign(at(kept), {});
    values_.assign(at(kept), {});
    for (std::int64_t h = 0; h < s_.kv; ++h)
      for (std::int64_t j = 0; j < kept; ++j, from += s_.dk + s_.dv) {
        keys_[at(j)].insert(keys_[at(j)].end(), from, from + s_.dk);
        values_[at(j)].insert(values_[at(j)].end(), from + s_.dk, from + s_.dk + s_.dv);
      }
  }
  Numbers<N> last() override { return answer(static_cast<std::int64_t>(keys_.size()) - 1); }
  Numbers<N> answer(std::int64_t i) override { return this->all_heads(i, this->visible(i)); }
};

// With what the counting of a certificate asks of an integer file.
class CountedFull final : public Full<Integers>, public FullView {
 public:
  using Full<Integers>::Full;
  Int partial_sum_bits(std::int64_t tokens) const override {
    const std::int64_t den = softmax_.weight_bits() + ceil_lg(static_cast<std::uint64_t>(tokens));
    return mul(s_.heads, add(mul(s_.dv, den + channels_.bits(2) + 1), den));
  }
};

template <class N>
class TopK final : public Attention<N> {
  using Attention<N>::s_, Attention<N>::part_;

 public:
  TopK(const Shape& shape, const Part<N>& part)
      : Attention<N>(shape, part),
        query_map_(part, "index_q", shape.index_heads * shape.index_dim, part.width()),
        key_map_(part, "index_k", shape.index_dim, part.width()),
        mix_map_(part, "index_mix", shape.index_heads, part.width()),
        shift_(part.shift("index")) {
    if (!shape.form.index_norm) return;
    gain_ = part.numbers("index_norm.gain", {shape.index_dim});
    bias_ = part.numbers("index_norm.bias", {shape.index_dim});
    length_ = read_length(part, "index_norm");
  }
  void reset() override {
    Attention<N>::reset();
    index_queries_.clear();
    index_keys_.clear();
    mixes_.clear();
  }
  void see(const Numbers<N>& u) override {
    Attention<N>::see(u);
    index_queries_.push_back(query_map_(u, part_.budget));
    const Numbers<N> key = key_map_(u, part_.budget);
    index_keys_.push_back(gain_.empty() ? key : normed<N>(key, length_, gain_, bias_));
    mixes_.push_back(mix_map_(u, part_.budget));
    part_.store(index_queries_.back().size() + index_keys_.back().size() + mixes_.back().size());
  }
  Numbers<N> answer(std::int64_t i) override {
    const Row seen = this->visible(i);
    part_.work(seen.size() * at(s_.index_heads) * (at(s_.index_dim) + N::kPerProduct));
    const Numbers<N>&query = index_queries_[at(i)], &mix = mixes_[at(i)];
    Sums<N> index;
    for (const auto j : seen) {
      Sum<N> total = 0;
      for (std::int64_t h = 0; h < s_.index_heads; ++h) {
        const Sum<N> match =
            rsh(dot<N>(query.data() + h * s_.index_dim, index_keys_[at(j)].data(), s_.index_dim), shift_);
        const Sum<N> weight = mix[at(h)];
        total = add(total, mul(s_.signed_weights ? weight : positive_part(weight), positive_part(match)));
      }
      index.push_back(total);
    }
    Row which = largest(index, s_.select, part_.budget);
    for (auto& j : which) j = seen[at(j)];
    return this->all_heads(i, which);
  }

 private:
  Map<N> query_map_, key_map_, mix_map_;
  std::int64_t shift_;
  Length<N> length_;
  Weights<N> gain_, bias_;  // of the index keys' layer norm; empty: none
  std::vector<Numbers<N>> index_queries_, index_keys_, mixes_;
};

template <class N>
class Sparse : public Attention<N> {
  using Attention<N>::part_, Attention<N>::queries_, Attention<N>::keys_, Attention<N>::values_;

 public:
  Sparse(const Shape& shape, const Part<N>& part) : Attention<N>(shape, part) {
    std::int64_t content = s_.block * part.width();
    if (part.has("compress_hidden.weight")) {
      const Tensor& weight = part.file.take(part.prefix + "compress_hidden.weight");
      if (weight.shape.size() != 2)
        throw Malformed(text(part.prefix, "compress_hidden.weight has no two axes"));
      hidden_.emplace(part, "compress_hidden", weight.shape[0], content);
      content = hidden_->rows;
    }
    compress_key_ = Map<N>(part, "compress_k", s_.kv * s_.dk, content);
    compress_value_ = Map<N>(part, "compress_v", s_.kv * s_.dv, content);
    mix_ = Map<N>(part, "mix", (s_.window > 0 ? 3 : 1) * s_.heads, part.width());
    fraction_ = part.fraction("mix.fraction", 30);
  }
  void reset() override {
    Attention<N>::reset();
    content_.clear();
    block_keys_.clear();
    block_values_.clear();
    mixes_.clear();
  }
  void see(const Numbers<N>& u) override {
    Attention<N>::see(u);
    mixes_.push_back(mix_(u, part_.budget));
    content_.insert(content_.end(), u.begin(), u.end());
    part_.store(u.size() + mixes_.back().size());
    if (static_cast<std::int64_t>(keys_.size()) % s_.block != 0) return;
    Numbers<N> c = std::move(content_);
    content_.clear();
    if (hidden_) {
      c = (*hidden_)(c, part_.budget);
      for (auto& x : c) x = positive_part(x);
    }
    block_keys_.push_back(compress_key_(c, part_.budget));
    block_values_.push_back(compress_value_(c, part_.budget));
  }
  Numbers<N> answer(std::int64_t i) override {
    const std::int64_t blocks = i / s_.block;
    const auto groups = selected_blocks(i);
    const Numbers<N>& query = queries_[at(i)];
    Numbers<N> y;
    for (std::int64_t h = 0; h < s_.heads; ++h) {
      Row tokens;
      for (const auto r : groups[at(group(h))])
        for (const auto j : from_to(r * s_.block, (r + 1) * s_.block)) tokens.push_back(j);
      for (const auto j : from_to(blocks * s_.block, i + 1)) tokens.push_back(j);
      const Numbers<N> cmp = this->attend(h, query, block_keys_, block_values_, from_to(0, blocks));
      const Numbers<N> sel = this->attend(h, query, keys_, values_, tokens);
      const auto weight = [&](std::int64_t which) { return share(mixes_[at(i)][at(which)], fraction_); };
      Numbers<N> win;
      if (s_.window > 0) win = this->attend(h, query, keys_, values_, this->in_window(i));
      for (std::size_t r = 0; r < cmp.size(); ++r) {
        Sum<N> total;
        if (s_.window > 0)
          total = add(add(product(weight(3 * h), cmp[r]), product(weight(3 * h + 1), sel[r])),
                      product(weight(3 * h + 2), win[r]));
        else
          total = add(product(weight(h), cmp[r]), product(N::power(fraction_) - weight(h), sel[r]));
        y.push_back(sat(rsh(total, fraction_), this->y_bits_));
      }
    }
    return y;
  }

 protected:
  // Per group, increasing.
  std::vector<Row> selected_blocks(std::int64_t i) const {
    const std::size_t blocks = at(i / s_.block);
    part_.work(blocks * at(s_.heads * s_.dk));
    std::vector<Sums<N>> sums(at(s_.groups), Sums<N>(blocks, 0));
    for (std::int64_t h = 0; h < s_.heads; ++h)
      for (std::size_t r = 0; r < blocks; ++r)
        sums[at(group(h))][r] += this->softmax_.rank(this->score(h, queries_[at(i)], block_keys_[r]));
    std::vector<Row> chosen;
    for (const auto& sum : sums) chosen.push_back(largest(sum, s_.select, part_.budget));
    return chosen;
  }

  using Attention<N>::s_;
  std::optional<Map<N>> hidden_;
  Map<N> compress_key_, compress_value_, mix_;
  std::vector<Numbers<N>> block_keys_, block_values_;

 private:
  std::int64_t group(std::int64_t head) const { return head * s_.groups / s_.heads; }

  std::int64_t fraction_ = 0;
  Numbers<N> content_;  // of the block that is not complete yet
  std::vector<Numbers<N>> mixes_;
};

class CountedSparse final : public Sparse<Integers>, public SparseView {
 public:
  using Sparse<Integers>::Sparse;
  const Row& compressed_key(std::int64_t block) const override { return block_keys_.at(at(block)); }
  const Row& compressed_value(std::int64_t block) const override { return block_values_.at(at(block)); }
  std::int64_t message_bits() const override {
    return s_.kv * (s_.dk * compress_key_.bits + s_.dv * compress_value_.bits);
  }
  std::vector<Row> selected(std::int64_t i) const override { return selected_blocks(i); }
};

// sparse in its released form: overlapping windows, blocks ranked by what the softmax over windows gives them.
template <class N>
class WindowSparse final : public Attention<N> {
  using Attention<N>::s_, Attention<N>::part_, Attention<N>::queries_, Attention<N>::keys_,
      Attention<N>::values_;

 public:
  WindowSparse(const Shape& shape, const Part<N>& part)
      : Attention<N>(shape, part),
        key_(part, "compress_k", shape, shape.dk),
        value_(part, "compress_v", shape, shape.dv),
        mix_(part, "mix", 3 * shape.heads, part.width()),
        gates_(part.function("mix", "sigmoid")),
        fraction_(part.fraction("mix.fraction", 30)),
        chance_fraction_(N::kRounded ? part.fraction("chance.fraction", 30) : 0) {
    if (shape.form.compress != "mean")
      key_.place = part.numbers("compress_k.place", {shape.kv, shape.form.span, shape.dk});
  }
  void reset() override {
    Attention<N>::reset();
    window_keys_.clear();
    window_values_.clear();
    mixes_.clear();
  }
  void see(const Numbers<N>& u) override {
    Attention<N>::see(u);
    mixes_.push_back(mix_(u, part_.budget));
    part_.store(mixes_.back().size());
    const std::int64_t first = static_cast<std::int64_t>(keys_.size()) - s_.form.span;
    if (first < 0 || first % s_.form.stride != 0) return;
    window_keys_.push_back(joined(key_, keys_, first));
    window_values_.push_back(joined(value_, values_, first));
    part_.store(window_keys_.back().size() + window_values_.back().size());
  }
  Numbers<N> answer(std::int64_t i) override {
    const Row windows = from_to(0, windows_at(i));
    Numbers<N> y;
    std::vector<Row> chosen;
    for (std::int64_t g = 0; g < s_.kv; ++g) chosen.push_back(tokens(i, g, windows));
    for (std::int64_t h = 0; h < s_.heads; ++h) {
      const Numbers<N>& query = queries_[at(i)];
      std::vector<Numbers<N>> branches = {
          this->attend(h, query, window_keys_, window_values_, windows),
          this->attend(h, query, keys_, values_, chosen[at(this->key_head(h))])};
      if (s_.window > 0) branches.push_back(this->attend(h, query, keys_, values_, this->in_window(i)));
      for (std::int64_t r = 0; r < s_.dv; ++r) {
        Sum<N> total = 0;
        for (std::size_t b = 0; b < branches.size(); ++b)
          total = add(total, mul(gates_(mixes_[at(i)][at(3 * h) + b]), branches[b][at(r)]));
        y.push_back(sat(rsh(total, fraction_), this->y_bits_));
      }
    }
    return y;
  }

 private:
  // What makes one key, or one value, of a window.
  struct Joint {
    Joint(const Part<N>& part, const std::string& name, const Shape& s, std::int64_t d)
        : dim(d), bits(part.bits(name)) {
      if (s.form.compress != "weighted" && s.form.compress != "linear") return;
      weight = part.numbers(name + ".weight", s.form.compress == "weighted" ? Row{s.kv, s.form.span}
                                                                            : Row{s.kv, s.form.span * d, d});
      shift = part.shift(name);
    }
    std::int64_t dim, bits, shift = 0;
    Weights<N> weight, place;
  };

  Numbers<N> joined(const Joint& joint, const std::vector<Numbers<N>>& rows, std::int64_t first) const {
    const std::int64_t span = s_.form.span, dim = joint.dim;
    const bool linear = s_.form.compress == "linear";
    part_.work(at(s_.kv * span * dim) * at(linear ? dim : 1));
    Numbers<N> out;
    for (std::int64_t g = 0; g < s_.kv; ++g) {
      Sums<N> sums(at(dim), 0);
      for (std::int64_t j = 0; j < span; ++j)
        for (std::int64_t i = 0; i < dim; ++i) {
          Sum<N> x = rows[at(first + j)][at(g * dim + i)];
          if (!joint.place.empty()) x += joint.place[at((g * span + j) * dim + i)];
          for (std::int64_t e = linear ? 0 : i; e < (linear ? dim : i + 1); ++e) {
            const Sum<N> weight = joint.weight.empty() ? 1
                                  : linear ? joint.weight[at(((g * span + j) * dim + i) * dim + e)]
                                           : joint.weight[at(g * span + j)];
            sums[at(e)] = add(sums[at(e)], mul(weight, x));
          }
        }
      for (const auto& sum : sums)
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
    Sums<N> chance(windows.size(), 0);
    part_.work(windows.size() * at(s_.heads * s_.dk));
    for (std::int64_t h = 0; h < s_.heads; ++h) {
      if (this->key_head(h) != g) continue;
      Sums<N> scores;
      for (const auto c : windows) scores.push_back(this->score(h, queries_[at(i)], window_keys_[at(c)]));
      const Sums<N> shares = this->softmax_.shares(scores, chance_fraction_, part_);
      for (std::size_t c = 0; c < shares.size(); ++c) chance[c] += shares[c];
    }
    const std::int64_t own = i / s_.block, per_block = s_.block / s_.form.stride,
                       reach = s_.form.span / s_.form.stride;
    part_.work(at(own + 1) * at(per_block) * at(reach));
    Row blocks, others;  // those that are read whatever their score, and the rest
    Sums<N> scores;
    for (std::int64_t b = 0; b <= own; ++b) {
      if (b < s_.form.first || b > own - s_.form.local) {
        blocks.push_back(b);
        continue;
      }
      others.push_back(b);
      Sum<N> total = 0;
      for (std::int64_t a = 0; a < reach; ++a)
        for (std::int64_t j = 0; j < per_block; ++j) {
          const std::int64_t c = b * per_block + a + j - reach + 1;
          if (c >= 0 && c < static_cast<std::int64_t>(chance.size())) total = add(total, chance[at(c)]);
        }
      scores.push_back(total);
    }
    if (static_cast<std::int64_t>(blocks.size()) > s_.select) blocks.resize(at(s_.select));
    if (const std::int64_t left = s_.select - static_cast<std::int64_t>(blocks.size()); left > 0)
      for (const auto o : largest(scores, left, part_.budget)) blocks.push_back(others[at(o)]);
    Row out;
    for (const auto b : blocks)
      for (const auto t : from_to(b * s_.block, std::min((b + 1) * s_.block, i + 1))) out.push_back(t);
    return out;
  }

  Joint key_, value_;
  Map<N> mix_;
  typename N::Function gates_;
  std::int64_t fraction_, chance_fraction_;
  std::vector<Numbers<N>> window_keys_, window_values_, mixes_;
};

}  // namespace

template <class N>
std::unique_ptr<Mixer<N>> make_attention(const Shape& shape, const Part<N>& part) {
  if (shape.kind == "topk") return std::make_unique<TopK<N>>(shape, part);
  if (shape.kind == "sparse" && !shape.form.plain()) return std::make_unique<WindowSparse<N>>(shape, part);
  if constexpr (N::kRounded) {
    if (shape.kind == "full") return std::make_unique<CountedFull>(shape, part);
    if (shape.kind == "sparse") return std::make_unique<CountedSparse>(shape, part);
  } else {
    if (shape.kind == "full") return std::make_unique<Full<N>>(shape, part);
    if (shape.kind == "sparse") return std::make_unique<Sparse<N>>(shape, part);
  }
  return nullptr;
}

template std::unique_ptr<Mixer<Integers>> make_attention(const Shape&, const Part<Integers>&);
template std::unique_ptr<Mixer<Intervals>> make_attention(const Shape&, const Part<Intervals>&);

}  // namespace rung_check
