// Mamba (selective state space), per channel c and state entry n:
//   Δ_t = table(delta channel),  a = table(rsh(Δ_t A[c][n], decay.index_shift)) in [0, 2^decay.shift]
//   h ← rsh(a h, decay.shift) + rsh(Δ_t B_t[n] x_t[c], update.shift)
//   y_t[c] = rsh(Σ_n C_t[n] h[c][n], read.shift) + rsh(D[c] x_t[c], skip.shift)
// x [inner] is convolved when the layer has a short convolution; b, c [state] and delta [inner] are maps of the
// layer's input. Released options (docs/parity.md): an activation of x; select=conv, where b, c and delta are maps of
// x; rank, a bottleneck before delta's map; an output gate; and norms: norms=after (FalconMamba) divides B, C and W_Δ δ
// by their root mean square, the last before its bias delta.offset; norms=before divides δ instead of W_Δ δ.
// State: inner rows of `state` entries, then the buffer.
#include "rung/exact/entries_mixer.h"
#include "rung/exact/released_layer.h"

namespace rung {
namespace {

template <class A>
class Mamba final : public EntriesMixer<A> {
 public:
  using Value = typename A::Value;
  using Wide = typename A::Wide;

  explicit Mamba(const MixerContext<A>& context)
      : inner_(context.shape.inner),
        entries_(context.shape.state),
        form_(context.shape.form),
        arithmetic_(context.arithmetic),
        projection_(context.arithmetic),
        input_bits_(context.input_bits) {
    auto& source = context.source;
    projection_.add(source.template map<A>("x", inner_, context.width));
    projection_.convolve(context, 0);
    projection_.activate(context, "act", form_.act, 0, inner_);
    const std::int64_t from = form_.select_conv ? inner_ : context.width;
    b_ = source.template map<A>("b", entries_, from);
    c_ = source.template map<A>("c", entries_, from);
    if (form_.rank > 0) low_ = source.template map<A>("delta_low", form_.rank, from);
    delta_map_ = source.template map<A>("delta", inner_, form_.rank > 0 ? form_.rank : from);
    delta_ = source.table("delta", "softplus");
    if (normed()) {
      offset_ = source.template numbers<Value>("delta.offset", {inner_});
      const double epsilon = source.integer() ? 0 : source.real_scalar("select.epsilon", 0);
      const bool low = form_.inner_norms == InnerNorms::before;
      b_norm_ = select_norm(source, "b_norm", epsilon, b_.width().bits, entries_);
      c_norm_ = select_norm(source, "c_norm", epsilon, c_.width().bits, entries_);
      delta_norm_ = low ? select_norm(source, "delta_norm", epsilon, low_->width().bits, form_.rank)
                        : select_norm(source, "delta_norm", epsilon, delta_map_.width().bits, inner_);
    }
    a_ = source.template numbers<Value>("a.weight", {inner_, entries_});
    skip_ = source.template numbers<Value>("skip.weight", {inner_});
    decay_ = source.table("decay", "exp");
    index_shift_ = source.shift("decay.index_shift");
    decay_shift_ = source.shift("decay.shift");
    update_shift_ = source.shift("update.shift");
    read_shift_ = source.shift("read.shift");
    skip_shift_ = source.shift("skip.shift");
    output_ = OutputForm<A>(context, inner_, inner_, inner_);
    if (output_.gated()) projection_.add(source.template map<A>("z", inner_, context.width));
    step_site_ = source.site("delta.act");
    sum_site_ = source.site("delta.sum");
    index_site_ = source.site("decay");
    state_site_ = source.site("state");
    core_site_ = source.site("core");
  }

  std::int64_t output_width() const override { return inner_; }
  void step(MixerState<A>& generic, const Value* u, Value* y) const override {
    auto& state = static_cast<typename EntriesMixer<A>::State&>(generic);
    std::vector<Value> channels(static_cast<std::size_t>(projection_.channels()));
    projection_.step(state.buffer, u, channels.data());
    const Value* x = channels.data();
    std::vector<Value> b(static_cast<std::size_t>(entries_)), c(b.size()),
        delta(static_cast<std::size_t>(inner_));
    select(form_.select_conv ? x : u, b, c, delta);
    std::vector<Wide> o(delta.size());
    for (std::size_t i = 0; i < o.size(); ++i) {
      Wide argument = delta[i];
      if (normed()) argument += offset_[i];
      arithmetic_.watch(sum_site_, argument);
      const Wide step = arithmetic_.table(delta_, argument);
      arithmetic_.watch(step_site_, step);
      Wide sum{0};
      for (std::size_t n = 0; n < b.size(); ++n) {
        const Wide index = arithmetic_.rescale(step * a_[i * b.size() + n], index_shift_);
        arithmetic_.watch(index_site_, index);
        const Wide decay = arithmetic_.table(decay_, index);
        Value& h = state.entries[i * b.size() + n];
        h = arithmetic_.settle(arithmetic_.rescale(decay * h, decay_shift_) +
                               arithmetic_.rescale(step * b[n] * x[i], update_shift_));
        arithmetic_.watch(state_site_, h);
        sum += Wide(c[n]) * h;
      }
      const Wide core = arithmetic_.rescale(sum, read_shift_);
      arithmetic_.watch(core_site_, core);
      o[i] = core + arithmetic_.rescale(Wide(skip_[i]) * x[i], skip_shift_);
    }
    if (y) output_.finish(arithmetic_, o, x + inner_, y);
  }
  int sum_bits() const override {
    const int x = projection_.channel_bits(0, inner_), from = form_.select_conv ? x : input_bits_;
    const int state = arithmetic_.accumulator_bits, delta = number_bits(delta_.values);
    const int b = normed() ? b_norm_.width.bits : b_.width().bits,
              c = normed() ? c_norm_.width.bits : c_.width().bits,
              low_out = form_.inner_norms == InnerNorms::before ? delta_norm_.width.bits
                        : low_                                  ? low_->width().bits
                                                                : 0;
    const int decayed = state + number_bits(decay_.values) + shift_growth(decay_shift_),
              written = delta + b + x + shift_growth(update_shift_);
    const int read =
        c + state + ceil_lg(static_cast<std::uint64_t>(entries_)) + 1 + shift_growth(read_shift_);
    const int skipped = number_bits(skip_) + x + shift_growth(skip_shift_);
    const int low =
        low_ ? std::max(low_->sum_bits(from), delta_map_.sum_bits(low_out)) : delta_map_.sum_bits(from);
    return std::max({projection_.sum_bits(input_bits_), b_.sum_bits(from), c_.sum_bits(from), low,
                     delta + number_bits(a_) + shift_growth(index_shift_), decayed + 1, written + 1, read + 1,
                     skipped + 1, output_.sum_bits()});
  }

 protected:
  std::int64_t entries() const override { return inner_ * entries_; }
  int entry_bits() const override { return arithmetic_.accumulator_bits; }
  const Projection<A>* front() const override { return &projection_; }

 private:
  // B, C and the argument of the step from `from`, a row of the layer's input or x.
  void select(const Value* from, std::vector<Value>& b, std::vector<Value>& c,
              std::vector<Value>& delta) const {
    b_.apply(arithmetic_, from, b.data());
    c_.apply(arithmetic_, from, c.data());
    std::vector<Value> low(static_cast<std::size_t>(form_.rank));
    if (low_) low_->apply(arithmetic_, from, low.data());
    if (form_.inner_norms == InnerNorms::before) normalise_row(low, delta_norm_);
    delta_map_.apply(arithmetic_, low_ ? low.data() : from, delta.data());
    if (!normed()) return;
    normalise_row(b, b_norm_);
    normalise_row(c, c_norm_);
    if (form_.inner_norms == InnerNorms::after) normalise_row(delta, delta_norm_);
  }
  void normalise_row(std::vector<Value>& row, const NormRule& rule) const {
    const auto size = static_cast<std::int64_t>(row.size());
    normalise<A>(arithmetic_, row.data(), nullptr, size, size, rule, row.data());
  }
  bool normed() const { return form_.inner_norms != InnerNorms::none; }
  static NormRule select_norm(TensorSource& source, const char* name, double epsilon, int input_bits,
                              std::int64_t size) {
    const NormRule rule = inner_norm(source, name, 0, epsilon);
    if (A::kExact) check_inner_norm(source, name, rule, input_bits, 2, size);
    return rule;
  }

  std::int64_t inner_, entries_;
  MixerForm form_;
  A arithmetic_;
  Projection<A> projection_;
  int input_bits_;
  LinearMap<A> b_, c_, delta_map_;
  std::optional<LinearMap<A>> low_;
  Table delta_, decay_;
  std::vector<Value> a_, skip_, offset_;
  NormRule b_norm_, c_norm_, delta_norm_;
  int index_shift_ = 0, decay_shift_ = 0, update_shift_ = 0, read_shift_ = 0, skip_shift_ = 0;
  int sum_site_ = -1, step_site_ = -1, index_site_ = -1, state_site_ = -1, core_site_ = -1;
  OutputForm<A> output_;
};

}  // namespace

template <class A>
std::unique_ptr<MixerFor<A>> make_mamba(const MixerContext<A>& context) {
  return std::make_unique<Mamba<A>>(context);
}
RUNG_INSTANTIATE_MIXER(make_mamba);

}  // namespace rung
