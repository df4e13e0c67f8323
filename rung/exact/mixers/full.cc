// Full attention, its windowed and chunked forms, and the encoder:
//   y_i = Σ_{j in reach(i)} E[s_ij] v_j / Σ_j E[s_ij],  s_ij = clip(rsh(q_i·k_j, r))
// reach(i): all j <= i (decoder), all j (encoder), i - w < j <= i (window; |i - j| < w in an encoder), or the
// own chunk. Query head h reads key/value head h / (heads / kv_heads).
//
// A few queries over many keys (the last position of a long prompt) stream: keys and values are projected
// tile by tile and forgotten, so memory stays O(tile) beside the prompt. Many queries store keys and values
// once, O(n d).
#include <mutex>

#include "rung/base/parallel.h"
#include "rung/exact/attention.h"
#include "rung/exact/projection.h"
#include "rung/exact/released_layer.h"
#include "rung/exact/rotary.h"
#include "rung/exact/split_mixer.h"

namespace rung {
namespace {

constexpr std::int64_t kTileRows = 1024;     // rows projected at a time
constexpr std::size_t kStreamedQueries = 8;  // at most this many queries are streamed

template <class A>
class SplitFull;

template <class A>
class FullAttention final : public MixerFor<A> {
 public:
  using Value = typename A::Value;
  using Store = KeyValues<A>;

  explicit FullAttention(const MixerContext<A>& context)
      : shape_(context.shape),
        causal_(context.causal),
        arithmetic_(context.arithmetic),
        rule_(SoftmaxRule<A>::read(context)),
        query_(context.arithmetic),
        key_value_(context.arithmetic),
        input_bits_(context.input_bits) {
    auto& source = context.source;
    const std::int64_t queries = shape_.heads * shape_.key_dim;
    query_.add(source.template map<A>("q", queries, context.width));
    query_.convolve(context, 0);
    auto key = source.template map<A>("k", shape_.kv_heads * shape_.key_dim, context.width);
    auto value = source.template map<A>("v", shape_.kv_heads * shape_.value_dim, context.width);
    widths_ = HeadWidths{source.width("q").bits, key.width().bits, value.width().bits, context.positions};
    if (shape_.conv > 0)
      widths_ = HeadWidths{source.width("conv").bits, source.width("conv").bits, source.width("conv").bits,
                           context.positions};
    key_value_.add(std::move(key));
    key_value_.add(std::move(value));
    key_value_.convolve(context, queries);
    rule_.check(context, widths_);
    rotary_ = Rotary(source, shape_.form.rope, shape_.form.rope_dim, shape_.form.theta);
    if constexpr (A::kExact)
      if (causal_ && !shape_.window && !shape_.chunk) split_ = std::make_unique<SplitFull<A>>(*this);
  }

  const SplitSoftmax* softmax() const override { return split_.get(); }
  std::int64_t output_width() const override { return shape_.heads * shape_.value_dim; }
  int sum_bits() const override {
    return std::max(query_.sum_bits(input_bits_), key_value_.sum_bits(input_bits_));
  }

  void forward(const Rows<Value>& x, std::span<const std::int64_t> wanted, Value* y) const override {
    if (wanted.empty()) return;
    const std::int64_t keys = causal_ ? wanted.back() + 1 : x.count();
    std::vector<Value> queries(wanted.size() * static_cast<std::size_t>(query_.channels()));
    parallel_for(static_cast<std::int64_t>(wanted.size()), 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        query_.read(x, wanted[static_cast<std::size_t>(i)], wanted[static_cast<std::size_t>(i)] + 1,
                    queries.data() + i * query_.channels());
        turn(queries.data() + i * query_.channels(), shape_.heads, wanted[static_cast<std::size_t>(i)]);
      }
    });
    if (wanted.size() <= kStreamedQueries)
      stream(x, wanted, keys, queries, y);
    else
      store_and_read(x, wanted, keys, queries, y);
  }

  // The prefix is projected once; each variant then adds its own key. Mode Q adds in the order of forward().
  void forward_variants(const Rows<Value>& prefix, const Value* last, std::int64_t count,
                        Value* y) const override {
    if (count == 0) return;
    const std::int64_t position = prefix.count();
    const auto range = reach(position, position + 1);
    std::vector<Value> queries(static_cast<std::size_t>(count * query_.channels())),
        own(static_cast<std::size_t>(count * key_value_.channels()));
    for (std::int64_t i = 0; i < count; ++i) {
      const ExtendedRows<Value> x(prefix, last + i * prefix.width());
      query_.read(x, position, position + 1, queries.data() + i * query_.channels());
      key_value_.read(x, position, position + 1, own.data() + i * key_value_.channels());
      turn(queries.data() + i * query_.channels(), shape_.heads, position);
      turn(own.data() + i * key_value_.channels(), shape_.kv_heads, position);
    }
    if constexpr (A::kExact) {
      auto one = make_stores();
      std::vector<typename Store::Sums> totals(static_cast<std::size_t>(count * shape_.heads), one[0].sums());
      if (position > 0)
        add_streamed(
            prefix, position, count, [&](std::int64_t) { return range; }, queries, totals);
      for (auto& store : one) store.resize(1);
      for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t h = 0; h < shape_.heads; ++h) {
          Store& store = one[static_cast<std::size_t>(h / (shape_.heads / shape_.kv_heads))];
          put(store, h / (shape_.heads / shape_.kv_heads), 0, own.data() + i * key_value_.channels());
          auto& sums = totals[static_cast<std::size_t>(i * shape_.heads + h)];
          store.add(arithmetic_, queries.data() + i * query_.channels() + h * shape_.key_dim, 0, 1, sums);
          store.finish(arithmetic_, sums, y + (i * shape_.heads + h) * shape_.value_dim);
        }
    } else {
      const auto filled = fill_stores(prefix, position, position + 1);
      constexpr std::int64_t kVariantsPerCopy = 64;
      parallel_for(count, kVariantsPerCopy, [&](std::int64_t begin, std::int64_t end) {
        auto stores = filled;
        for (std::int64_t i = begin; i < end; ++i) {
          for (std::int64_t h = 0; h < shape_.kv_heads; ++h)
            put(stores[static_cast<std::size_t>(h)], h, position, own.data() + i * key_value_.channels());
          read(stores, 0, position, position + 1, queries.data() + i * query_.channels(),
               y + i * output_width());
        }
      });
    }
  }

  struct State final : MixerState<A> {
    typename Projection<A>::Buffer query, key_value;
    std::vector<Store> stores;
    std::int64_t t = 0;
    std::optional<std::int64_t> live;  // window: how many earlier tokens still matter
    void append_numbers(std::vector<Value>& out) const override {
      out.insert(out.end(), query.earlier.begin(), query.earlier.end());
      out.insert(out.end(), key_value.earlier.begin(), key_value.earlier.end());
      for (const auto& store : stores) {
        std::vector<Value> numbers;
        store.append_numbers(numbers);
        const std::int64_t row = store.size() ? static_cast<std::int64_t>(numbers.size()) / store.size() : 0;
        const std::int64_t first = live ? std::max<std::int64_t>(0, t - *live) * row : 0;
        out.insert(out.end(),
                   numbers.begin() + std::min<std::int64_t>(first, static_cast<std::int64_t>(numbers.size())),
                   numbers.end());
      }
    }
  };

  std::unique_ptr<MixerState<A>> start() const override {
    auto state = std::make_unique<State>();
    state->query = query_.start();
    state->key_value = key_value_.start();
    state->stores = make_stores();
    if (shape_.window) state->live = *shape_.window - 1;
    if (shape_.chunk) state->live = *shape_.chunk - 1;
    return state;
  }

  void step(MixerState<A>& generic, const Value* x, Value* y) const override {
    auto& state = static_cast<State&>(generic);
    std::vector<Value> row(static_cast<std::size_t>(key_value_.channels())),
        query(static_cast<std::size_t>(query_.channels()));
    key_value_.step(state.key_value, x, row.data());
    query_.step(state.query, x, query.data());
    turn(row.data(), shape_.kv_heads, state.t);
    turn(query.data(), shape_.heads, state.t);
    for (std::int64_t h = 0; h < shape_.kv_heads; ++h) {
      state.stores[static_cast<std::size_t>(h)].resize(state.t + 1);
      put(state.stores[static_cast<std::size_t>(h)], h, state.t, row.data());
    }
    if (y) read(state.stores, 0, state.t, state.t + 1, query.data(), y);
    ++state.t;
  }
  std::vector<int> state_widths(std::int64_t t) const override {
    auto widths = front_widths();
    const auto cached = entry_widths(shape_, shape_.kv_heads * live(t), widths_.key_bits, widths_.value_bits);
    widths.insert(widths.end(), cached.begin(), cached.end());
    return widths;
  }
  std::unique_ptr<MixerState<A>> restore(std::span<const Value> numbers, std::int64_t t) const override {
    RUNG_REQUIRE(numbers.size() == state_widths(t).size(), "{} numbers of a state of {}", numbers.size(),
                 state_widths(t).size());
    auto generic = start();
    auto& state = static_cast<State&>(*generic);
    state.t = t;
    restore_front(numbers, state.query, state.key_value);
    const Value* from = numbers.data() + query_.buffer_size() + key_value_.buffer_size();
    for (auto& store : state.stores) {
      store.resize(t);
      for (std::int64_t i = t - live(t); i < t; ++i, from += shape_.key_dim + shape_.value_dim)
        store.put(i, from, from + shape_.key_dim);
    }
    return generic;
  }

 private:
  friend class SplitFull<A>;

  // Rotary positions (mode Q): the leading heads of a row of queries or keys.
  void turn([[maybe_unused]] Value* row, [[maybe_unused]] std::int64_t heads,
            [[maybe_unused]] std::int64_t position) const {
    if constexpr (!A::kExact)
      if (rotary_)
        for (std::int64_t h = 0; h < heads; ++h) rotary_.turn(row + h * shape_.key_dim, position);
  }
  // Tokens that the state after t tokens keeps.
  std::int64_t live(std::int64_t t) const {
    return shape_.window  ? std::min(t, *shape_.window - 1)
           : shape_.chunk ? std::min(t, *shape_.chunk - 1)
                          : t;
  }
  std::vector<int> front_widths() const {
    auto widths = query_.buffer_widths();
    const auto more = key_value_.buffer_widths();
    widths.insert(widths.end(), more.begin(), more.end());
    return widths;
  }
  void restore_front(std::span<const Value> numbers, typename Projection<A>::Buffer& query,
                     typename Projection<A>::Buffer& key_value) const {
    const auto middle = numbers.begin() + query_.buffer_size();
    query.earlier.assign(numbers.begin(), middle);
    key_value.earlier.assign(middle, middle + key_value_.buffer_size());
  }
  std::vector<Store> make_stores() const {
    std::vector<Store> stores;
    for (std::int64_t h = 0; h < shape_.kv_heads; ++h)
      stores.emplace_back(shape_.key_dim, shape_.value_dim, rule_, widths_);
    return stores;
  }
  void put(Store& store, std::int64_t h, std::int64_t t, const Value* row) const {
    store.put(t, row + h * shape_.key_dim, row + shape_.kv_heads * shape_.key_dim + h * shape_.value_dim);
  }
  std::pair<std::int64_t, std::int64_t> reach(std::int64_t i, std::int64_t keys) const {
    std::int64_t begin = 0, end = causal_ ? i + 1 : keys;
    if (shape_.window) {
      begin = std::max<std::int64_t>(0, i - *shape_.window + 1);
      if (!causal_) end = std::min(keys, i + *shape_.window);
    }
    if (shape_.chunk) {
      begin = i / *shape_.chunk * *shape_.chunk;
      if (!causal_) end = std::min(keys, begin + *shape_.chunk);
    }
    return {begin, end};
  }
  // All heads of query position i over stores that hold positions from `first` on.
  void read(const std::vector<Store>& stores, std::int64_t first, std::int64_t i, std::int64_t keys,
            const Value* query, Value* y) const {
    const auto [begin, end] = reach(i, keys);
    for (std::int64_t h = 0; h < shape_.heads; ++h) {
      const Store& store = stores[static_cast<std::size_t>(h / (shape_.heads / shape_.kv_heads))];
      auto sums = store.sums();
      store.add(arithmetic_, query + h * shape_.key_dim, begin - first, end - first, sums);
      store.finish(arithmetic_, sums, y + h * shape_.value_dim);
    }
  }

  // Stores of `size` tokens with the first `keys` rows of x put into them.
  std::vector<Store> fill_stores(const Rows<Value>& x, std::int64_t keys, std::int64_t size) const {
    auto stores = make_stores();
    for (auto& store : stores) store.resize(size);
    parallel_for(keys, kTileRows, [&](std::int64_t begin, std::int64_t end) {
      std::vector<Value> rows(static_cast<std::size_t>((end - begin) * key_value_.channels()));
      key_value_.read(x, begin, end, rows.data());
      for (std::int64_t t = begin; t < end; ++t)
        turn(rows.data() + (t - begin) * key_value_.channels(), shape_.kv_heads, t);
      for (std::int64_t t = begin; t < end; ++t)
        for (std::int64_t h = 0; h < shape_.kv_heads; ++h)
          put(stores[static_cast<std::size_t>(h)], h, t, rows.data() + (t - begin) * key_value_.channels());
    });
    return stores;
  }

  void store_and_read(const Rows<Value>& x, std::span<const std::int64_t> wanted, std::int64_t keys,
                      const std::vector<Value>& queries, Value* y) const {
    const auto stores = fill_stores(x, keys, keys);
    parallel_for(static_cast<std::int64_t>(wanted.size()), 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        read(stores, 0, wanted[static_cast<std::size_t>(i)], keys, queries.data() + i * query_.channels(),
             y + i * output_width());
    });
  }

  // Sums are exact, so tiles may be added in any order (mode X); mode Q keeps tile order.
  void stream(const Rows<Value>& x, std::span<const std::int64_t> wanted, std::int64_t keys,
              const std::vector<Value>& queries, Value* y) const {
    if constexpr (!A::kExact) {
      store_and_read(x, wanted, keys, queries, y);
    } else {
      const auto stores = make_stores();
      std::vector<typename Store::Sums> totals(wanted.size() * static_cast<std::size_t>(shape_.heads),
                                               stores[0].sums());
      add_streamed(
          x, keys, static_cast<std::int64_t>(wanted.size()),
          [&](std::int64_t i) { return reach(wanted[static_cast<std::size_t>(i)], keys); }, queries, totals);
      for (std::size_t i = 0; i < totals.size(); ++i)
        stores[0].finish(arithmetic_, totals[i], y + static_cast<std::int64_t>(i) * shape_.value_dim);
    }
  }

  // Adds keys [0, keys) of x to the sums of every query and head, tile by tile: a tile is projected once for
  // all queries.
  template <class Reach>
  void add_streamed(const Rows<Value>& x, std::int64_t keys, std::int64_t count, const Reach& reach_of,
                    const std::vector<Value>& queries, std::vector<typename Store::Sums>& totals) const {
    const typename Store::Sums zero = totals.front();
    std::mutex guard;
    parallel_for(keys, kTileRows, [&](std::int64_t begin, std::int64_t end) {
      std::vector<Value> rows(static_cast<std::size_t>((end - begin) * key_value_.channels()));
      key_value_.read(x, begin, end, rows.data());
      auto tile = make_stores();
      for (std::int64_t h = 0; h < shape_.kv_heads; ++h) {
        tile[static_cast<std::size_t>(h)].resize(end - begin);
        for (std::int64_t t = begin; t < end; ++t)
          put(tile[static_cast<std::size_t>(h)], h, t - begin,
              rows.data() + (t - begin) * key_value_.channels());
      }
      auto partial = std::vector<typename Store::Sums>(totals.size(), zero);
      for (std::int64_t i = 0; i < count; ++i) {
        const auto [low, high] = reach_of(i);
        for (std::int64_t h = 0; h < shape_.heads; ++h)
          tile[static_cast<std::size_t>(h / (shape_.heads / shape_.kv_heads))].add(
              arithmetic_, queries.data() + i * query_.channels() + h * shape_.key_dim,
              std::max(low, begin) - begin, std::min(high, end) - begin,
              partial[static_cast<std::size_t>(i * shape_.heads + h)]);
      }
      const std::lock_guard lock(guard);
      for (std::size_t i = 0; i < totals.size(); ++i) Store::merge(totals[i], partial[i]);
    });
  }

  MixerShape shape_;
  bool causal_;
  A arithmetic_;
  SoftmaxRule<A> rule_;
  Projection<A> query_, key_value_;
  HeadWidths widths_;
  int input_bits_;
  Rotary rotary_;
  std::unique_ptr<SplitSoftmax> split_;  // mode X, decoder, no window
};

// The same layer with its tokens spread over players.
template <class A>
class SplitFull final : public SplitSoftmax {
 public:
  explicit SplitFull(const FullAttention<A>& layer) : layer_(layer) {}
  Sizes sizes() const override {
    const auto& s = layer_.shape_;
    return {s.heads,
            s.key_dim,
            s.value_dim,
            layer_.widths_.query_bits,
            layer_.widths_.value_bits,
            layer_.rule_.score.weights.bits() - 1};
  }
  std::vector<int> front_widths() const override { return layer_.front_widths(); }
  std::unique_ptr<AttentionSegment> open(std::span<const std::int64_t> front) const override {
    RUNG_REQUIRE(front.size() == front_widths().size(), "{} numbers of buffers of {}", front.size(),
                 front_widths().size());
    return std::make_unique<Segment>(layer_, front);
  }
  void finish(std::span<const SoftmaxSums> sums, std::int64_t* y) const override {
    const auto stores = layer_.make_stores();
    RUNG_REQUIRE(static_cast<std::int64_t>(sums.size()) == layer_.shape_.heads, "{} sums of {} heads",
                 sums.size(), layer_.shape_.heads);
    for (std::size_t h = 0; h < sums.size(); ++h)
      stores[0].finish(layer_.arithmetic_, sums[h],
                       y + static_cast<std::int64_t>(h) * layer_.shape_.value_dim);
  }

 private:
  class Segment final : public AttentionSegment {
   public:
    Segment(const FullAttention<A>& layer, std::span<const std::int64_t> front)
        : layer_(layer), stores_(layer.make_stores()) {
      layer.restore_front(front, query_buffer_, key_value_buffer_);
    }
    void append(const std::int64_t* u) override {
      std::vector<std::int64_t> row(static_cast<std::size_t>(layer_.key_value_.channels()));
      layer_.key_value_.step(key_value_buffer_, u, row.data());
      queries_.resize(static_cast<std::size_t>((size_ + 1) * layer_.query_.channels()));
      layer_.query_.step(query_buffer_, u, queries_.data() + size_ * layer_.query_.channels());
      for (std::int64_t h = 0; h < layer_.shape_.kv_heads; ++h) {
        stores_[static_cast<std::size_t>(h)].resize(size_ + 1);
        layer_.put(stores_[static_cast<std::size_t>(h)], h, size_, row.data());
      }
      ++size_;
    }
    std::int64_t size() const override { return size_; }
    std::span<const std::int64_t> query(std::int64_t i) const override {
      RUNG_REQUIRE(i >= 0 && i < size_, "i={} of {}", i, size_);
      const auto channels = static_cast<std::size_t>(layer_.query_.channels());
      return std::span(queries_).subspan(static_cast<std::size_t>(i) * channels, channels);
    }
    std::vector<SoftmaxSums> sums(std::span<const std::int64_t> query, std::int64_t tokens) const override {
      const auto& s = layer_.shape_;
      RUNG_REQUIRE(static_cast<std::int64_t>(query.size()) == s.heads * s.key_dim && tokens <= size_,
                   "{} numbers, {} tokens", query.size(), tokens);
      std::vector<SoftmaxSums> all(static_cast<std::size_t>(s.heads), SoftmaxSums(s.value_dim));
      for (std::int64_t h = 0; h < s.heads; ++h)
        stores_[static_cast<std::size_t>(h / (s.heads / s.kv_heads))].add(
            layer_.arithmetic_, query.data() + h * s.key_dim, 0, tokens, all[static_cast<std::size_t>(h)]);
      return all;
    }
    std::vector<std::int64_t> front() const override {
      auto numbers = query_buffer_.earlier;
      numbers.insert(numbers.end(), key_value_buffer_.earlier.begin(), key_value_buffer_.earlier.end());
      return numbers;
    }

   private:
    const FullAttention<A>& layer_;
    typename Projection<A>::Buffer query_buffer_, key_value_buffer_;
    std::vector<KeyValues<A>> stores_;
    std::vector<std::int64_t> queries_;
    std::int64_t size_ = 0;
  };
  const FullAttention<A>& layer_;
};

}  // namespace

template <class A>
std::unique_ptr<MixerFor<A>> make_full(const MixerContext<A>& context) {
  if (A::kExact && !context.shape.form.plain()) return refuse_integer_form(context);
  return std::make_unique<FullAttention<A>>(context);
}
RUNG_INSTANTIATE_MIXER(make_full);

}  // namespace rung
