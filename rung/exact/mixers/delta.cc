// The delta rule: e = v - rsh(S k, predict.shift); S ← S + rsh(β e kᵀ, write.shift); y = rsh(S q,
// read.shift), with β from a table over the beta channel. Gated: first S ← rsh(α S, decay.shift), α from a
// table over the gate channel. Keys and queries are scaled to length 2^key.fraction when the file has
// key.fraction (vector_norm.h), else used as they are. Channels: q, k [key heads * key_dim], v [heads *
// value_dim] (convolved when the layer has a short convolution), beta [heads], gate [heads] (gated). State
// of head h: value_dim rows of key_dim entries. steps=k: k keys, values and betas, one set after the
// other; the gate acts once, before the first step. range=2: β = 2σ(x) in a real file; an integer file's
// table says β itself. Released options: activations and norms of q and k, decay=step (α from a step times the
// head's rate), beta=no, and what MatrixCell has.
#include "rung/exact/matrix_cell.h"
#include "rung/exact/vector_norm.h"

namespace rung {
namespace {

template <class A>
class DeltaCell final : public MatrixCell<A> {
 public:
  using Value = typename A::Value;
  using Wide = typename A::Wide;

  DeltaCell(const MixerContext<A>& context, bool gated) : MatrixCell<A>(context), gated_(gated) {
    auto& source = context.source;
    const auto& s = this->shape;
    this->projection.add(source.template map<A>("q", s.kv_heads * s.key_dim, context.width));
    this->projection.add(source.template map<A>("k", s.steps * s.kv_heads * s.key_dim, context.width));
    this->projection.add(source.template map<A>("v", s.steps * s.heads * s.value_dim, context.width));
    this->projection.convolve(context, 0);
    activate(context);
    if (s.form.beta) {
      this->projection.add(source.template map<A>("beta", s.steps * s.heads, context.width));
      beta_ = source.table("beta", "sigmoid");
    }
    if (!source.integer() || !s.form.beta) range_ = static_cast<Wide>(s.range);
    if (gated) {
      this->projection.add(source.template map<A>("gate", s.heads, context.width));
      if (s.form.step)
        step_ = StepDecay<A>(context, "gate");
      else
        gate_ = source.table("gate", "decay");
      decay_shift_ = source.shift("decay.shift");
    }
    predict_shift_ = source.shift("predict.shift");
    write_shift_ = source.shift("write.shift");
    error_site_ = source.site("error");
    read_keys(context);
    if (s.form.scaled) {  // q / √dim; loglinear's level weights cancel it
      if (source.integer())
        this->read_scale = static_cast<Wide>(source.scalar("read.scale", 1, 1, std::int64_t{1} << 32));
      else
        this->read_scale = static_cast<Wide>(1 / std::sqrt(static_cast<double>(s.key_dim)));
    }
    this->read_output_form(context, s.value_dim, s.value_dim);
  }
  std::int64_t state_size() const override {
    return this->shape.heads * this->shape.value_dim * this->shape.key_dim;
  }

  void update(Value* state, const Value* channels, bool with_value) const override {
    const auto& s = this->shape;
    const auto& a = this->arithmetic;
    std::vector<Value> key(static_cast<std::size_t>(s.key_dim));
    for (std::int64_t h = 0; h < s.heads; ++h) {
      if (gated_) {
        const Value gate = channels[beta_offset() + (s.form.beta ? s.steps * s.heads : 0) + h];
        const Wide alpha = s.form.step ? step_.decay(a, step_.step(a, gate), h) : a.table(gate_, gate);
        Value* entries = state + h * s.value_dim * s.key_dim;
        for (std::int64_t i = 0; i < s.value_dim * s.key_dim; ++i)
          entries[i] = a.settle(a.rescale(alpha * entries[i], decay_shift_));
      }
      for (std::int64_t step = 0; step < s.steps; ++step) {
        unit(channels + ((1 + step) * s.kv_heads + key_head(h)) * s.key_dim, key.data());
        const Value* value =
            channels + (1 + s.steps) * s.kv_heads * s.key_dim + (step * s.heads + h) * s.value_dim;
        const Wide beta =
            s.form.beta ? range_ * a.table(beta_, channels[beta_offset() + step * s.heads + h]) : range_;
        for (std::int64_t r = 0; r < s.value_dim; ++r) {
          Value* row = state + (h * s.value_dim + r) * s.key_dim;
          Wide seen{0};
          for (std::int64_t c = 0; c < s.key_dim; ++c)
            seen += Wide(row[c]) * key[static_cast<std::size_t>(c)];
          const Wide error =
              a.settle((with_value ? Wide(value[r]) : Wide{0}) - a.rescale(seen, predict_shift_));
          a.watch(error_site_, error);
          for (std::int64_t c = 0; c < s.key_dim; ++c)
            row[c] =
                a.settle(row[c] + a.rescale(beta * error * key[static_cast<std::size_t>(c)], write_shift_));
        }
      }
    }
  }
  void read(const Value* state, const Value* channels, Wide* sums) const override {
    const auto& s = this->shape;
    std::vector<Value> query(static_cast<std::size_t>(s.key_dim));
    for (std::int64_t h = 0; h < s.heads; ++h) {
      unit(channels + key_head(h) * s.key_dim, query.data());
      for (std::int64_t r = 0; r < s.value_dim; ++r) {
        Wide sum{0};
        for (std::int64_t c = 0; c < s.key_dim; ++c)
          sum += Wide(state[(h * s.value_dim + r) * s.key_dim + c]) * query[static_cast<std::size_t>(c)];
        sums[h * s.value_dim + r] = sum;
      }
    }
  }
  int sum_bits() const override {
    const int state = this->arithmetic.accumulator_bits;
    const auto& f = this->shape.form;
    const int dot = state + channel_bits_ + ceil_lg(static_cast<std::uint64_t>(this->shape.key_dim)) + 2;
    const int decay = f.step ? step_.decay_bits() : gate_.bits();
    return std::max({this->emit_bits(dot), dot + shift_growth(predict_shift_),
                     state + channel_bits_ + (f.beta ? beta_.bits() : 3) + 1 + shift_growth(write_shift_),
                     gated_ ? state + decay + shift_growth(decay_shift_) : 0,
                     gated_ && f.step ? step_.sum_bits() : 0,
                     f.key_norm == KeyNorm::sum ? key_sum_bits() : 0});
  }

 private:
  void activate(const MixerContext<A>& context) {
    // Activations of q and k, and of v, which are channels side by side.
    const auto& s = this->shape;
    const std::int64_t keys = (1 + s.steps) * s.kv_heads * s.key_dim;
    this->projection.activate(context, "qk_act", s.form.key_act, 0, keys);
    this->projection.activate(context, "act", s.form.act, keys, this->projection.channels());
  }
  void read_keys(const MixerContext<A>& context) {
    auto& source = context.source;
    const auto& s = this->shape;
    if (source.error()) return;
    unit_ = s.form.plain() ? source.has("key.fraction") : s.form.key_norm != KeyNorm::none;
    channel_bits_ = std::max(source.bits(), this->projection.channel_bits(0, beta_offset()));
    if (!unit_) return;
    const int raw_bits = channel_bits_;
    if (s.form.plain()) {
      norm_ = NormRule{static_cast<int>(source.scalar("key.fraction", 0, 0, 24)),
                       static_cast<int>(source.scalar("key.extra", 8, 0, 24)), source.width("key")};
    } else if (s.form.key_norm == KeyNorm::sum) {
      norm_.width = source.width("key");
      if (source.integer()) norm_.fraction = static_cast<int>(source.scalar("key.fraction", 0, 0, 24));
    } else {
      norm_ = inner_norm(source, "key", 8, kLengthEpsilon);
    }
    channel_bits_ = std::max(channel_bits_, norm_.width.bits);
    if (A::kExact && s.form.key_norm != KeyNorm::sum)
      check_inner_norm(source, "key", norm_, raw_bits, 1, s.key_dim);
  }
  // Of quot(x, Σ x, 2^f).
  int key_sum_bits() const {
    return channel_bits_ + norm_.fraction + ceil_lg(static_cast<std::uint64_t>(this->shape.key_dim)) + 4;
  }
  std::int64_t key_head(std::int64_t head) const { return head / (this->shape.heads / this->shape.kv_heads); }
  std::int64_t beta_offset() const {
    return (1 + this->shape.steps) * this->shape.kv_heads * this->shape.key_dim +
           this->shape.steps * this->shape.heads * this->shape.value_dim;
  }
  void unit(const Value* x, Value* y) const {
    const std::int64_t size = this->shape.key_dim;
    if (!unit_) {
      std::copy(x, x + size, y);
    } else if (this->shape.form.key_norm == KeyNorm::sum) {
      Wide sum{0};
      for (std::int64_t i = 0; i < size; ++i) sum += x[i];
      for (std::int64_t i = 0; i < size; ++i)
        if constexpr (A::kExact)
          y[i] = this->arithmetic.quotient(x[i], sum, std::int64_t{1} << norm_.fraction, norm_.width);
        else
          y[i] = this->arithmetic.unrounded(x[i] / sum, -norm_.fraction, norm_.width);
    } else {
      normalise<A>(this->arithmetic, x, nullptr, size, 1, norm_, y);
    }
  }

  bool gated_, unit_ = false;
  Wide range_{1};
  Table beta_, gate_;
  StepDecay<A> step_;
  int decay_shift_ = 0, predict_shift_ = 0, write_shift_ = 0, channel_bits_ = 0, error_site_ = -1;
  NormRule norm_;
};

}  // namespace

template <class A>
std::unique_ptr<MatrixCell<A>> make_delta_cell(const MixerContext<A>& context, bool gated) {
  return std::make_unique<DeltaCell<A>>(context, gated);
}
RUNG_INSTANTIATE_CELL(make_delta_cell, bool);

template <class A>
std::unique_ptr<MixerFor<A>> make_delta(const MixerContext<A>& context) {
  return std::make_unique<MatrixRecurrence<A>>(
      make_delta_cell(context, context.shape.kind == MixerKind::gdelta));
}
RUNG_INSTANTIATE_MIXER(make_delta);

}  // namespace rung
