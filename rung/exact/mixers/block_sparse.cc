// Native sparse attention as released, in real numbers (docs/parity.md): compressed, selected and windowed branches
// under three independent gates.
//   compressed  window c covers tokens cs .. cs+κ-1 and is visible once its last token is in the past or present.
//               compress=mean: means of the rotated keys and of the values. pool, weighted, linear: from the unrotated
//               keys with a code per place, then rotated at position cs; values alike without the code.
//   selected    p[c] = softmax over the visible windows, summed over the query heads of a key head. Block b scores
//               Σ_{i<κ/s} Σ_{j<B/s} p[bB/s+i+j-κ/s+1]; the first `first` blocks and the last `local` ones, the own
//               included, come before all others; the best k win, ties to the smaller. Their tokens up to the own.
//   window      the last w tokens.     y = σ(g0) compressed + σ(g1) selected + σ(g2) window
#include <algorithm>
#include <numeric>

#include "rung/exact/attention.h"
#include "rung/exact/released_layer.h"
#include "rung/exact/rotary.h"

namespace rung {
namespace {

class BlockSparse final : public RecurrentMixer<RealArithmetic> {
 public:
  using Value = double;
  using Store = KeyValues<RealArithmetic>;

  explicit BlockSparse(const MixerContext<RealArithmetic>& context)
      : shape_(context.shape),
        arithmetic_(context.arithmetic),
        rule_(SoftmaxRule<RealArithmetic>::read(context)) {
    auto& source = context.source;
    const auto& s = shape_;
    query_ = RealMap(source, "q", s.heads * s.key_dim, context.width);
    key_ = RealMap(source, "k", s.kv_heads * s.key_dim, context.width);
    value_ = RealMap(source, "v", s.kv_heads * s.value_dim, context.width);
    gate_ = RealMap(source, "mix", s.heads * 3, context.width);
    rotary_ = Rotary(source, s.form.rope, s.form.rope_dim, s.form.theta);
    const std::int64_t span = s.form.span;
    switch (s.form.compress) {
      case Compression::mean:
      case Compression::map:
        break;
      case Compression::pool:
        break;
      case Compression::weighted:
        compress_key_ = source.numbers<double>("compress_k.weight", {s.kv_heads, span});
        compress_value_ = source.numbers<double>("compress_v.weight", {s.kv_heads, span});
        break;
      case Compression::linear:
        compress_key_ =
            source.numbers<double>("compress_k.weight", {s.kv_heads, span * s.key_dim, s.key_dim});
        compress_value_ =
            source.numbers<double>("compress_v.weight", {s.kv_heads, span * s.value_dim, s.value_dim});
        break;
    }
    if (s.form.compress != Compression::mean)
      place_ = source.numbers<double>("compress_k.place", {s.kv_heads, span, s.key_dim});
    selected_site_ = source.site("selected");
  }

  struct State final : MixerState<RealArithmetic> {
    std::vector<Store> tokens, windows;  // by key/value head
    std::vector<double> keys, values;    // unrotated, the last κ tokens, oldest first
    std::int64_t t = 0;
    void append_numbers(std::vector<double>& out) const override {
      for (const auto& store : tokens) store.append_numbers(out);
    }
  };
  std::int64_t output_width() const override { return shape_.heads * shape_.value_dim; }
  int sum_bits() const override { return 0; }
  std::unique_ptr<MixerState<RealArithmetic>> start() const override {
    auto state = std::make_unique<State>();
    for (std::int64_t h = 0; h < shape_.kv_heads; ++h) {
      state->tokens.emplace_back(shape_.key_dim, shape_.value_dim, rule_, HeadWidths{});
      state->windows.emplace_back(shape_.key_dim, shape_.value_dim, rule_, HeadWidths{});
    }
    return state;
  }
  void step(MixerState<RealArithmetic>& generic, const double* x, double* y) const override {
    auto& state = static_cast<State&>(generic);
    auto key = key_(arithmetic_, x);
    const auto value = value_(arithmetic_, x);
    const bool rotated = shape_.form.compress == Compression::mean;
    if (!rotated) remember(state, key, value);
    for (std::int64_t h = 0; h < shape_.kv_heads; ++h) rotary_.turn(key.data() + h * shape_.key_dim, state.t);
    if (rotated) remember(state, key, value);
    for (std::int64_t h = 0; h < shape_.kv_heads; ++h) {
      auto& store = state.tokens[static_cast<std::size_t>(h)];
      store.resize(state.t + 1);
      store.put(state.t, key.data() + h * shape_.key_dim, value.data() + h * shape_.value_dim);
    }
    const std::int64_t first = state.t + 1 - shape_.form.span;  // of the window that ends here
    if (first >= 0 && first % shape_.form.stride == 0) compress(state, first);
    if (y) read(state, x, y);
    ++state.t;
  }

 private:
  void remember(State& state, const std::vector<double>& key, const std::vector<double>& value) const {
    const auto keep = [&](std::vector<double>& all, const std::vector<double>& row) {
      all.insert(all.end(), row.begin(), row.end());
      const std::size_t most = row.size() * static_cast<std::size_t>(shape_.form.span);
      if (all.size() > most) all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(most));
    };
    keep(state.keys, key);
    keep(state.values, value);
  }
  // One window of one head: rows [κ][kv·dim] to `dim` numbers.
  std::vector<double> compressed(const std::vector<double>& rows, const std::vector<double>& weight,
                                 const double* place, std::int64_t head, std::int64_t dim) const {
    const std::int64_t span = shape_.form.span;
    std::vector<double> out(static_cast<std::size_t>(dim), 0.0);
    for (std::int64_t j = 0; j < span; ++j)
      for (std::int64_t i = 0; i < dim; ++i) {
        double x = rows[static_cast<std::size_t>((j * shape_.kv_heads + head) * dim + i)];
        if (place) x += place[(head * span + j) * dim + i];
        switch (shape_.form.compress) {
          case Compression::map:
          case Compression::mean:
          case Compression::pool:
            out[static_cast<std::size_t>(i)] += x / static_cast<double>(span);
            break;
          case Compression::weighted:
            out[static_cast<std::size_t>(i)] += x * weight[static_cast<std::size_t>(head * span + j)];
            break;
          case Compression::linear:
            for (std::int64_t o = 0; o < dim; ++o)
              out[static_cast<std::size_t>(o)] +=
                  x * weight[static_cast<std::size_t>(((head * span + j) * dim + i) * dim + o)];
            break;
        }
      }
    return out;
  }
  void compress(State& state, std::int64_t first) const {
    const bool rotated = shape_.form.compress == Compression::mean;
    for (std::int64_t h = 0; h < shape_.kv_heads; ++h) {
      auto key = compressed(state.keys, compress_key_, rotated ? nullptr : place_.data(), h, shape_.key_dim);
      const auto value = compressed(state.values, compress_value_, nullptr, h, shape_.value_dim);
      if (!rotated) rotary_.turn(key.data(), first);
      auto& store = state.windows[static_cast<std::size_t>(h)];
      const std::int64_t at = store.size();
      store.resize(at + 1);
      store.put(at, key.data(), value.data());
    }
  }
  std::int64_t key_head(std::int64_t head) const { return head / (shape_.heads / shape_.kv_heads); }

  std::vector<std::int64_t> selected(const State& state, const std::vector<double>& query,
                                     std::int64_t group) const {
    const auto& f = shape_.form;
    const auto& windows = state.windows[static_cast<std::size_t>(group)];
    std::vector<double> p(static_cast<std::size_t>(windows.size()), 0.0);
    for (std::int64_t h = 0; h < shape_.heads; ++h) {
      if (key_head(h) != group || p.empty()) continue;
      std::vector<double> weight(p.size());
      for (std::size_t c = 0; c < p.size(); ++c)
        weight[c] = rule_.tau * windows.score(arithmetic_, query.data() + h * shape_.key_dim,
                                              static_cast<std::int64_t>(c));
      const double top = *std::max_element(weight.begin(), weight.end());
      double sum = 0;
      for (auto& w : weight) sum += w = std::exp(w - top);
      for (std::size_t c = 0; c < p.size(); ++c) p[c] += weight[c] / sum;
    }
    const std::int64_t own = state.t / shape_.block, per_block = shape_.block / f.stride,
                       reach = f.span / f.stride;
    std::vector<double> score(static_cast<std::size_t>(own) + 1, 0.0);
    for (std::int64_t b = 0; b <= own; ++b) {
      auto& total = score[static_cast<std::size_t>(b)];
      for (std::int64_t i = 0; i < reach; ++i)
        for (std::int64_t j = 0; j < per_block; ++j)
          if (const std::int64_t c = b * per_block + i + j - reach + 1;
              c >= 0 && c < static_cast<std::int64_t>(p.size()))
            total += p[static_cast<std::size_t>(c)];
      if (b < f.first_blocks || b > own - f.local_blocks) total = INFINITY;
    }
    std::vector<std::int64_t> order(score.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return score[static_cast<std::size_t>(a)] > score[static_cast<std::size_t>(b)];
    });
    order.resize(std::min(order.size(), static_cast<std::size_t>(shape_.select)));
    std::sort(order.begin(), order.end());
    for (const auto block : order) arithmetic_.watch(selected_site_, static_cast<double>(block));
    arithmetic_.watch(selected_site_, -1);  // the end of a group's list
    return order;
  }
  void read(const State& state, const double* x, double* y) const {
    auto query = query_(arithmetic_, x);
    for (std::int64_t h = 0; h < shape_.heads; ++h) rotary_.turn(query.data() + h * shape_.key_dim, state.t);
    const auto gate = gate_(arithmetic_, x);
    std::vector<std::vector<std::int64_t>> chosen;
    for (std::int64_t g = 0; g < shape_.kv_heads; ++g) chosen.push_back(selected(state, query, g));
    std::vector<double> branch(static_cast<std::size_t>(shape_.value_dim));
    for (std::int64_t h = 0; h < shape_.heads; ++h) {
      const auto group = static_cast<std::size_t>(key_head(h));
      double* out = y + h * shape_.value_dim;
      std::fill_n(out, shape_.value_dim, 0.0);
      const auto add = [&](int which, const Store& store,
                           const std::vector<std::pair<std::int64_t, std::int64_t>>& ranges) {
        auto sums = store.sums();
        for (const auto& [begin, end] : ranges)
          store.add(arithmetic_, query.data() + h * shape_.key_dim, begin, end, sums);
        store.finish(arithmetic_, sums, branch.data());
        const double weight = logistic(gate[static_cast<std::size_t>(3 * h + which)]);
        for (std::int64_t c = 0; c < shape_.value_dim; ++c)
          out[c] += weight * branch[static_cast<std::size_t>(c)];
      };
      add(0, state.windows[group], {{0, state.windows[group].size()}});
      std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
      for (const auto b : chosen[group])
        ranges.emplace_back(b * shape_.block, std::min((b + 1) * shape_.block, state.t + 1));
      add(1, state.tokens[group], ranges);
      if (shape_.window)
        add(2, state.tokens[group], {{std::max<std::int64_t>(0, state.t + 1 - *shape_.window), state.t + 1}});
      for (std::int64_t c = 0; c < shape_.value_dim; ++c)
        out[c] = arithmetic_.narrow(out[c], 0, rule_.output);
    }
  }

  MixerShape shape_;
  RealArithmetic arithmetic_;
  SoftmaxRule<RealArithmetic> rule_;
  RealMap query_, key_, value_, gate_;
  Rotary rotary_;
  std::vector<double> compress_key_, compress_value_, place_;
  int selected_site_ = -1;
};

std::unique_ptr<MixerFor<RealArithmetic>> real_block_sparse(const MixerContext<RealArithmetic>& context) {
  return std::make_unique<BlockSparse>(context);
}

}  // namespace

RUNG_REAL_FORM(make_released_sparse, real_block_sparse);

}  // namespace rung
