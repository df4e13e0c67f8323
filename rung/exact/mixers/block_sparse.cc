// Native sparse attention as released (docs/parity.md; docs/weights.md, "Released forms in integers"): compressed, selected
// and windowed branches under three independent gates. Keys that turn have a meaning in real numbers alone.
//   compressed  window c covers tokens cs .. cs+κ-1 and is visible once its last token is in the past or present.
//               compress=mean: means of the rotated keys and of the values. pool, weighted, linear: from the unrotated
//               keys with a code per place, then rotated at position cs; values alike without the code.
//   selected    p[c] = softmax over the visible windows, summed over the query heads of a key head. Block b scores
//               Σ_{i<κ/s} Σ_{j<B/s} p[bB/s+i+j-κ/s+1]; the first `first` blocks and the last `local` ones, the own
//               included, come before all others; the best k win, ties to the smaller. Their tokens up to the own.
//   window      the last w tokens.     y = σ(g0) compressed + σ(g1) selected + σ(g2) window
// State: keys and values of every token, key head after key head; windows are found again from them (mode X).
#include <algorithm>
#include <numeric>

#include "rung/exact/attention.h"
#include "rung/exact/released_layer.h"
#include "rung/exact/rotary.h"

namespace rung {
namespace {

template <class A>
class BlockSparse final : public RecurrentMixer<A> {
 public:
  using Value = typename A::Value;
  using Wide = typename A::Wide;
  using Store = KeyValues<A>;
  using Chance = std::conditional_t<A::kExact, Int128, double>;

  explicit BlockSparse(const MixerContext<A>& context)
      : shape_(context.shape),
        arithmetic_(context.arithmetic),
        rule_(SoftmaxRule<A>::read(context)),
        rounded_(context.source.integer()),
        input_bits_(context.input_bits) {
    auto& source = context.source;
    const auto& s = shape_;
    query_ = source.template map<A>("q", s.heads * s.key_dim, context.width);
    key_ = source.template map<A>("k", s.kv_heads * s.key_dim, context.width);
    value_ = source.template map<A>("v", s.kv_heads * s.value_dim, context.width);
    gate_ = source.template map<A>("mix", s.heads * 3, context.width);
    gates_ = source.table("mix", "sigmoid");
    fraction_ = static_cast<int>(source.scalar("mix.fraction", 0, 0, 30));
    if (source.integer()) chance_fraction_ = static_cast<int>(source.scalar("chance.fraction", 0, 0, 30));
    rotary_ = Rotary(source, s.form.rope, s.form.rope_dim, s.form.theta);
    keys_ = Side(source, "compress_k", s, s.key_dim);
    values_ = Side(source, "compress_v", s, s.value_dim);
    if (s.form.compress != Compression::mean)
      keys_.place = source.template numbers<Value>("compress_k.place", {s.kv_heads, s.form.span, s.key_dim});
    selected_site_ = source.site("selected");
    widths_ = {query_.width().bits, std::max(key_.width().bits, keys_.width.bits),
               std::max(value_.width().bits, values_.width.bits), context.positions};
    rule_.check(context, widths_);
  }

  struct State final : MixerState<A> {
    std::vector<Store> tokens, windows;  // by key/value head
    std::vector<Value> keys, values;     // unrotated, the last κ tokens, oldest first
    std::int64_t t = 0;
    void append_numbers(std::vector<Value>& out) const override {
      for (const auto& store : tokens) store.append_numbers(out);
    }
  };
  std::int64_t output_width() const override { return shape_.heads * shape_.value_dim; }
  int sum_bits() const override {
    const int mixed = rule_.output.bits + gates_.bits() + 2;
    return std::max({query_.sum_bits(input_bits_), key_.sum_bits(input_bits_), value_.sum_bits(input_bits_),
                     gate_.sum_bits(input_bits_), mixed, keys_.sum_bits(key_.width().bits),
                     values_.sum_bits(value_.width().bits)});
  }
  std::unique_ptr<MixerState<A>> start() const override {
    auto state = std::make_unique<State>();
    for (std::int64_t h = 0; h < shape_.kv_heads; ++h) {
      state->tokens.emplace_back(shape_.key_dim, shape_.value_dim, rule_, widths_);
      state->windows.emplace_back(shape_.key_dim, shape_.value_dim, rule_, widths_);
    }
    return state;
  }
  void step(MixerState<A>& generic, const Value* x, Value* y) const override {
    auto& state = static_cast<State&>(generic);
    append(state, applied(key_, x), applied(value_, x));
    if (y) read(state, x, y);
    ++state.t;
  }
  std::vector<int> state_widths(std::int64_t t) const override {
    return entry_widths(shape_, shape_.kv_heads * t, key_.width().bits, value_.width().bits);
  }
  std::unique_ptr<MixerState<A>> restore(std::span<const Value> numbers, std::int64_t t) const override {
    RUNG_REQUIRE(numbers.size() == state_widths(t).size(), "{} numbers of a state of {}", numbers.size(),
                 state_widths(t).size());
    auto generic = start();
    auto& state = static_cast<State&>(*generic);
    const std::int64_t token = shape_.key_dim + shape_.value_dim;
    for (; state.t < t; ++state.t) {
      std::vector<Value> key, value;
      for (std::int64_t h = 0; h < shape_.kv_heads; ++h) {
        const auto from = numbers.begin() + (h * t + state.t) * token, split = from + shape_.key_dim;
        key.insert(key.end(), from, split);
        value.insert(value.end(), split, from + token);
      }
      append(state, std::move(key), value);
    }
    return generic;
  }

 private:
  // How the keys, or the values, of a window become one.
  struct Side {
    Side() = default;
    Side(TensorSource& source, const std::string& name, const MixerShape& shape, std::int64_t dim_)
        : dim(dim_), span(shape.form.span), width(source.width(name)) {
      const bool weighted = shape.form.compress == Compression::weighted;
      if (!weighted && shape.form.compress != Compression::linear) return;
      weight = source.template numbers<Value>(
          name + ".weight",
          weighted ? std::vector{shape.kv_heads, span} : std::vector{shape.kv_heads, span * dim, dim});
      shift = source.shift(name + ".shift");
    }
    int sum_bits(int input_bits) const {
      const int entry = std::max(input_bits, number_bits(place)) + 1;
      if (weight.empty()) return entry + ceil_lg(static_cast<std::uint64_t>(span)) + 1;
      return entry + number_bits(weight) + ceil_lg(static_cast<std::uint64_t>(span * dim)) +
             shift_growth(shift);
    }
    std::int64_t dim = 0, span = 1;
    Width width;
    std::vector<Value> weight, place;
    int shift = 0;
  };

  std::vector<Value> applied(const LinearMap<A>& map, const Value* x) const {
    std::vector<Value> y(static_cast<std::size_t>(map.rows()));
    map.apply(arithmetic_, x, y.data());
    return y;
  }
  void turn(Value* head, std::int64_t position) const {
    if constexpr (!A::kExact) rotary_.turn(head, position);
  }
  // Token state.t, and the window that ends with it.
  void append(State& state, std::vector<Value> key, const std::vector<Value>& value) const {
    const bool rotated = shape_.form.compress == Compression::mean;
    if (!rotated) remember(state, key, value);
    for (std::int64_t h = 0; h < shape_.kv_heads; ++h) turn(key.data() + h * shape_.key_dim, state.t);
    if (rotated) remember(state, key, value);
    for (std::int64_t h = 0; h < shape_.kv_heads; ++h) {
      auto& store = state.tokens[static_cast<std::size_t>(h)];
      store.resize(state.t + 1);
      store.put(state.t, key.data() + h * shape_.key_dim, value.data() + h * shape_.value_dim);
    }
    const std::int64_t first = state.t + 1 - shape_.form.span;
    if (first >= 0 && first % shape_.form.stride == 0) compress(state, first);
  }
  void remember(State& state, const std::vector<Value>& key, const std::vector<Value>& value) const {
    const auto keep = [&](std::vector<Value>& all, const std::vector<Value>& row) {
      all.insert(all.end(), row.begin(), row.end());
      const std::size_t most = row.size() * static_cast<std::size_t>(shape_.form.span);
      if (all.size() > most) all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(most));
    };
    keep(state.keys, key);
    keep(state.values, value);
  }
  // One window of one head: rows [κ][kv·dim] to `dim` numbers.
  std::vector<Value> compressed(const std::vector<Value>& rows, const Side& side, std::int64_t head) const {
    const std::int64_t span = shape_.form.span, dim = side.dim;
    std::vector<Wide> sums(static_cast<std::size_t>(dim), Wide{0});
    for (std::int64_t j = 0; j < span; ++j)
      for (std::int64_t i = 0; i < dim; ++i) {
        Wide x = rows[static_cast<std::size_t>((j * shape_.kv_heads + head) * dim + i)];
        if (!side.place.empty()) x += side.place[static_cast<std::size_t>((head * span + j) * dim + i)];
        if (side.weight.empty())
          sums[static_cast<std::size_t>(i)] += x;
        else if (shape_.form.compress == Compression::weighted)
          sums[static_cast<std::size_t>(i)] += x * side.weight[static_cast<std::size_t>(head * span + j)];
        else
          for (std::int64_t o = 0; o < dim; ++o)
            sums[static_cast<std::size_t>(o)] +=
                x * side.weight[static_cast<std::size_t>(((head * span + j) * dim + i) * dim + o)];
      }
    std::vector<Value> out;
    for (const Wide sum : sums) {
      if (!side.weight.empty())
        out.push_back(kept(arithmetic_, rounded_, sum, side.shift, side.width));
      else if (rounded_)
        out.push_back(arithmetic_.quotient(sum, static_cast<Wide>(span), 1, side.width));
      else
        out.push_back(arithmetic_.unrounded(sum / static_cast<Wide>(span), 0, side.width));
    }
    return out;
  }
  void compress(State& state, std::int64_t first) const {
    for (std::int64_t h = 0; h < shape_.kv_heads; ++h) {
      auto key = compressed(state.keys, keys_, h);
      const auto value = compressed(state.values, values_, h);
      if (shape_.form.compress != Compression::mean) turn(key.data(), first);
      auto& store = state.windows[static_cast<std::size_t>(h)];
      const std::int64_t at = store.size();
      store.resize(at + 1);
      store.put(at, key.data(), value.data());
    }
  }
  std::int64_t key_head(std::int64_t head) const { return head / (shape_.heads / shape_.kv_heads); }

  std::vector<std::int64_t> selected(const State& state, const std::vector<Value>& query,
                                     std::int64_t group) const {
    const auto& f = shape_.form;
    const auto& windows = state.windows[static_cast<std::size_t>(group)];
    std::vector<Chance> p(static_cast<std::size_t>(windows.size()), Chance{0});
    for (std::int64_t h = 0; h < shape_.heads; ++h) {
      if (key_head(h) != group) continue;
      const auto own = windows.chances(arithmetic_, query.data() + h * shape_.key_dim, chance_fraction_);
      for (std::size_t c = 0; c < p.size(); ++c) p[c] += own[c];
    }
    const std::int64_t own = state.t / shape_.block, per_block = shape_.block / f.stride,
                       reach = f.span / f.stride;
    const auto forced = [&](std::int64_t b) { return b < f.first_blocks || b > own - f.local_blocks; };
    std::vector<Chance> score(static_cast<std::size_t>(own) + 1, Chance{0});
    for (std::int64_t b = 0; b <= own; ++b) {
      if (forced(b)) continue;
      const std::int64_t first = b * per_block - reach + 1, last = (b + 1) * per_block - 1;
      for (std::int64_t c = std::max<std::int64_t>(0, first);
           c <= last && c < static_cast<std::int64_t>(p.size()); ++c) {
        const std::int64_t sum = c - first;  // of i and j: in so many ways
        const std::int64_t ways =
            std::min(sum, reach - 1) - std::max<std::int64_t>(0, sum - per_block + 1) + 1;
        score[static_cast<std::size_t>(b)] += static_cast<Chance>(ways) * p[static_cast<std::size_t>(c)];
      }
    }
    std::vector<std::int64_t> order(score.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      if (forced(a) != forced(b)) return forced(a);
      return score[static_cast<std::size_t>(a)] > score[static_cast<std::size_t>(b)];
    });
    order.resize(std::min(order.size(), static_cast<std::size_t>(shape_.select)));
    std::sort(order.begin(), order.end());
    for (const auto block : order) arithmetic_.watch(selected_site_, static_cast<Wide>(block));
    arithmetic_.watch(selected_site_, Wide{-1});  // the end of a group's list
    return order;
  }
  void read(const State& state, const Value* x, Value* y) const {
    auto query = applied(query_, x);
    for (std::int64_t h = 0; h < shape_.heads; ++h) turn(query.data() + h * shape_.key_dim, state.t);
    const auto gate = applied(gate_, x);
    std::vector<std::vector<std::int64_t>> chosen;
    for (std::int64_t g = 0; g < shape_.kv_heads; ++g) chosen.push_back(selected(state, query, g));
    std::vector<Value> branch(static_cast<std::size_t>(shape_.value_dim));
    std::vector<Wide> sums(branch.size());
    for (std::int64_t h = 0; h < shape_.heads; ++h) {
      const auto group = static_cast<std::size_t>(key_head(h));
      std::fill(sums.begin(), sums.end(), Wide{0});
      const auto add = [&](int which, const Store& store,
                           const std::vector<std::pair<std::int64_t, std::int64_t>>& ranges) {
        auto part = store.sums();
        for (const auto& [begin, end] : ranges)
          store.add(arithmetic_, query.data() + h * shape_.key_dim, begin, end, part);
        store.finish(arithmetic_, part, branch.data());
        const Wide weight = arithmetic_.table(gates_, gate[static_cast<std::size_t>(3 * h + which)]);
        for (std::size_t c = 0; c < branch.size(); ++c) sums[c] += weight * branch[c];
      };
      add(0, state.windows[group], {{0, state.windows[group].size()}});
      std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
      for (const auto b : chosen[group])
        ranges.emplace_back(b * shape_.block, std::min((b + 1) * shape_.block, state.t + 1));
      add(1, state.tokens[group], ranges);
      if (shape_.window)
        add(2, state.tokens[group], {{std::max<std::int64_t>(0, state.t + 1 - *shape_.window), state.t + 1}});
      for (std::size_t c = 0; c < sums.size(); ++c)
        y[h * shape_.value_dim + static_cast<std::int64_t>(c)] =
            arithmetic_.narrow(sums[c], fraction_, rule_.output);
    }
  }

  MixerShape shape_;
  A arithmetic_;
  SoftmaxRule<A> rule_;
  bool rounded_;
  int input_bits_;
  LinearMap<A> query_, key_, value_, gate_;
  Table gates_;
  int fraction_ = 0, chance_fraction_ = 0, selected_site_ = -1;
  Rotary rotary_;
  Side keys_, values_;
  HeadWidths widths_;
};

}  // namespace

template <class A>
std::unique_ptr<MixerFor<A>> make_released_sparse(const MixerContext<A>& context) {
  if (A::kExact && !has_integer_form(context.shape)) return refuse_integer_form(context);
  return std::make_unique<BlockSparse<A>>(context);
}
RUNG_INSTANTIATE_MIXER(make_released_sparse);

}  // namespace rung
