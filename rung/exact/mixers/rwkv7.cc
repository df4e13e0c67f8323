// RWKV-7 time mixing, as flash-linear-attention has it, in real numbers (docs/parity.md).
//   x_c = u_t + (u_{t-1} - u_t) ⊙ shift_c for c in r, w, k, v, a, g; u_{-1} = 0
//   r, k, v = maps of x_r, x_k, x_v; ln w = -e^{-1/2} σ(lora_w(x_w)); a = σ(lora_a(x_a)); g = lora_g(x_g)
//   values=first: v ← v + σ(lora_v(x_v)) ⊙ (v_first - v), v_first the values of the stack's first such layer
//   κ = normalised k ⊙ key_scale, head by head; k ← k ⊙ (1 + (a - 1) ⊙ key_mix)
//   S ← diag(w) S - (κ ⊙ a)(Sᵀκ)ᵀ + k vᵀ; the removal reads the undecayed state; o = Sᵀ r
//   y = (groupnorm(o) + (Σ r ⊙ k ⊙ bonus) v) ⊙ g, with the k and v that were written
// State: S, value_dim rows of key_dim entries head after head, then the last input row.
#include "rung/exact/entries_mixer.h"
#include "rung/exact/released_layer.h"

namespace rung {
namespace {

class Rwkv7 final : public EntriesMixer<RealArithmetic> {
 public:
  using Value = double;
  explicit Rwkv7(const MixerContext<RealArithmetic>& context)
      : shape_(context.shape), width_(context.width), arithmetic_(context.arithmetic) {
    auto& source = context.source;
    const std::int64_t keys = shape_.heads * shape_.key_dim, values = shape_.heads * shape_.value_dim;
    for (const char* name : {"r", "w", "k", "v", "a", "g"})
      shift_.push_back(source.numbers<double>(std::string("shift.") + name, {width_}));
    r_ = RealMap(source, "r", keys, width_);
    k_ = RealMap(source, "k", keys, width_);
    v_ = RealMap(source, "v", values, width_);
    const auto& form = shape_.form;
    w_ = RealMap(source, "w", keys, width_, form.rank, Activation::none, true);
    a_ = RealMap(source, "a", keys, width_, form.rank_a);
    g_ = RealMap(source, "g", values, width_, form.rank_g, Activation::sigmoid);
    if (form.first_values) mix_ = RealMap(source, "mix", values, width_, form.rank_v);
    key_scale_ = source.numbers<double>("key_scale.weight", {keys});
    key_mix_ = source.numbers<double>("key_mix.weight", {keys});
    bonus_ = source.numbers<double>("bonus.weight", {shape_.heads, shape_.key_dim});
    gain_ = source.numbers<double>("ynorm.gain", {values});
    bias_ = source.numbers<double>("ynorm.bias", {values});
    epsilon_ = source.real_scalar("ynorm.epsilon", 0);
    output_ = source.width("y");
    state_site_ = source.site("state");
    core_site_ = source.site("core");
  }

  std::int64_t output_width() const override { return shape_.heads * shape_.value_dim; }
  std::int64_t published() const override { return shape_.form.first_values ? 0 : output_width(); }
  std::int64_t consumed() const override { return shape_.form.first_values ? output_width() : 0; }
  int sum_bits() const override { return 0; }
  void step(MixerState<RealArithmetic>& generic, const double* x, double* y) const override {
    auto& state = static_cast<State&>(generic);
    double* matrix = state.entries.data();
    double* earlier = matrix + matrix_size();
    const auto mixed = [&](std::size_t c) {
      std::vector<double> row(static_cast<std::size_t>(width_));
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = x[i] + (earlier[i] - x[i]) * shift_[c][i];
      return row;
    };
    enum { kR, kW, kK, kV, kA, kG };
    const auto xv = mixed(kV);
    const auto r = r_(arithmetic_, mixed(kR).data());
    auto k = k_(arithmetic_, mixed(kK).data());
    auto v = v_(arithmetic_, xv.data());
    auto w = w_(arithmetic_, mixed(kW).data());
    auto a = a_(arithmetic_, mixed(kA).data());
    const auto g = g_(arithmetic_, mixed(kG).data());
    std::copy_n(x, width_, earlier);
    if (y && published() > 0) std::copy(v.begin(), v.end(), y + output_width());
    if (shape_.form.first_values) {
      const auto share = mix_(arithmetic_, xv.data());
      for (std::size_t i = 0; i < v.size(); ++i)
        v[i] += logistic(share[i]) * (x[static_cast<std::size_t>(width_) + i] - v[i]);
    }
    std::vector<double> removed(k.size());  // κ
    for (std::size_t i = 0; i < k.size(); ++i) {
      w[i] = std::exp(-std::exp(-0.5) * logistic(w[i]));
      a[i] = logistic(a[i]);
      removed[i] = k[i] * key_scale_[i];
      k[i] *= 1 + (a[i] - 1) * key_mix_[i];
    }
    std::vector<double> o(v.size());
    for (std::int64_t h = 0; h < shape_.heads; ++h) {
      const std::int64_t first = h * shape_.key_dim;
      double* kappa = removed.data() + first;
      scale_key(shape_.form.key_norm, kappa, shape_.key_dim);
      for (std::int64_t row = 0; row < shape_.value_dim; ++row) {
        const std::int64_t at = h * shape_.value_dim + row;
        double* s = matrix + at * shape_.key_dim;
        double seen = 0, read = 0;
        for (std::int64_t c = 0; c < shape_.key_dim; ++c) seen += s[c] * kappa[c];
        for (std::int64_t c = 0; c < shape_.key_dim; ++c) {
          const auto i = static_cast<std::size_t>(first + c);
          s[c] = arithmetic_.settle(w[i] * s[c] - kappa[c] * a[i] * seen +
                                    k[i] * v[static_cast<std::size_t>(at)]);
          arithmetic_.watch(state_site_, s[c]);
          read += s[c] * r[i];
        }
        o[static_cast<std::size_t>(at)] = read;
      }
    }
    if (y) finish(r, k, v, g, o, y);
  }

 protected:
  std::int64_t entries() const override { return matrix_size() + width_; }
  int entry_bits() const override { return arithmetic_.accumulator_bits; }

 private:
  std::int64_t matrix_size() const { return shape_.heads * shape_.value_dim * shape_.key_dim; }
  void finish(const std::vector<double>& r, const std::vector<double>& k, const std::vector<double>& v,
              const std::vector<double>& g, std::vector<double>& o, double* y) const {
    if (core_site_ >= 0)
      for (const double value : o) arithmetic_.watch(core_site_, value);
    const auto size = static_cast<double>(shape_.value_dim);
    for (std::int64_t h = 0; h < shape_.heads; ++h) {
      double* head = o.data() + h * shape_.value_dim;
      double mean = 0, bonus = 0;
      for (std::int64_t i = 0; i < shape_.value_dim; ++i) mean += head[i] / size;
      for (std::int64_t i = 0; i < shape_.value_dim; ++i) head[i] -= mean;
      divide_by_root(head, shape_.value_dim, size, epsilon_);
      for (std::int64_t c = 0; c < shape_.key_dim; ++c) {
        const auto i = static_cast<std::size_t>(h * shape_.key_dim + c);
        bonus += r[i] * k[i] * bonus_[i];
      }
      for (std::int64_t c = 0; c < shape_.value_dim; ++c) {
        const auto i = static_cast<std::size_t>(h * shape_.value_dim + c);
        y[i] = arithmetic_.narrow((o[i] * gain_[i] + bias_[i] + bonus * v[i]) * g[i], 0, output_);
      }
    }
  }

  MixerShape shape_;
  std::int64_t width_;
  RealArithmetic arithmetic_;
  std::vector<std::vector<double>> shift_;
  RealMap r_, k_, v_, w_, a_, g_, mix_;
  std::vector<double> key_scale_, key_mix_, bonus_, gain_, bias_;
  double epsilon_ = 0;
  Width output_;
  int state_site_ = -1, core_site_ = -1;
};

std::unique_ptr<MixerFor<RealArithmetic>> real_rwkv7(const MixerContext<RealArithmetic>& context) {
  return std::make_unique<Rwkv7>(context);
}

}  // namespace

RUNG_REAL_FORM(make_rwkv7, real_rwkv7);

}  // namespace rung
