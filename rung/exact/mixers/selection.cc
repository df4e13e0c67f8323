// Attention over selected tokens.
//
// topk: index score I(t, j) = Σ_h relu(m_t[h]) relu(rsh(iq_t[h]·ik_j, index.shift)) over index heads h, with m_t[h]
// itself where weights=signed, ik_j layer-normed where index_norm=yes; the k largest
//   among j <= t (all j in an encoder) win, ties to the smaller position; then softmax attention over the winners.
// sparse: blocks of B tokens. A block is compressed to one key and one value per key/value head by a map of
// its B input
//   rows (compress_k, compress_v; with compress_hidden, of the ReLU of that map). A query at i sees the compressed
//   blocks r < i / B: y_cmp = softmax attention over them; the k blocks with the largest score, summed over the heads of
//   a group, ties to the smaller block, are selected (k blocks or all, if there are fewer); y_sel = softmax attention
//   over the tokens of the selected blocks and of the own block up to i. With a window branch y_win attends to the last
//   w tokens. The mix channel gives λ, clipped to [0, 2^f], f = mix.fraction:
//   two branches   y = rsh(λ y_cmp + (2^f - λ) y_sel, f)
//   three branches y = rsh(λ0 y_cmp + λ1 y_sel + λ2 y_win, f)
#include <algorithm>
#include <numeric>

#include "rung/exact/attention.h"
#include "rung/exact/projection.h"
#include "rung/exact/split_mixer.h"

namespace rung {
namespace {

// Keys, values and queries of a layer that keeps everything.
template <class A>
class SelectingAttention : public RecurrentMixer<A>, public SplitSelection<typename A::Value> {
 public:
  using Value = typename A::Value;
  using Wide = typename A::Wide;
  using Store = KeyValues<A>;

  explicit SelectingAttention(const MixerContext<A>& context)
      : shape_(context.shape),
        arithmetic_(context.arithmetic),
        rule_(SoftmaxRule<A>::read(context)),
        input_bits_(context.input_bits) {
    auto& source = context.source;
    query_ = source.template map<A>("q", shape_.heads * shape_.key_dim, context.width);
    key_ = source.template map<A>("k", shape_.kv_heads * shape_.key_dim, context.width);
    value_ = source.template map<A>("v", shape_.kv_heads * shape_.value_dim, context.width);
    widths_ = HeadWidths{query_.width().bits, key_.width().bits, value_.width().bits, context.positions};
    rule_.check(context, widths_);
  }
  std::int64_t output_width() const override { return shape_.heads * shape_.value_dim; }
  int sum_bits() const override {
    return std::max({query_.sum_bits(input_bits_), key_.sum_bits(input_bits_), value_.sum_bits(input_bits_)});
  }

  const SplitSelection<Value>* selection() const override { return this; }
  std::vector<int> token_widths() const override {
    return entry_widths(shape_, shape_.kv_heads, key_.width().bits, value_.width().bits);
  }

 protected:
  std::int64_t entry_size() const { return shape_.kv_heads * (shape_.key_dim + shape_.value_dim); }
  std::vector<Value> entry(const std::vector<Store>& stores, std::int64_t t) const {
    RUNG_REQUIRE(t >= 0 && t < stores[0].size(), "entry {} of {}", t, stores[0].size());
    std::vector<Value> numbers(static_cast<std::size_t>(entry_size()));
    Value* at = numbers.data();
    for (const auto& store : stores) {
      store.get(t, at, at + shape_.key_dim);
      at += shape_.key_dim + shape_.value_dim;
    }
    return numbers;
  }
  void put_entry(std::vector<Store>& stores, std::int64_t t, std::span<const Value> numbers) const {
    RUNG_REQUIRE(t >= 0 && t < stores[0].size() && static_cast<std::int64_t>(numbers.size()) == entry_size(),
                 "entry {} of {}, {} numbers of {}", t, stores[0].size(), numbers.size(), entry_size());
    const Value* at = numbers.data();
    for (auto& store : stores) {
      store.put(t, at, at + shape_.key_dim);
      at += shape_.key_dim + shape_.value_dim;
    }
  }
  std::vector<Store> make_stores() const {
    std::vector<Store> stores;
    for (std::int64_t h = 0; h < shape_.kv_heads; ++h)
      stores.emplace_back(shape_.key_dim, shape_.value_dim, rule_, widths_);
    return stores;
  }
  void append(std::vector<Store>& stores, std::int64_t t, const Value* key, const Value* value) const {
    for (std::int64_t h = 0; h < shape_.kv_heads; ++h) {
      auto& store = stores[static_cast<std::size_t>(h)];
      store.resize(t + 1);
      store.put(t, key + h * shape_.key_dim, value + h * shape_.value_dim);
    }
  }
  void append_token(std::vector<Store>& stores, std::int64_t t, const Value* x) const {
    std::vector<Value> key(static_cast<std::size_t>(key_.rows())),
        value(static_cast<std::size_t>(value_.rows()));
    key_.apply(arithmetic_, x, key.data());
    value_.apply(arithmetic_, x, value.data());
    append(stores, t, key.data(), value.data());
  }
  const Store& store_of(const std::vector<Store>& stores, std::int64_t head) const {
    return stores[static_cast<std::size_t>(head / (shape_.heads / shape_.kv_heads))];
  }
  // One head's attention over half-open ranges.
  void attend(const Store& store, const Value* query,
              const std::vector<std::pair<std::int64_t, std::int64_t>>& ranges, Value* y) const {
    auto sums = store.sums();
    for (const auto& [begin, end] : ranges) store.add(arithmetic_, query, begin, end, sums);
    store.finish(arithmetic_, sums, y);
  }

  MixerShape shape_;
  A arithmetic_;
  SoftmaxRule<A> rule_;
  LinearMap<A> query_, key_, value_;
  HeadWidths widths_;
  int input_bits_;
};

template <class A>
class TopK final : public SelectingAttention<A> {
 public:
  using typename SelectingAttention<A>::Value;
  using typename SelectingAttention<A>::Wide;
  using typename SelectingAttention<A>::Store;

  explicit TopK(const MixerContext<A>& context) : SelectingAttention<A>(context), causal_(context.causal) {
    auto& source = context.source;
    index_query_ =
        source.template map<A>("index_q", this->shape_.index_heads * this->shape_.index_dim, context.width);
    index_key_ = source.template map<A>("index_k", this->shape_.index_dim, context.width);
    index_mix_ = source.template map<A>("index_mix", this->shape_.index_heads, context.width);
    index_shift_ = source.shift("index.shift");
    if (!this->shape_.form.index_norm) return;
    const std::int64_t dim = this->shape_.index_dim;
    gain_ = source.template numbers<Value>("index_norm.gain", {dim});
    bias_ = source.template numbers<Value>("index_norm.bias", {dim});
    norm_ = inner_norm(source, "index_norm", 0, std::nullopt);
    centred_by_dim_ = source.integer();
    key_site_ = source.site("index_norm.key");
    const int centred = index_key_.width().bits + ceil_lg(static_cast<std::uint64_t>(dim)) + 1;
    if (A::kExact) check_inner_norm(source, "index_norm", norm_, centred, number_bits(gain_), dim);
  }
  struct State final : MixerState<A> {
    std::vector<Store> stores;
    std::vector<Value> index_keys;
    std::int64_t t = 0;
    void append_numbers(std::vector<Value>& out) const override {
      for (const auto& store : stores) store.append_numbers(out);
      out.insert(out.end(), index_keys.begin(), index_keys.end());
    }
  };
  std::unique_ptr<MixerState<A>> start() const override {
    auto state = std::make_unique<State>();
    state->stores = this->make_stores();
    return state;
  }
  void step(MixerState<A>& generic, const Value* x, Value* y) const override {
    auto& state = static_cast<State&>(generic);
    append(state, x);
    if (y) read(state, x, y);
  }

  // Split: a unit is a token, its summary the index key; nothing is told about the tokens right before.
  std::int64_t unit() const override { return 1; }
  std::vector<int> summary_widths() const override {
    return std::vector<int>(static_cast<std::size_t>(this->shape_.index_dim), key_bits());
  }
  std::vector<int> front_widths(std::int64_t) const override { return {}; }
  std::int64_t front_tokens(std::int64_t) const override { return 0; }
  std::vector<Value> front(const MixerState<A>&) const override { return {}; }
  std::unique_ptr<MixerState<A>> open(std::span<const Value>, std::int64_t t) const override {
    auto generic = start();
    auto& state = static_cast<State&>(*generic);
    state.t = t;
    for (auto& store : state.stores) store.resize(t);
    state.index_keys.assign(static_cast<std::size_t>(t * this->shape_.index_dim), Value{0});
    return generic;
  }
  std::vector<Value> summary(const MixerState<A>& generic, std::int64_t unit) const override {
    const auto& keys = static_cast<const State&>(generic).index_keys;
    const auto first = keys.begin() + unit * this->shape_.index_dim;
    return {first, first + this->shape_.index_dim};
  }
  void put_summary(MixerState<A>& generic, std::int64_t unit, std::span<const Value> numbers) const override {
    std::copy(numbers.begin(), numbers.end(),
              static_cast<State&>(generic).index_keys.begin() + unit * this->shape_.index_dim);
  }
  std::vector<Value> token(const MixerState<A>& generic, std::int64_t t) const override {
    return this->entry(static_cast<const State&>(generic).stores, t);
  }
  void put_token(MixerState<A>& generic, std::int64_t t, std::span<const Value> numbers) const override {
    this->put_entry(static_cast<State&>(generic).stores, t, numbers);
  }
  std::vector<std::int64_t> wanted(const MixerState<A>& generic, const Value* u) const override {
    const auto& state = static_cast<const State&>(generic);
    auto keys = state.index_keys;
    keys.resize(static_cast<std::size_t>((state.t + 1) * this->shape_.index_dim));
    make_index_key(u, keys.data() + state.t * this->shape_.index_dim);
    auto order = selected(keys, state.t + 1, u);
    std::erase(order, state.t);  // its own token
    return order;
  }
  void forward(const Rows<Value>& x, std::span<const std::int64_t> wanted, Value* y) const override {
    if (causal_) return RecurrentMixer<A>::forward(x, wanted, y);
    State state;
    state.stores = this->make_stores();
    std::vector<Value> row(static_cast<std::size_t>(x.width()));
    for (std::int64_t t = 0; t < x.count(); ++t) {
      x.read(t, t + 1, row.data());
      append(state, row.data());
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      x.read(wanted[i], wanted[i] + 1, row.data());
      read(state, row.data(), y + static_cast<std::int64_t>(i) * this->output_width());
    }
  }
  int sum_bits() const override {
    const int index = index_query_.width().bits + key_bits() +
                      ceil_lg(static_cast<std::uint64_t>(this->shape_.index_dim)) + index_mix_.width().bits +
                      ceil_lg(static_cast<std::uint64_t>(this->shape_.index_heads)) + 2 +
                      shift_growth(index_shift_);
    return std::max({SelectingAttention<A>::sum_bits(), index, index_query_.sum_bits(this->input_bits_),
                     index_key_.sum_bits(this->input_bits_), index_mix_.sum_bits(this->input_bits_)});
  }

 private:
  int key_bits() const { return gain_.empty() ? index_key_.width().bits : norm_.width.bits; }
  // The index key of row x, behind its layer norm where there is one.
  void make_index_key(const Value* x, Value* key) const {
    index_key_.apply(this->arithmetic_, x, key);
    if (gain_.empty()) return;
    const auto dim = static_cast<std::int64_t>(gain_.size());
    Value sum{0};
    for (std::int64_t i = 0; i < dim; ++i) sum += key[i];
    for (std::int64_t i = 0; i < dim; ++i)
      key[i] =
          centred_by_dim_ ? static_cast<Value>(dim) * key[i] - sum : key[i] - sum / static_cast<Value>(dim);
    normalise<A>(this->arithmetic_, key, gain_.data(), dim, dim, norm_, key);
    Width width = norm_.width;
    width.site = key_site_;
    for (std::int64_t i = 0; i < dim; ++i)
      key[i] =
          kept(this->arithmetic_, norm_.rounded, Wide(key[i]) + bias_[static_cast<std::size_t>(i)], 0, width);
  }
  void append(State& state, const Value* x) const {
    this->append_token(state.stores, state.t, x);
    state.index_keys.resize(static_cast<std::size_t>((state.t + 1) * this->shape_.index_dim));
    make_index_key(x, state.index_keys.data() + state.t * this->shape_.index_dim);
    ++state.t;
  }
  // The positions among the first `count`, increasing, that the query of row x reads.
  std::vector<std::int64_t> selected(const std::vector<Value>& index_keys, std::int64_t count,
                                     const Value* x) const {
    const auto& s = this->shape_;
    std::vector<Value> iq(static_cast<std::size_t>(index_query_.rows())),
        mix(static_cast<std::size_t>(s.index_heads));
    index_query_.apply(this->arithmetic_, x, iq.data());
    index_mix_.apply(this->arithmetic_, x, mix.data());
    std::vector<Wide> score(static_cast<std::size_t>(count), Wide{0});
    for (std::int64_t j = 0; j < count; ++j)
      for (std::int64_t h = 0; h < s.index_heads; ++h) {
        Wide dot{0};
        for (std::int64_t c = 0; c < s.index_dim; ++c)
          dot += Wide(iq[static_cast<std::size_t>(h * s.index_dim + c)]) *
                 index_keys[static_cast<std::size_t>(j * s.index_dim + c)];
        dot = this->arithmetic_.rescale(dot, index_shift_);
        if (dot > 0)
          score[static_cast<std::size_t>(j)] +=
              Wide(s.signed_weights ? mix[static_cast<std::size_t>(h)]
                                    : A::relu(mix[static_cast<std::size_t>(h)])) *
              dot;
      }
    std::vector<std::int64_t> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return score[static_cast<std::size_t>(a)] > score[static_cast<std::size_t>(b)];
    });
    order.resize(static_cast<std::size_t>(std::min(count, s.select)));
    std::sort(order.begin(), order.end());
    return order;
  }
  void read(const State& state, const Value* x, Value* y) const {
    const auto& s = this->shape_;
    const auto order = selected(state.index_keys, state.t, x);
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    for (const auto j : order) ranges.emplace_back(j, j + 1);
    std::vector<Value> query(static_cast<std::size_t>(this->query_.rows()));
    this->query_.apply(this->arithmetic_, x, query.data());
    for (std::int64_t h = 0; h < s.heads; ++h)
      this->attend(this->store_of(state.stores, h), query.data() + h * s.key_dim, ranges,
                   y + h * s.value_dim);
  }

  bool causal_;
  LinearMap<A> index_query_, index_key_, index_mix_;
  int index_shift_ = 0, key_site_ = -1;
  std::vector<Value> gain_, bias_;  // of index_norm; empty: none
  NormRule norm_;
  bool centred_by_dim_ = false;  // z = d x - Σ x, as an integer file has it, in place of x - Σ x / d
};

template <class A>
class Sparse final : public SelectingAttention<A> {
 public:
  using typename SelectingAttention<A>::Value;
  using typename SelectingAttention<A>::Wide;
  using typename SelectingAttention<A>::Store;

  explicit Sparse(const MixerContext<A>& context) : SelectingAttention<A>(context), width_(context.width) {
    auto& source = context.source;
    const auto& s = this->shape_;
    std::int64_t block_width = s.block * context.width;
    if (source.has("compress_hidden.weight")) {
      const auto& shape = source.weights().tensors.at(source.prefix() + "compress_hidden.weight").shape;
      if (shape.size() != 2) {
        source.refuse(fail(ErrorCode::format,
                           "[weights] \"{}compress_hidden.weight\" must have two dimensions",
                           source.prefix()));
        return;
      }
      hidden_ = source.template map<A>("compress_hidden", shape[0], block_width);
      block_width = shape[0];
    }
    compress_key_ = source.template map<A>("compress_k", s.kv_heads * s.key_dim, block_width);
    compress_value_ = source.template map<A>("compress_v", s.kv_heads * s.value_dim, block_width);
    mix_ = source.template map<A>("mix", s.heads * (s.window ? 3 : 1), context.width);
    fraction_ = static_cast<int>(source.scalar("mix.fraction", 0, 0, 30));
    this->widths_.key_bits = std::max(this->widths_.key_bits, compress_key_.width().bits);
    this->widths_.value_bits = std::max(this->widths_.value_bits, compress_value_.width().bits);
    this->rule_.check(context, this->widths_);
  }
  struct State final : MixerState<A> {
    std::vector<Store> tokens, blocks;
    std::vector<Value> open;  // input rows of the incomplete block
    std::int64_t t = 0, complete = 0;
    void append_numbers(std::vector<Value>& out) const override {
      for (const auto& store : tokens) store.append_numbers(out);
      for (const auto& store : blocks) store.append_numbers(out);
      out.insert(out.end(), open.begin(), open.end());
    }
  };
  std::unique_ptr<MixerState<A>> start() const override {
    auto state = std::make_unique<State>();
    state->tokens = this->make_stores();
    state->blocks = this->make_stores();
    return state;
  }
  void step(MixerState<A>& generic, const Value* x, Value* y) const override {
    auto& state = static_cast<State&>(generic);
    this->append_token(state.tokens, state.t, x);
    if (y) read(state, x, y);
    state.open.insert(state.open.end(), x, x + width_);
    ++state.t;
    if (state.t % this->shape_.block == 0) close_block(state);
  }

  // Split: a unit is a block, its summary the compressed key and value.
  std::int64_t unit() const override { return this->shape_.block; }
  std::vector<int> summary_widths() const override {
    return entry_widths(this->shape_, this->shape_.kv_heads, compress_key_.width().bits,
                        compress_value_.width().bits);
  }
  std::int64_t front_tokens(std::int64_t t) const override {
    return std::max(t % this->shape_.block,
                    this->shape_.window ? std::min(t, *this->shape_.window - 1) : std::int64_t{0});
  }
  std::vector<int> front_widths(std::int64_t t) const override {
    std::vector<int> widths(static_cast<std::size_t>(t % this->shape_.block * width_), this->input_bits_);
    const auto token = this->token_widths();
    for (std::int64_t i = 0; i < front_tokens(t); ++i)
      widths.insert(widths.end(), token.begin(), token.end());
    return widths;
  }
  std::vector<Value> front(const MixerState<A>& generic) const override {
    const auto& state = static_cast<const State&>(generic);
    std::vector<Value> numbers = state.open;
    for (std::int64_t t = state.t - front_tokens(state.t); t < state.t; ++t) {
      const auto one = this->entry(state.tokens, t);
      numbers.insert(numbers.end(), one.begin(), one.end());
    }
    return numbers;
  }
  std::unique_ptr<MixerState<A>> open(std::span<const Value> front, std::int64_t t) const override {
    RUNG_REQUIRE(front.size() == front_widths(t).size(), "{} numbers of a front of {}", front.size(),
                 front_widths(t).size());
    auto generic = start();
    auto& state = static_cast<State&>(*generic);
    state.t = t;
    state.complete = t / this->shape_.block;
    for (auto& store : state.tokens) store.resize(t);
    for (auto& store : state.blocks) store.resize(state.complete);
    const auto rows = static_cast<std::size_t>(t % this->shape_.block * width_),
               entry = static_cast<std::size_t>(this->entry_size());
    state.open.assign(front.begin(), front.begin() + static_cast<std::ptrdiff_t>(rows));
    for (std::int64_t i = 0; i < front_tokens(t); ++i)
      this->put_entry(state.tokens, t - front_tokens(t) + i,
                      front.subspan(rows + static_cast<std::size_t>(i) * entry, entry));
    return generic;
  }
  std::vector<Value> summary(const MixerState<A>& generic, std::int64_t unit) const override {
    return this->entry(static_cast<const State&>(generic).blocks, unit);
  }
  std::vector<Value> token(const MixerState<A>& generic, std::int64_t t) const override {
    return this->entry(static_cast<const State&>(generic).tokens, t);
  }
  void put_summary(MixerState<A>& generic, std::int64_t unit, std::span<const Value> numbers) const override {
    this->put_entry(static_cast<State&>(generic).blocks, unit, numbers);
  }
  void put_token(MixerState<A>& generic, std::int64_t t, std::span<const Value> numbers) const override {
    this->put_entry(static_cast<State&>(generic).tokens, t, numbers);
  }
  std::vector<std::int64_t> wanted(const MixerState<A>& generic, const Value* u) const override {
    std::vector<std::int64_t> all;
    for (const auto& group : wanted_by_group(generic, u)) all.insert(all.end(), group.begin(), group.end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }
  std::vector<std::vector<std::int64_t>> wanted_by_group(const MixerState<A>& generic,
                                                         const Value* u) const override {
    std::vector<Value> query(static_cast<std::size_t>(this->query_.rows()));
    this->query_.apply(this->arithmetic_, u, query.data());
    return selected(static_cast<const State&>(generic), query.data());
  }
  int sum_bits() const override {
    const int compressed = hidden_ ? hidden_->width().bits : this->input_bits_;
    return std::max({SelectingAttention<A>::sum_bits(), compress_key_.sum_bits(compressed),
                     compress_value_.sum_bits(compressed), hidden_ ? hidden_->sum_bits(this->input_bits_) : 0,
                     mix_.sum_bits(this->input_bits_), this->rule_.output.bits + fraction_ + 3,
                     48 + ceil_lg(static_cast<std::uint64_t>(this->shape_.heads))});
  }

 private:
  void close_block(State& state) const {
    std::vector<Value> row = std::move(state.open);
    state.open.clear();
    if (hidden_) {
      std::vector<Value> hidden(static_cast<std::size_t>(hidden_->rows()));
      hidden_->apply_unrounded(this->arithmetic_, row.data(), hidden.data());
      for (auto& h : hidden) h = A::relu(h);
      row = std::move(hidden);
    }
    std::vector<Value> key(static_cast<std::size_t>(compress_key_.rows())),
        value(static_cast<std::size_t>(compress_value_.rows()));
    compress_key_.apply(this->arithmetic_, row.data(), key.data());
    compress_value_.apply(this->arithmetic_, row.data(), value.data());
    this->append(state.blocks, state.complete++, key.data(), value.data());
  }
  // Per group of heads, the selected blocks in increasing order.
  std::vector<std::vector<std::int64_t>> selected(const State& state, const Value* query) const {
    const auto& s = this->shape_;
    const std::int64_t per_group = s.heads / s.groups;
    std::vector<std::vector<std::int64_t>> chosen(static_cast<std::size_t>(s.groups));
    for (std::int64_t g = 0; g < s.groups; ++g) {
      std::vector<Wide> score(static_cast<std::size_t>(state.complete), Wide{0});
      for (std::int64_t r = 0; r < state.complete; ++r)
        for (std::int64_t h = g * per_group; h < (g + 1) * per_group; ++h)
          score[static_cast<std::size_t>(r)] +=
              this->store_of(state.blocks, h).score(this->arithmetic_, query + h * s.key_dim, r);
      auto& order = chosen[static_cast<std::size_t>(g)];
      order.resize(static_cast<std::size_t>(state.complete));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        return score[static_cast<std::size_t>(a)] > score[static_cast<std::size_t>(b)];
      });
      order.resize(static_cast<std::size_t>(std::min(state.complete, s.select)));
      std::sort(order.begin(), order.end());
    }
    return chosen;
  }
  void read(const State& state, const Value* x, Value* y) const {
    const auto& s = this->shape_;
    std::vector<Value> query(static_cast<std::size_t>(this->query_.rows())),
        mix(static_cast<std::size_t>(mix_.rows()));
    this->query_.apply(this->arithmetic_, x, query.data());
    mix_.apply(this->arithmetic_, x, mix.data());
    const auto chosen = selected(state, query.data());
    const Value one = Value(std::int64_t{1} << fraction_);
    std::vector<Value> compressed(static_cast<std::size_t>(s.value_dim)), picked(compressed),
        windowed(compressed);
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const Value* q = query.data() + h * s.key_dim;
      this->attend(this->store_of(state.blocks, h), q, {{0, state.complete}}, compressed.data());
      std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
      for (const auto r : chosen[static_cast<std::size_t>(h / (s.heads / s.groups))])
        ranges.emplace_back(r * s.block, (r + 1) * s.block);
      ranges.emplace_back(state.t / s.block * s.block, state.t + 1);
      this->attend(this->store_of(state.tokens, h), q, ranges, picked.data());
      auto gate = [&](std::int64_t branch) {
        return std::clamp<Value>(mix[static_cast<std::size_t>(h * (s.window ? 3 : 1) + branch)], Value{0},
                                 one);
      };
      if (s.window)
        this->attend(this->store_of(state.tokens, h), q,
                     {{std::max<std::int64_t>(0, state.t - *s.window + 1), state.t + 1}}, windowed.data());
      for (std::int64_t c = 0; c < s.value_dim; ++c) {
        const auto i = static_cast<std::size_t>(c);
        Wide sum = Wide(gate(0)) * compressed[i];
        if (s.window)
          sum += Wide(gate(1)) * picked[i] + Wide(gate(2)) * windowed[i];
        else
          sum += Wide(one - gate(0)) * picked[i];
        y[h * s.value_dim + c] = this->arithmetic_.narrow(sum, fraction_, this->rule_.output);
      }
    }
  }

  std::int64_t width_;
  std::optional<LinearMap<A>> hidden_;
  LinearMap<A> compress_key_, compress_value_, mix_;
  int fraction_ = 0;
};

}  // namespace

template <class A>
std::unique_ptr<MixerFor<A>> make_topk(const MixerContext<A>& context) {
  return std::make_unique<TopK<A>>(context);
}
template <class A>
std::unique_ptr<MixerFor<A>> make_sparse(const MixerContext<A>& context) {
  return std::make_unique<Sparse<A>>(context);
}
RUNG_INSTANTIATE_MIXER(make_topk);
RUNG_INSTANTIATE_MIXER(make_sparse);

}  // namespace rung
