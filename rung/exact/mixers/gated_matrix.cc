// The released recurrences on matrix states, in real numbers: DeltaNet, Gated DeltaNet, Kimi Delta Attention, GLA,
// Mamba-2, and log-linear attention over Mamba-2 and Gated DeltaNet (docs/parity.md has the references).
//
// Per head h with a state S of key_dim × value_dim:
//   S ← diag(decay) S;  S ← S + k vᵀ  (additive)  or  S ← S + β k (v - Sᵀk)ᵀ  (delta rule);  o = Sᵀ q
// What differs is the front, which makes q, k, v, decay and β from the layer's input, and the output stage.
// Log-linear attention keeps one S per level, all under the token's transition, and reads Σ λ_t[level] S_levelᵀ q.
//
// Invariant: a state is stored as value_dim rows of key_dim entries, head after head, like MatrixCell's.
#include <bit>

#include "rung/exact/released_layer.h"

namespace rung {
namespace {

using RealContext = MixerContext<RealArithmetic>;

// One token, head after head.
struct MatrixToken {
  std::vector<double> q, k, v;  // [states][key_dim], [states][value_dim]; q [heads][key_dim]
  std::vector<double> decay;    // [states][key_dim]; empty: 1
  std::vector<double> beta;     // [states]; empty: additive
  std::vector<double> skip;     // [heads][value_dim], added to what is read; empty: nothing
};

// The front of a family.
class MatrixFront {
 public:
  using Buffer = Projection<RealArithmetic>::Buffer;
  explicit MatrixFront(const RealContext& context)
      : shape(context.shape), arithmetic(context.arithmetic), projection(context.arithmetic) {}
  virtual ~MatrixFront() = default;
  // The states of the layer: one per value head, or per key/value head where values are shared (GLA).
  virtual std::int64_t states() const { return shape.heads; }
  virtual void token(Buffer& buffer, const double* x, MatrixToken& out) const = 0;

  const MixerShape shape;
  const RealArithmetic arithmetic;
  Projection<RealArithmetic> projection;

 protected:
  std::int64_t key_head(std::int64_t head) const { return head / (shape.heads / shape.kv_heads); }
  // Copies per key head to per value head.
  std::vector<double> for_heads(const double* rows) const {
    std::vector<double> out(static_cast<std::size_t>(shape.heads * shape.key_dim));
    for (std::int64_t h = 0; h < shape.heads; ++h)
      std::copy_n(rows + key_head(h) * shape.key_dim, shape.key_dim, out.begin() + h * shape.key_dim);
    return out;
  }
  std::vector<double> channels(Buffer& buffer, const double* x) const {
    std::vector<double> row(static_cast<std::size_t>(projection.channels()));
    projection.step(buffer, x, row.data());
    return row;
  }
};

// exp(a_h softplus(z)), a_h = -e^{A_log}: the decay of Mamba-2, Gated DeltaNet and KDA.
class StepDecay {
 public:
  StepDecay() = default;
  StepDecay(const RealContext& context, const char* name, std::int64_t rows, std::int64_t rank)
      : map_(context.source, name, rows, context.width, rank),
        slope_(context.source.numbers<double>("a.weight", {context.shape.heads})) {}
  std::vector<double> read(const RealArithmetic& arithmetic, const double* x) const {
    return map_(arithmetic, x);
  }
  double slope(std::int64_t head) const { return slope_[static_cast<std::size_t>(head)]; }

 private:
  RealMap map_;
  std::vector<double> slope_;
};

// DeltaNet, Gated DeltaNet, KDA.
class DeltaFront final : public MatrixFront {
 public:
  DeltaFront(const RealContext& context, MixerKind kind) : MatrixFront(context), kind_(kind) {
    auto& source = context.source;
    projection.add(source.map<RealArithmetic>("q", shape.kv_heads * shape.key_dim, context.width));
    projection.add(source.map<RealArithmetic>("k", shape.kv_heads * shape.key_dim, context.width));
    projection.add(source.map<RealArithmetic>("v", shape.heads * shape.value_dim, context.width));
    projection.convolve(context, 0);
    if (shape.form.beta) beta_ = RealMap(source, "beta", shape.heads, context.width);
    if (kind == MixerKind::gdelta && shape.form.step) decay_ = StepDecay(context, "gate", shape.heads, 0);
    if (kind == MixerKind::gdelta && !shape.form.step)
      sigmoid_decay_ = RealMap(source, "gate", shape.heads, context.width);
    if (kind == MixerKind::kda) {
      decay_ = StepDecay(context, "gate", shape.heads * shape.key_dim, shape.form.rank);
      if (shape.form.bounded) bound_ = source.real_scalar("gate.bound", -5);
    }
  }
  void token(Buffer& buffer, const double* x, MatrixToken& out) const override {
    auto row = channels(buffer, x);
    const std::int64_t keys = shape.kv_heads * shape.key_dim;
    for (std::int64_t i = 0; i < 2 * keys; ++i)
      row[static_cast<std::size_t>(i)] = activate(shape.form.key_act, row[static_cast<std::size_t>(i)]);
    for (std::size_t i = static_cast<std::size_t>(2 * keys); i < row.size(); ++i)
      row[i] = activate(shape.form.act, row[i]);
    for (std::int64_t h = 0; h < 2 * shape.kv_heads; ++h)
      scale_key(shape.form.key_norm, row.data() + h * shape.key_dim, shape.key_dim);
    out.q = for_heads(row.data());
    out.k = for_heads(row.data() + keys);
    out.v.assign(row.begin() + 2 * keys, row.end());
    // Log-linear attention divides its level weights by the scale of q, which cancels it.
    if (shape.form.scaled && shape.kind != MixerKind::loglinear)
      for (auto& q : out.q) q /= std::sqrt(static_cast<double>(shape.key_dim));
    out.beta.assign(static_cast<std::size_t>(shape.heads), 1.0);
    if (shape.form.beta) {
      out.beta = beta_(arithmetic, x);
      for (auto& beta : out.beta) beta = logistic(beta);
    }
    for (auto& beta : out.beta) beta *= static_cast<double>(shape.range);
    decays(x, out.decay);
  }

 private:
  void decays(const double* x, std::vector<double>& out) const {
    if (kind_ == MixerKind::delta) return;
    const auto z = kind_ == MixerKind::gdelta && !shape.form.step ? sigmoid_decay_(arithmetic, x)
                                                                  : decay_.read(arithmetic, x);
    out.resize(static_cast<std::size_t>(shape.heads * shape.key_dim));
    for (std::int64_t h = 0; h < shape.heads; ++h)
      for (std::int64_t c = 0; c < shape.key_dim; ++c) {
        const auto i = static_cast<std::size_t>(h * shape.key_dim + c);
        if (kind_ == MixerKind::gdelta)
          out[i] = shape.form.step
                       ? std::exp(decay_.slope(h) * released_softplus(z[static_cast<std::size_t>(h)]))
                       : logistic(-z[static_cast<std::size_t>(h)]);
        else
          out[i] = std::exp(shape.form.bounded ? bound_ * logistic(-decay_.slope(h) * z[i])
                                               : decay_.slope(h) * released_softplus(z[i]));
      }
  }

  MixerKind kind_;
  RealMap beta_, sigmoid_decay_;
  StepDecay decay_;
  double bound_ = 0;
};

// GLA: keys, values and decays are shared by the query heads of a group, so a group has one state.
class GlaFront final : public MatrixFront {
 public:
  explicit GlaFront(const RealContext& context) : MatrixFront(context) {
    auto& source = context.source;
    projection.add(source.map<RealArithmetic>("q", shape.heads * shape.key_dim, context.width));
    projection.add(source.map<RealArithmetic>("k", shape.kv_heads * shape.key_dim, context.width));
    projection.add(source.map<RealArithmetic>("v", shape.kv_heads * shape.value_dim, context.width));
    projection.convolve(context, 0);
    gate_ = RealMap(source, "gate", shape.kv_heads * shape.key_dim, context.width, shape.form.rank);
    divisor_ = source.real_scalar("gate.divisor", 16);
    if (source.has("gate.floor")) floor_ = source.real_scalar("gate.floor", 0);
  }
  std::int64_t states() const override { return shape.kv_heads; }
  void token(Buffer& buffer, const double* x, MatrixToken& out) const override {
    auto row = channels(buffer, x);
    for (auto& value : row) value = activate(shape.form.act, value);
    const std::int64_t queries = shape.heads * shape.key_dim, keys = shape.kv_heads * shape.key_dim;
    for (std::int64_t i = 0; i < queries + keys; ++i)
      row[static_cast<std::size_t>(i)] = activate(shape.form.key_act, row[static_cast<std::size_t>(i)]);
    out.q.assign(row.begin(), row.begin() + queries);
    out.k.assign(row.begin() + queries, row.begin() + queries + keys);
    out.v.assign(row.begin() + queries + keys, row.end());
    for (auto& q : out.q) q /= std::sqrt(static_cast<double>(shape.key_dim));
    out.decay = gate_(arithmetic, x);
    for (auto& decay : out.decay) {
      double logarithm = log_logistic(decay) / divisor_;
      if (floor_) logarithm = std::max(logarithm, *floor_);
      decay = std::exp(logarithm);
    }
  }

 private:
  RealMap gate_;
  double divisor_ = 16;
  std::optional<double> floor_;
};

// Mamba-2: k = B, q = C, v = Δ x, decay e^{AΔ}, Δ = clamp(softplus(dt), limits).
class StepFront final : public MatrixFront {
 public:
  explicit StepFront(const RealContext& context) : MatrixFront(context) {
    auto& source = context.source;
    projection.add(source.map<RealArithmetic>("x", shape.heads * shape.value_dim, context.width));
    projection.add(source.map<RealArithmetic>("b", shape.kv_heads * shape.key_dim, context.width));
    projection.add(source.map<RealArithmetic>("c", shape.kv_heads * shape.key_dim, context.width));
    projection.convolve(context, 0);
    if (shape.form.step) {
      step_ = StepDecay(context, "dt", shape.heads, 0);
      low_ = source.real_scalar("dt.low", 0);
      high_ = source.real_scalar("dt.high", std::numeric_limits<double>::infinity());
    } else {
      gate_ = RealMap(source, "gate", shape.heads, context.width);
    }
    if (shape.form.skip != Skip::none)
      skip_ = source.numbers<double>(
          "skip.weight", {shape.form.skip == Skip::head ? shape.heads : shape.heads * shape.value_dim});
  }
  void token(Buffer& buffer, const double* x, MatrixToken& out) const override {
    auto row = channels(buffer, x);
    for (auto& value : row) value = activate(shape.form.act, value);
    const std::int64_t inner = shape.heads * shape.value_dim;
    out.v.assign(row.begin(), row.begin() + inner);
    out.k = for_heads(row.data() + inner);
    out.q = for_heads(row.data() + inner + shape.kv_heads * shape.key_dim);
    if (!skip_.empty()) {
      out.skip = out.v;
      for (std::int64_t i = 0; i < inner; ++i)
        out.skip[static_cast<std::size_t>(i)] *=
            skip_[static_cast<std::size_t>(shape.form.skip == Skip::head ? i / shape.value_dim : i)];
    }
    out.decay.resize(static_cast<std::size_t>(shape.heads * shape.key_dim));
    const auto z = shape.form.step ? step_.read(arithmetic, x) : gate_(arithmetic, x);
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      double decay = 0;
      if (shape.form.step) {
        const double step = std::clamp(released_softplus(z[static_cast<std::size_t>(h)]), low_, high_);
        decay = std::exp(step_.slope(h) * step);
        for (std::int64_t r = 0; r < shape.value_dim; ++r)
          out.v[static_cast<std::size_t>(h * shape.value_dim + r)] *= step;
      } else {
        decay = logistic(-z[static_cast<std::size_t>(h)]);
      }
      std::fill_n(out.decay.begin() + h * shape.key_dim, shape.key_dim, decay);
    }
  }

 private:
  StepDecay step_;
  RealMap gate_;
  double low_ = 0, high_ = 0;
  std::vector<double> skip_;
};

// The recurrence with one state, or with a state per level.
class GatedMatrix final : public RecurrentMixer<RealArithmetic> {
 public:
  using Value = double;
  struct Settings {
    std::int64_t gain = 0, group = 0, gate_rank = 0;  // of the output stage
    std::int64_t levels = 0;                          // 0: one state
  };
  GatedMatrix(const RealContext& context, std::unique_ptr<MatrixFront> front, const Settings& settings)
      : front_(std::move(front)), levels_(settings.levels) {
    auto& source = context.source;
    const auto& s = front_->shape;
    state_site_ = source.site("state");
    core_site_ = source.site("core");
    if (levels_ > 0) level_ = RealMap(source, "level", s.heads * levels_, context.width);
    output_ = OutputStage(context, s.heads * s.value_dim, settings.gain, settings.group, settings.gate_rank);
  }

  struct State final : MixerState<RealArithmetic> {
    MatrixFront::Buffer buffer;
    std::vector<std::vector<double>> levels;  // one without levels; an empty one holds no token
    std::vector<std::int64_t> counts;         // tokens of each level
    void append_numbers(std::vector<double>& out) const override {
      for (const auto& level : levels) out.insert(out.end(), level.begin(), level.end());
      out.insert(out.end(), buffer.earlier.begin(), buffer.earlier.end());
    }
  };
  std::int64_t output_width() const override { return front_->shape.heads * front_->shape.value_dim; }
  int sum_bits() const override { return 0; }
  std::unique_ptr<MixerState<RealArithmetic>> start() const override {
    auto state = std::make_unique<State>();
    state->buffer = front_->projection.start();
    state->levels.resize(static_cast<std::size_t>(std::max<std::int64_t>(levels_, 1)));
    state->counts.assign(state->levels.size(), 0);
    if (levels_ == 0) state->levels[0].assign(state_size(), 0.0);
    return state;
  }
  void step(MixerState<RealArithmetic>& generic, const double* x, double* y) const override {
    auto& state = static_cast<State&>(generic);
    MatrixToken token;
    front_->token(state.buffer, x, token);
    if (levels_ > 0) {
      if (front_->shape.form.strong)
        carry_strong(state);
      else
        carry_weak(state);
      for (auto& level : state.levels)
        if (!level.empty()) advance(level.data(), token, false);
      state.levels[0].assign(state_size(), 0.0);
      state.counts[0] = 1;
    }
    advance(state.levels[0].data(), token, true);
    if (state_site_ >= 0)
      for (const auto& level : state.levels)
        for (const double entry : level) front_->arithmetic.watch(state_site_, entry);
    if (y) read(state, token, x, y);
  }

 private:
  std::size_t state_size() const {
    const auto& s = front_->shape;
    return static_cast<std::size_t>(front_->states() * s.value_dim * s.key_dim);
  }
  // The token's transition; with its own term, or without (a state that it does not write to).
  void advance(double* states, const MatrixToken& token, bool with_value) const {
    const auto& s = front_->shape;
    for (std::int64_t h = 0; h < front_->states(); ++h) {
      const double* key = token.k.data() + h * s.key_dim;
      const double* decay = token.decay.empty() ? nullptr : token.decay.data() + h * s.key_dim;
      for (std::int64_t r = 0; r < s.value_dim; ++r) {
        double* row = states + (h * s.value_dim + r) * s.key_dim;
        double seen = 0;
        for (std::int64_t c = 0; c < s.key_dim; ++c) {
          if (decay) row[c] *= decay[c];
          seen += row[c] * key[c];
        }
        const double value = with_value ? token.v[static_cast<std::size_t>(h * s.value_dim + r)] : 0;
        const double written =
            token.beta.empty() ? value : token.beta[static_cast<std::size_t>(h)] * (value - seen);
        for (std::int64_t c = 0; c < s.key_dim; ++c)
          row[c] = front_->arithmetic.settle(row[c] + written * key[c]);
      }
    }
  }
  // Weak: from level 0 upward, a level that holds 2^level tokens is added to the next one.
  void carry_weak(State& state) const {
    for (std::size_t level = 0; level + 1 < state.levels.size(); ++level) {
      if (state.counts[level] < std::int64_t{1} << level) return;
      add(state.levels[level + 1], state.levels[level]);
      state.counts[level + 1] += state.counts[level];
      state.levels[level].clear();
      state.counts[level] = 0;
    }
  }
  // Strong: levels 0 and 1 hold one token, level l holds 2^(l-1); what does not fit goes up, the newer stays.
  void carry_strong(State& state) const {
    std::vector<double> carry;
    std::int64_t carried = 0;
    for (std::size_t level = 0; level < state.levels.size(); ++level) {
      const std::int64_t capacity = level == 0 ? 1 : std::int64_t{1} << (level - 1);
      if (level == 0 || state.counts[level] + carried > capacity) {
        std::swap(state.levels[level], carry);
        std::swap(state.counts[level], carried);
      } else {
        if (!carry.empty()) add(state.levels[level], carry);
        state.counts[level] += carried;
        carry.clear();
        carried = 0;
      }
    }
    RUNG_REQUIRE(carried == 0, "{} tokens beyond the last level", carried);
  }
  void add(std::vector<double>& into, const std::vector<double>& from) const {
    if (into.empty()) into.assign(from.size(), 0.0);
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = front_->arithmetic.settle(into[i] + from[i]);
  }
  void read(const State& state, const MatrixToken& token, const double* x, double* y) const {
    const auto& s = front_->shape;
    std::vector<double> weight(state.levels.size(), 1.0), lambda;
    if (levels_ > 0) {
      lambda = level_(front_->arithmetic, x);
      for (auto& value : lambda) value = released_softplus(value);
    }
    std::vector<double> core(static_cast<std::size_t>(output_width()), 0.0);
    for (std::size_t level = 0; level < state.levels.size(); ++level) {
      if (state.levels[level].empty()) continue;
      for (std::int64_t h = 0; h < s.heads; ++h) {
        const std::int64_t owner = h / (s.heads / front_->states());
        const double scale = levels_ > 0 ? lambda[static_cast<std::size_t>(h * levels_) + level] : 1.0;
        for (std::int64_t r = 0; r < s.value_dim; ++r) {
          const double* row = state.levels[level].data() + (owner * s.value_dim + r) * s.key_dim;
          double sum = 0;
          for (std::int64_t c = 0; c < s.key_dim; ++c)
            sum += row[c] * token.q[static_cast<std::size_t>(h * s.key_dim + c)];
          core[static_cast<std::size_t>(h * s.value_dim + r)] += scale * sum;
        }
      }
    }
    if (core_site_ >= 0)
      for (const double value : core) front_->arithmetic.watch(core_site_, value);
    for (std::size_t i = 0; i < token.skip.size(); ++i) core[i] += token.skip[i];
    output_.finish(x, core, y);
  }

  std::unique_ptr<MatrixFront> front_;
  std::int64_t levels_;
  RealMap level_;
  OutputStage output_;
  int state_site_ = -1, core_site_ = -1;
};

std::unique_ptr<MixerFor<RealArithmetic>> delta_family(const RealContext& context, MixerKind kind,
                                                       std::int64_t levels) {
  const auto& s = context.shape;
  return std::make_unique<GatedMatrix>(
      context, std::make_unique<DeltaFront>(context, kind),
      GatedMatrix::Settings{.gain = s.value_dim,
                            .group = s.value_dim,
                            .gate_rank = kind == MixerKind::kda ? s.form.rank : 0,
                            .levels = levels});
}
std::unique_ptr<MixerFor<RealArithmetic>> state_space_family(const RealContext& context,
                                                             std::int64_t levels) {
  const auto& s = context.shape;
  const std::int64_t inner = s.heads * s.value_dim;
  return std::make_unique<GatedMatrix>(
      context, std::make_unique<StepFront>(context),
      GatedMatrix::Settings{.gain = inner, .group = inner / s.form.norm_groups, .levels = levels});
}

std::unique_ptr<MixerFor<RealArithmetic>> real_delta(const RealContext& context) {
  return delta_family(context, context.shape.kind, 0);
}
std::unique_ptr<MixerFor<RealArithmetic>> real_mamba2(const RealContext& context) {
  return state_space_family(context, 0);
}
std::unique_ptr<MixerFor<RealArithmetic>> real_gla(const RealContext& context) {
  const auto& s = context.shape;
  return std::make_unique<GatedMatrix>(context, std::make_unique<GlaFront>(context),
                                       GatedMatrix::Settings{.gain = s.value_dim, .group = s.value_dim});
}
std::unique_ptr<MixerFor<RealArithmetic>> real_log_linear(const RealContext& context) {
  const auto& s = context.shape;
  if (s.levels < 1 || loglinear_levels(context.positions) > s.levels) {
    context.source.refuse(fail(
        ErrorCode::range, "[exact] \"{}\": {} positions need {} log-linear levels; context = {} gives {}",
        context.source.prefix(), context.positions, loglinear_levels(context.positions),
        context.source.weights().architecture.dimensions.context, s.levels));
    return nullptr;
  }
  if (s.base == MixerKind::mamba2) return state_space_family(context, s.levels);
  return delta_family(context, MixerKind::gdelta, s.levels);
}

}  // namespace

RUNG_REAL_FORM(make_released_delta, real_delta);  // delta, gdelta and kda
RUNG_REAL_FORM(make_released_mamba2, real_mamba2);
RUNG_REAL_FORM(make_gla, real_gla);
RUNG_REAL_FORM(make_released_log_linear, real_log_linear);

}  // namespace rung
