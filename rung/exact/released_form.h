// What released layers have around a recurrence (docs/parity.md; docs/weights.md, "Released forms in integers"), written
// once for every arithmetic: a step that sets a decay, and the output stage. Activations behind a convolution are
// Projection's. In a file of mode real every table is the function that the form names.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "rung/exact/mixer.h"
#include "rung/exact/vector_norm.h"

namespace rung {

// The function that a table stands for. REQUIRES an activation.
inline const char* activation_function(Activation activation) {
  switch (activation) {
    case Activation::silu:
      return "silu";
    case Activation::relu:
      return "relu";
    case Activation::elu1:
      return "elu1";
    case Activation::sigmoid:
      return "sigmoid";
    case Activation::none:
      break;
  }
  RUNG_REQUIRE(false, "no activation");
  return "";
}

// A number on the way through a layer. Mode Q keeps what a real file has there, and rounds an integer file's.
template <class A>
typename A::Value kept(const A& arithmetic, bool rounded, typename A::Wide x, int shift, Width width) {
  return rounded ? arithmetic.narrow(x, shift, width) : arithmetic.unrounded(x, shift, width);
}

// Bits, sign included, of the largest of these numbers.
template <class Value>
int number_bits(const std::vector<Value>& values) {
  double top = 1;
  for (const auto value : values) top = std::max(top, std::abs(static_cast<double>(value)));
  return static_cast<int>(std::ceil(std::log2(top))) + 2;
}

inline constexpr double kLengthEpsilon = 1e-6;  // of l2(x) = x / √(Σx² + 1e-6), in reals

// name.fraction, name.extra, name.bits, name.epsilon of a norm inside a mixer. A real file has the last alone, or not
// even that where its form fixes the epsilon.
inline NormRule inner_norm(TensorSource& source, const std::string& name, int extra,
                           std::optional<double> epsilon) {
  NormRule rule{.width = source.width(name), .rounded = source.integer()};
  if (!source.integer()) {
    rule.epsilon = epsilon ? *epsilon : source.real_scalar(name + ".epsilon", 0);
    if (rule.epsilon < 0)
      source.refuse(fail(ErrorCode::range, "[weights] \"{}{}.epsilon\" is negative", source.prefix(), name));
    return rule;
  }
  rule.fraction = static_cast<int>(source.scalar(name + ".fraction", 0, 0, 24));
  rule.extra = static_cast<int>(source.scalar(name + ".extra", extra, 0, 24));
  rule.whole_epsilon = source.scalar(name + ".epsilon", 0, 0, kMaxWeight);
  rule.epsilon = std::ldexp(static_cast<double>(rule.whole_epsilon), -2 * rule.extra);
  return rule;
}
// Refuses a norm over `size` numbers of `input_bits` bits that could overflow.
inline void check_inner_norm(TensorSource& source, const std::string& name, const NormRule& rule,
                             int input_bits, int gain_bits, std::int64_t size) {
  const int bits = norm_bits(rule, input_bits, gain_bits, size);
  if (bits > kMostNormBits)
    source.refuse(fail(ErrorCode::range, "[exact] \"{}{}\" could need {} bits; at most {} expected",
                       source.prefix(), name, bits, kMostNormBits));
}

// decay=step, one rate a head: step = T_name(channel), decay = T_decay(rsh(step a[h], decay.index_shift)).
template <class A>
class StepDecay {
 public:
  using Value = typename A::Value;
  using Wide = typename A::Wide;
  StepDecay() = default;
  StepDecay(const MixerContext<A>& context, const std::string& name) {
    auto& source = context.source;
    step_ = source.table(name, "softplus");
    decay_ = source.table("decay", "exp");
    rates_ = source.template numbers<Value>("a.weight", {context.shape.heads});
    index_shift_ = source.shift("decay.index_shift");
    step_site_ = source.site(name + ".act");
    index_site_ = source.site("decay");
    if (!source.integer() && name == "dt") {  // an integer file has the limits in the table
      low_ = source.real_scalar("dt.low", 0);
      high_ = source.real_scalar("dt.high", std::numeric_limits<double>::infinity());
    }
  }
  Wide step(const A& a, Value channel) const {
    Wide step = a.table(step_, channel);
    if constexpr (!A::kExact) step = std::min(std::max(step, low_), high_);
    a.watch(step_site_, step);
    return step;
  }
  Wide decay(const A& a, Wide step, std::int64_t head) const {
    const Wide index = a.rescale(step * rates_[static_cast<std::size_t>(head)], index_shift_);
    a.watch(index_site_, index);
    return a.table(decay_, index);
  }
  int step_bits() const { return step_.bits(); }
  int decay_bits() const { return decay_.bits(); }
  int sum_bits() const { return step_.bits() + number_bits(rates_) + shift_growth(index_shift_); }

 private:
  Table step_, decay_;
  std::vector<Value> rates_;
  int index_shift_ = 0, step_site_ = -1, index_site_ = -1;
  double low_ = -std::numeric_limits<double>::infinity(), high_ = std::numeric_limits<double>::infinity();
};

// The end of a layer: y from o, what the recurrence read with the skip term added.
template <class A>
class OutputForm {
 public:
  using Value = typename A::Value;
  using Wide = typename A::Wide;
  OutputForm() = default;
  // `outputs` numbers a row; `gain` entries of ynorm.gain repeat along it; `group` numbers are normalised together.
  // The gate's map `z` is a channel of the mixer's projection.
  OutputForm(const MixerContext<A>& context, std::int64_t outputs, std::int64_t gain, std::int64_t group)
      : form_(context.shape.form), outputs_(outputs), group_(group), rounded_(context.source.integer()) {
    auto& source = context.source;
    output_ = source.width("y");
    if (!staged()) return;
    read_ = source.width("read");
    int bits = read_.bits;
    if (gated()) {
      table_ = source.table("z", activation_function(form_.gate));
      shift_ = source.shift("gated.shift");
      gated_ = source.width("gated");
      table_site_ = source.site("z.act");
      if (form_.norm != OutputNorm::before) bits = gated_.bits;
    }
    if (form_.norm == OutputNorm::none) return;
    gain_ = source.template numbers<Value>("ynorm.gain", {gain});
    norm_ = inner_norm(source, "ynorm", 0, std::nullopt);
    if (A::kExact) check_inner_norm(source, "ynorm", norm_, bits, number_bits(gain_), group);
  }
  bool gated() const { return form_.gate != Activation::none; }
  // Where o is kept on the way: its width is read.bits, else y.bits.
  bool staged() const { return gated() || form_.norm != OutputNorm::none; }

  void finish(const A& a, const std::vector<Wide>& o, const Value* z, Value* y) const {
    if (!staged()) {
      for (std::int64_t i = 0; i < outputs_; ++i) y[i] = a.narrow(o[static_cast<std::size_t>(i)], 0, output_);
      return;
    }
    for (std::int64_t i = 0; i < outputs_; ++i)
      y[i] = kept(a, rounded_, o[static_cast<std::size_t>(i)], 0, read_);
    if (form_.norm != OutputNorm::before) gate(a, z, y);
    if (form_.norm != OutputNorm::none)
      for (std::int64_t begin = 0; begin < outputs_; begin += group_)
        normalise<A>(a, y + begin, gain_.data() + begin % static_cast<std::int64_t>(gain_.size()), group_,
                     group_, norm_, y + begin);
    if (form_.norm == OutputNorm::before) gate(a, z, y);
    for (std::int64_t i = 0; i < outputs_; ++i) y[i] = a.narrow(y[i], 0, output_);
  }
  int sum_bits() const {
    return gated() ? std::max(read_.bits, norm_.width.bits) + table_.bits() + shift_growth(shift_) : 0;
  }

 private:
  void gate(const A& a, const Value* z, Value* y) const {
    if (!gated()) return;
    for (std::int64_t i = 0; i < outputs_; ++i) {
      const Wide factor = a.table(table_, z[i]);
      a.watch(table_site_, factor);
      y[i] = kept(a, rounded_, Wide(y[i]) * factor, shift_, gated_);
    }
  }

  MixerForm form_;
  std::int64_t outputs_ = 0, group_ = 1;
  bool rounded_ = true;
  Width output_, read_, gated_;
  Table table_;
  int shift_ = 0, table_site_ = -1;
  std::vector<Value> gain_;
  NormRule norm_;
};

}  // namespace rung
