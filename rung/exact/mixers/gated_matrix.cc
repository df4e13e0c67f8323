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

#include "rung/exact/entries_mixer.h"
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

// Kimi Delta Attention: decay exp(a_h softplus(z)) per key channel, a_h = -e^{A_log}, or exp(bound σ(-a_h z)).
class KdaFront final : public MatrixFront {
 public:
  explicit KdaFront(const RealContext& context) : MatrixFront(context) {
    auto& source = context.source;
    const std::int64_t keys = shape.kv_heads * shape.key_dim;
    projection.add(source.map<RealArithmetic>("q", keys, context.width));
    projection.add(source.map<RealArithmetic>("k", keys, context.width));
    projection.add(source.map<RealArithmetic>("v", shape.heads * shape.value_dim, context.width));
    projection.convolve(context, 0);
    projection.activate(context, "qk_act", shape.form.key_act, 0, 2 * keys);
    projection.activate(context, "act", shape.form.act, 2 * keys, projection.channels());
    beta_ = RealMap(source, "beta", shape.heads, context.width);
    decay_ = RealMap(source, "gate", shape.heads * shape.key_dim, context.width, shape.form.rank);
    slopes_ = source.numbers<double>("a.weight", {shape.heads});
    if (shape.form.bounded) bound_ = source.real_scalar("gate.bound", -5);
  }
  void token(Buffer& buffer, const double* x, MatrixToken& out) const override {
    auto row = channels(buffer, x);
    const std::int64_t keys = shape.kv_heads * shape.key_dim;
    for (std::int64_t h = 0; h < 2 * shape.kv_heads; ++h)
      scale_key(shape.form.key_norm, row.data() + h * shape.key_dim, shape.key_dim);
    out.q = for_heads(row.data());
    out.k = for_heads(row.data() + keys);
    out.v.assign(row.begin() + 2 * keys, row.end());
    for (auto& q : out.q) q /= std::sqrt(static_cast<double>(shape.key_dim));
    out.beta = beta_(arithmetic, x);
    for (auto& beta : out.beta) beta = static_cast<double>(shape.range) * logistic(beta);
    out.decay = decay_(arithmetic, x);
    for (std::size_t i = 0; i < out.decay.size(); ++i) {
      const double slope = slopes_[i / static_cast<std::size_t>(shape.key_dim)], z = out.decay[i];
      out.decay[i] =
          std::exp(shape.form.bounded ? bound_ * logistic(-slope * z) : slope * released_softplus(z));
    }
  }

 private:
  RealMap beta_, decay_;
  std::vector<double> slopes_;
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

class GatedMatrix final : public EntriesMixer<RealArithmetic> {
 public:
  using Value = double;
  // gate_rank: the bottleneck of the output gate; 0: none.
  GatedMatrix(const RealContext& context, std::unique_ptr<MatrixFront> front, std::int64_t gate_rank)
      : front_(std::move(front)) {
    const auto& s = front_->shape;
    state_site_ = context.source.site("state");
    core_site_ = context.source.site("core");
    output_ = OutputStage(context, s.heads * s.value_dim, s.value_dim, s.value_dim, gate_rank);
  }

  std::int64_t output_width() const override { return front_->shape.heads * front_->shape.value_dim; }
  int sum_bits() const override { return 0; }
  void step(MixerState<RealArithmetic>& generic, const double* x, double* y) const override {
    auto& state = static_cast<State&>(generic);
    MatrixToken token;
    front_->token(state.buffer, x, token);
    advance(state.entries.data(), token);
    if (state_site_ >= 0)
      for (const double entry : state.entries) front_->arithmetic.watch(state_site_, entry);
    if (y) read(state, token, x, y);
  }

 protected:
  std::int64_t entries() const override {
    return front_->states() * front_->shape.value_dim * front_->shape.key_dim;
  }
  int entry_bits() const override { return front_->arithmetic.accumulator_bits; }
  const Projection<RealArithmetic>* front() const override { return &front_->projection; }

 private:
  void advance(double* states, const MatrixToken& token) const {
    const auto& s = front_->shape;
    for (std::int64_t h = 0; h < front_->states(); ++h) {
      const double* key = token.k.data() + h * s.key_dim;
      const double* decay = token.decay.data() + h * s.key_dim;
      for (std::int64_t r = 0; r < s.value_dim; ++r) {
        double* row = states + (h * s.value_dim + r) * s.key_dim;
        double seen = 0;
        for (std::int64_t c = 0; c < s.key_dim; ++c) {
          row[c] *= decay[c];
          seen += row[c] * key[c];
        }
        const double value = token.v[static_cast<std::size_t>(h * s.value_dim + r)];
        const double written =
            token.beta.empty() ? value : token.beta[static_cast<std::size_t>(h)] * (value - seen);
        for (std::int64_t c = 0; c < s.key_dim; ++c)
          row[c] = front_->arithmetic.settle(row[c] + written * key[c]);
      }
    }
  }
  void read(const State& state, const MatrixToken& token, const double* x, double* y) const {
    const auto& s = front_->shape;
    std::vector<double> core(static_cast<std::size_t>(output_width()), 0.0);
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const std::int64_t owner = h / (s.heads / front_->states());
      for (std::int64_t r = 0; r < s.value_dim; ++r) {
        const double* row = state.entries.data() + (owner * s.value_dim + r) * s.key_dim;
        double& sum = core[static_cast<std::size_t>(h * s.value_dim + r)];
        for (std::int64_t c = 0; c < s.key_dim; ++c)
          sum += row[c] * token.q[static_cast<std::size_t>(h * s.key_dim + c)];
        front_->arithmetic.watch(core_site_, sum);
      }
    }
    output_.finish(x, core, y);
  }

  std::unique_ptr<MatrixFront> front_;
  OutputStage output_;
  int state_site_ = -1, core_site_ = -1;
};

std::unique_ptr<MixerFor<RealArithmetic>> real_kda(const RealContext& context) {
  return std::make_unique<GatedMatrix>(context, std::make_unique<KdaFront>(context), context.shape.form.rank);
}
std::unique_ptr<MixerFor<RealArithmetic>> real_gla(const RealContext& context) {
  return std::make_unique<GatedMatrix>(context, std::make_unique<GlaFront>(context), 0);
}

}  // namespace

RUNG_REAL_FORM(make_kda, real_kda);
RUNG_REAL_FORM(make_gla, real_gla);

}  // namespace rung
