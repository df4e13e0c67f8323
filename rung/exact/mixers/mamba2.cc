// Mamba-2 / SSD: h_t = rsh(a_t h_{t-1}, decay.shift) + x_t B_tᵀ, y_t = rsh(h_t C_t, read.shift), one scalar
// a_t per head from a table over the gate channel, 0 <= a_t <= 2^decay.shift. B and C are shared by the heads
// of a group. Channels: x [heads*value_dim], b [groups*key_dim], c [groups*key_dim] (convolved when the layer
// has a short convolution), gate [heads]. State of head h: value_dim rows of key_dim entries.
// decay=step: the channel dt [heads] gives a step Δ_t, a_t comes from Δ_t times the head's rate, and
// rsh(Δ_t x_t B_tᵀ, update.shift) is written. Other released options are MatrixCell's.
#include "rung/exact/matrix_cell.h"

namespace rung {
namespace {

template <class A>
class Mamba2Cell final : public MatrixCell<A> {
 public:
  using Value = typename A::Value;
  using Wide = typename A::Wide;

  explicit Mamba2Cell(const MixerContext<A>& context) : MatrixCell<A>(context) {
    auto& source = context.source;
    const auto& s = this->shape;
    const std::int64_t outputs = s.heads * s.value_dim;
    this->projection.add(source.template map<A>("x", outputs, context.width));
    this->projection.add(source.template map<A>("b", s.kv_heads * s.key_dim, context.width));
    this->projection.add(source.template map<A>("c", s.kv_heads * s.key_dim, context.width));
    this->projection.convolve(context, 0);
    this->projection.activate(context, "act", s.form.act, 0, this->projection.channels());
    this->projection.add(source.template map<A>(s.form.step ? "dt" : "gate", s.heads, context.width));
    decay_shift_ = source.shift("decay.shift");
    if (s.form.step) {
      step_ = StepDecay<A>(context, "dt");
      update_shift_ = source.shift("update.shift");
    } else {
      gate_ = source.table("gate", "decay");
    }
    if (s.form.skip != Skip::none) {
      this->skip =
          source.template numbers<Value>("skip.weight", {s.form.skip == Skip::head ? s.heads : outputs});
      this->skip_shift = source.shift("skip.shift");
    }
    this->read_output_form(context, outputs, outputs / s.form.norm_groups);
  }
  std::int64_t state_size() const override {
    return this->shape.heads * this->shape.value_dim * this->shape.key_dim;
  }

  void update(Value* state, const Value* channels, bool with_value) const override {
    const auto& s = this->shape;
    const auto& a = this->arithmetic;
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const Value gate = channels[gate_channel() + h];
      const Wide step = s.form.step ? step_.step(a, gate) : Wide{1};
      const Wide decay = s.form.step ? step_.decay(a, step, h) : a.table(gate_, gate);
      const Value* x = channels + h * s.value_dim;
      const Value* b = channels + s.heads * s.value_dim + group(h) * s.key_dim;
      for (std::int64_t r = 0; r < s.value_dim; ++r) {
        Value* row = state + (h * s.value_dim + r) * s.key_dim;
        const Wide value = with_value ? step * x[r] : Wide{0};
        for (std::int64_t c = 0; c < s.key_dim; ++c)
          row[c] = a.settle(a.rescale(decay * row[c], decay_shift_) +
                            (s.form.step ? a.rescale(value * b[c], update_shift_) : value * b[c]));
      }
    }
  }
  void read(const Value* state, const Value* channels, Wide* sums) const override {
    const auto& s = this->shape;
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const Value* query = channels + s.heads * s.value_dim + (s.kv_heads + group(h)) * s.key_dim;
      for (std::int64_t r = 0; r < s.value_dim; ++r) {
        Wide sum{0};
        for (std::int64_t c = 0; c < s.key_dim; ++c)
          sum += Wide(state[(h * s.value_dim + r) * s.key_dim + c]) * query[c];
        sums[h * s.value_dim + r] = sum;
      }
    }
  }
  int sum_bits() const override {
    const auto& s = this->shape;
    const int state = this->arithmetic.accumulator_bits;
    const int channel = this->projection.channel_bits(0, gate_channel());
    const int factor = s.form.step ? step_.decay_bits() : gate_.bits();
    const int written = 2 * channel + (s.form.step ? step_.step_bits() + shift_growth(update_shift_) : 0);
    return std::max({state + factor + shift_growth(decay_shift_) + 1, written + 1,
                     s.form.step ? step_.sum_bits() : 0,
                     this->emit_bits(state + channel + ceil_lg(static_cast<std::uint64_t>(s.key_dim)) + 1)});
  }

 private:
  std::int64_t group(std::int64_t head) const { return head / (this->shape.heads / this->shape.kv_heads); }
  std::int64_t gate_channel() const {
    return this->shape.heads * this->shape.value_dim + 2 * this->shape.kv_heads * this->shape.key_dim;
  }

  Table gate_;
  StepDecay<A> step_;
  int decay_shift_ = 0, update_shift_ = 0;
};

}  // namespace

template <class A>
std::unique_ptr<MatrixCell<A>> make_mamba2_cell(const MixerContext<A>& context) {
  return std::make_unique<Mamba2Cell<A>>(context);
}
RUNG_INSTANTIATE_CELL(make_mamba2_cell);

template <class A>
std::unique_ptr<MixerFor<A>> make_mamba2(const MixerContext<A>& context) {
  return std::make_unique<MatrixRecurrence<A>>(make_mamba2_cell(context));
}
RUNG_INSTANTIATE_MIXER(make_mamba2);

}  // namespace rung
