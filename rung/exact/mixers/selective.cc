// Mamba-1 as released, in real numbers (docs/parity.md):
//   x = act(conv(W_x u)); (δ, B, C) = maps of x; Δ = softplus(W_Δ δ + bias)
//   S[c][n] ← exp(Δ[c] A[c][n]) S[c][n] + Δ[c] B[n] x[c];  y[c] = (Σ_n S[c][n] C[n] + D[c] x[c]) act(z[c])
// select=input takes δ, B and C from the layer's input instead. norms=after (FalconMamba) divides B, C and W_Δ δ by
// their root mean square, the last before its bias; norms=before divides δ instead of W_Δ δ. State: inner rows of `state` entries, then the buffer.
#include "rung/exact/released_layer.h"

namespace rung {
namespace {

class SelectiveScan final : public RecurrentMixer<RealArithmetic> {
 public:
  using Value = double;
  explicit SelectiveScan(const MixerContext<RealArithmetic>& context)
      : shape_(context.shape), arithmetic_(context.arithmetic), projection_(context.arithmetic) {
    auto& source = context.source;
    const std::int64_t inner = shape_.inner, from = shape_.form.select_conv ? inner : context.width;
    projection_.add(source.map<RealArithmetic>("x", inner, context.width));
    projection_.convolve(context, 0);
    b_ = RealMap(source, "b", shape_.state, from);
    c_ = RealMap(source, "c", shape_.state, from);
    if (shape_.form.rank > 0) low_ = source.map<RealArithmetic>("delta_low", shape_.form.rank, from);
    delta_ = source.map<RealArithmetic>("delta", inner, shape_.form.rank > 0 ? shape_.form.rank : from);
    // The norms of FalconMamba stand between the map and its bias.
    if (shape_.form.inner_norms != InnerNorms::none) {
      shift_ = source.numbers<double>("delta.offset", {inner});
      norm_epsilon_ = source.real_scalar("select.epsilon", 0);
    }
    a_ = source.numbers<double>("a.weight", {inner, shape_.state});
    skip_ = source.numbers<double>("skip.weight", {inner});
    state_site_ = source.site("state");
    core_site_ = source.site("core");
    output_ = OutputStage(context, inner, inner, inner, 0);
  }
  struct State final : MixerState<RealArithmetic> {
    Projection<RealArithmetic>::Buffer buffer;
    std::vector<double> entries;
    void append_numbers(std::vector<double>& out) const override {
      out.insert(out.end(), entries.begin(), entries.end());
      out.insert(out.end(), buffer.earlier.begin(), buffer.earlier.end());
    }
  };
  std::int64_t output_width() const override { return shape_.inner; }
  int sum_bits() const override { return 0; }
  std::unique_ptr<MixerState<RealArithmetic>> start() const override {
    auto state = std::make_unique<State>();
    state->buffer = projection_.start();
    state->entries.assign(static_cast<std::size_t>(shape_.inner * shape_.state), 0.0);
    return state;
  }
  void step(MixerState<RealArithmetic>& generic, const double* u, double* y) const override {
    auto& state = static_cast<State&>(generic);
    std::vector<double> x(static_cast<std::size_t>(shape_.inner));
    projection_.step(state.buffer, u, x.data());
    for (auto& value : x) value = activate(shape_.form.act, value);
    const double* from = shape_.form.select_conv ? x.data() : u;
    auto b = b_(arithmetic_, from), c = c_(arithmetic_, from);
    std::vector<double> delta(x.size()), low(static_cast<std::size_t>(shape_.form.rank));
    if (low_) low_->apply(arithmetic_, from, low.data());
    const auto normalised = [&](std::vector<double>& row) {
      divide_by_root(row.data(), static_cast<std::int64_t>(row.size()), static_cast<double>(row.size()),
                     norm_epsilon_);
    };
    if (shape_.form.inner_norms == InnerNorms::before) normalised(low);
    delta_.apply(arithmetic_, low_ ? low.data() : from, delta.data());
    if (shape_.form.inner_norms != InnerNorms::none) {
      normalised(b);
      normalised(c);
      if (shape_.form.inner_norms == InnerNorms::after) normalised(delta);
      for (std::size_t i = 0; i < delta.size(); ++i) delta[i] += shift_[i];
    }
    std::vector<double> o(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double step = released_softplus(delta[i]);
      double sum = 0;
      for (std::size_t n = 0; n < b.size(); ++n) {
        double& h = state.entries[i * b.size() + n];
        h = arithmetic_.settle(std::exp(step * a_[i * b.size() + n]) * h + step * b[n] * x[i]);
        arithmetic_.watch(state_site_, h);
        sum += h * c[n];
      }
      arithmetic_.watch(core_site_, sum);
      o[i] = sum + skip_[i] * x[i];
    }
    if (y) output_.finish(u, o, y);
  }

 private:
  MixerShape shape_;
  RealArithmetic arithmetic_;
  Projection<RealArithmetic> projection_;
  RealMap b_, c_;
  std::optional<LinearMap<RealArithmetic>> low_;
  LinearMap<RealArithmetic> delta_;
  std::vector<double> a_, skip_, shift_;
  double norm_epsilon_ = 0;
  OutputStage output_;
  int state_site_ = -1, core_site_ = -1;
};

std::unique_ptr<MixerFor<RealArithmetic>> real_mamba(const MixerContext<RealArithmetic>& context) {
  return std::make_unique<SelectiveScan>(context);
}

}  // namespace

RUNG_REAL_FORM(make_released_mamba, real_mamba);

}  // namespace rung
