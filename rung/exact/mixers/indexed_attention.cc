// DeepSeek sparse attention whose keys or index keys turn, in real numbers (docs/parity.md). With a latent (kv_rank > 0), multi-head
// latent attention:
//   q_r = rms(W_qa u), q = W_q q_r per head [nope | rope];  (c, k_rope) = W_kva u, c ← rms(c), k = W_k c, v = W_v c
//   the key of a head is [k | k_rope]; k_rope turns once and is shared by the heads
// without one q, k and v are maps of u and turn as `rope` says. Either way:
//   I(t, s) = Σ_h m_t[h] relu(q_I[h]·k_I(s)), k_I layer-normed, its first rope_dim entries turned; weights=signed
//   takes m as it is, clamped its positive part; the k best s <= t win, ties to the smaller; softmax over them alone.
// State, per token: what the latent keeps (c, k_rope) or k and v, and k_I.
#include <algorithm>
#include <numeric>

#include "rung/exact/attention.h"
#include "rung/exact/released_layer.h"
#include "rung/exact/rotary.h"

namespace rung {
namespace {

class IndexedAttention final : public RecurrentMixer<RealArithmetic> {
 public:
  using Value = double;

  explicit IndexedAttention(const MixerContext<RealArithmetic>& context)
      : shape_(context.shape),
        arithmetic_(context.arithmetic),
        rule_(SoftmaxRule<RealArithmetic>::read(context)) {
    auto& source = context.source;
    const auto& s = shape_;
    const auto& f = s.form;
    rotary_ = Rotary(source, f.rope, f.rope_dim, f.theta);
    index_rotary_ = Rotary(source, f.index_rope, f.rope_dim, f.theta);
    std::int64_t query_width = context.width;
    if (f.kv_rank > 0) {
      nope_ = s.key_dim - f.rope_dim;
      query_low_ = RealMap(source, "q_low", f.q_rank, context.width);
      query_gain_ = source.numbers<double>("q_norm.gain", {f.q_rank});
      query_epsilon_ = source.real_scalar("q_norm.epsilon", 0);
      latent_ = RealMap(source, "kv_low", f.kv_rank + f.rope_dim, context.width);
      latent_gain_ = source.numbers<double>("kv_norm.gain", {f.kv_rank});
      latent_epsilon_ = source.real_scalar("kv_norm.epsilon", 0);
      key_ = RealMap(source, "k", s.heads * nope_, f.kv_rank);
      value_ = RealMap(source, "v", s.heads * s.value_dim, f.kv_rank);
      query_width = f.q_rank;
    } else {
      key_ = RealMap(source, "k", s.kv_heads * s.key_dim, context.width);
      value_ = RealMap(source, "v", s.kv_heads * s.value_dim, context.width);
    }
    query_ = RealMap(source, "q", s.heads * s.key_dim, query_width);
    index_query_ = RealMap(source, "index_q", s.index_heads * s.index_dim, query_width);
    index_key_ = RealMap(source, "index_k", s.index_dim, context.width);
    index_mix_ = RealMap(source, "index_mix", s.index_heads, context.width);
    if (f.index_norm) {
      index_gain_ = source.numbers<double>("index_norm.gain", {s.index_dim});
      index_bias_ = source.numbers<double>("index_norm.bias", {s.index_dim});
      index_epsilon_ = source.real_scalar("index_norm.epsilon", 0);
    }
    score_site_ = source.site("index.score");
    selected_site_ = source.site("selected");
  }

  struct State final : MixerState<RealArithmetic> {
    std::vector<KeyValues<RealArithmetic>>
        heads;                 // keys and values of every key/value head (latent: every head)
    std::vector<double> kept;  // latent: c and k_rope, token after token
    std::vector<double> index_keys;
    std::int64_t t = 0;
    bool latent = false;
    void append_numbers(std::vector<double>& out) const override {
      if (latent)
        out.insert(out.end(), kept.begin(), kept.end());
      else
        for (const auto& head : heads) head.append_numbers(out);
      out.insert(out.end(), index_keys.begin(), index_keys.end());
    }
  };
  std::int64_t output_width() const override { return shape_.heads * shape_.value_dim; }
  int sum_bits() const override { return 0; }
  std::unique_ptr<MixerState<RealArithmetic>> start() const override {
    auto state = std::make_unique<State>();
    state->latent = shape_.form.kv_rank > 0;
    for (std::int64_t h = 0; h < stores(); ++h)
      state->heads.emplace_back(shape_.key_dim, shape_.value_dim, rule_, HeadWidths{});
    return state;
  }
  void step(MixerState<RealArithmetic>& generic, const double* x, double* y) const override {
    auto& state = static_cast<State&>(generic);
    append(state, x);
    if (y) read(state, x, y);
    ++state.t;
  }

 private:
  std::int64_t stores() const { return shape_.form.kv_rank > 0 ? shape_.heads : shape_.kv_heads; }
  static void scale(std::vector<double>& row, std::size_t size, const std::vector<double>& gain,
                    double epsilon) {
    divide_by_root(row.data(), static_cast<std::int64_t>(size), static_cast<double>(size), epsilon);
    for (std::size_t i = 0; i < size; ++i) row[i] *= gain[i];
  }
  void append(State& state, const double* x) const {
    const auto& f = shape_.form;
    std::vector<double> key, value, shared;
    if (f.kv_rank > 0) {
      auto latent = latent_(arithmetic_, x);
      shared.assign(latent.begin() + f.kv_rank, latent.end());
      latent.resize(static_cast<std::size_t>(f.kv_rank));
      scale(latent, latent.size(), latent_gain_, latent_epsilon_);
      rotary_.turn(shared.data(), state.t);
      state.kept.insert(state.kept.end(), latent.begin(), latent.end());
      state.kept.insert(state.kept.end(), shared.begin(), shared.end());
      key = key_(arithmetic_, latent.data());
      value = value_(arithmetic_, latent.data());
    } else {
      key = key_(arithmetic_, x);
      value = value_(arithmetic_, x);
    }
    const std::int64_t own = static_cast<std::int64_t>(key.size()) / stores();
    for (std::int64_t h = 0; h < stores(); ++h) {
      std::vector<double> whole(key.begin() + h * own, key.begin() + (h + 1) * own);
      if (f.kv_rank > 0)
        whole.insert(whole.end(), shared.begin(), shared.end());
      else
        rotary_.turn(whole.data(), state.t);
      auto& store = state.heads[static_cast<std::size_t>(h)];
      store.resize(state.t + 1);
      store.put(state.t, whole.data(), value.data() + h * shape_.value_dim);
    }
    auto index = index_key_(arithmetic_, x);
    if (f.index_norm) {
      double mean = 0;
      for (const double entry : index) mean += entry / static_cast<double>(index.size());
      for (auto& entry : index) entry -= mean;
      scale(index, index.size(), index_gain_, index_epsilon_);
      for (std::size_t i = 0; i < index.size(); ++i) index[i] += index_bias_[i];
    }
    index_rotary_.turn(index.data(), state.t);
    state.index_keys.insert(state.index_keys.end(), index.begin(), index.end());
  }
  std::vector<std::int64_t> selected(const State& state, std::vector<double> query, const double* x) const {
    const auto mix = index_mix_(arithmetic_, x);
    const std::int64_t dim = shape_.index_dim;
    for (std::int64_t h = 0; h < shape_.index_heads; ++h) index_rotary_.turn(query.data() + h * dim, state.t);
    std::vector<double> score(static_cast<std::size_t>(state.t) + 1, 0.0);
    for (std::size_t j = 0; j < score.size(); ++j) {
      for (std::int64_t h = 0; h < shape_.index_heads; ++h) {
        double dot = 0;
        for (std::int64_t c = 0; c < dim; ++c)
          dot += query[static_cast<std::size_t>(h * dim + c)] *
                 state.index_keys[j * static_cast<std::size_t>(dim) + static_cast<std::size_t>(c)];
        const double weight = mix[static_cast<std::size_t>(h)];
        score[j] += (shape_.signed_weights ? weight : std::max(weight, 0.0)) * std::max(dot, 0.0);
      }
      arithmetic_.watch(score_site_, score[j]);
    }
    std::vector<std::int64_t> order(score.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return score[static_cast<std::size_t>(a)] > score[static_cast<std::size_t>(b)];
    });
    order.resize(std::min(order.size(), static_cast<std::size_t>(shape_.select)));
    std::sort(order.begin(), order.end());
    for (const auto token : order) arithmetic_.watch(selected_site_, static_cast<double>(token));
    arithmetic_.watch(selected_site_, -1);  // the end of a query's list
    return order;
  }
  void read(const State& state, const double* x, double* y) const {
    const auto& f = shape_.form;
    std::vector<double> low;
    if (f.kv_rank > 0) {
      low = query_low_(arithmetic_, x);
      scale(low, low.size(), query_gain_, query_epsilon_);
    }
    const double* from = f.kv_rank > 0 ? low.data() : x;
    auto query = query_(arithmetic_, from);
    const auto order = selected(state, index_query_(arithmetic_, from), x);
    for (std::int64_t h = 0; h < shape_.heads; ++h) {
      double* head = query.data() + h * shape_.key_dim;
      rotary_.turn(head, state.t, nope_);
      const auto& store = state.heads[static_cast<std::size_t>(h / (shape_.heads / stores()))];
      auto sums = store.sums();
      for (const auto j : order) store.add(arithmetic_, head, j, j + 1, sums);
      store.finish(arithmetic_, sums, y + h * shape_.value_dim);
    }
  }

  MixerShape shape_;
  RealArithmetic arithmetic_;
  SoftmaxRule<RealArithmetic> rule_;
  Rotary rotary_, index_rotary_;
  std::int64_t nope_ = 0;  // entries of a head before those that turn
  RealMap query_low_, query_, latent_, key_, value_, index_query_, index_key_, index_mix_;
  std::vector<double> query_gain_, latent_gain_, index_gain_, index_bias_;
  double query_epsilon_ = 0, latent_epsilon_ = 0, index_epsilon_ = 0;
  int score_site_ = -1, selected_site_ = -1;
};

std::unique_ptr<MixerFor<RealArithmetic>> real_indexed(const MixerContext<RealArithmetic>& context) {
  return std::make_unique<IndexedAttention>(context);
}

}  // namespace

RUNG_REAL_FORM(make_released_topk, real_indexed);

}  // namespace rung
