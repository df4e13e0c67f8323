// What the released layers are made of, in real numbers (docs/parity.md): activations, norms with their own
// epsilons, maps through a bottleneck, the output stage. They run in mode Q alone: mode X refuses their mixers by
// name (refuse_integer_form).
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rung/exact/mixer.h"
#include "rung/exact/projection.h"

namespace rung {

inline double logistic(double x) { return 1 / (1 + std::exp(-x)); }
inline double log_logistic(double x) {
  return x > 0 ? -std::log1p(std::exp(-x)) : x - std::log1p(std::exp(x));
}
// As PyTorch has it: x itself above 20.
inline double released_softplus(double x) { return x > 20 ? x : std::log1p(std::exp(x)); }

inline double activate(Activation function, double x) {
  switch (function) {
    case Activation::none:
      return x;
    case Activation::silu:
      return x * logistic(x);
    case Activation::relu:
      return x > 0 ? x : 0;
    case Activation::elu1:
      return x > 0 ? x + 1 : std::exp(x);
    case Activation::sigmoid:
      return logistic(x);
  }
  return x;
}

// x ← x / √(Σx² / count + epsilon): count = size for a root mean square, 1 for a length.
inline void divide_by_root(double* x, std::int64_t size, double count, double epsilon) {
  double squares = 0;
  for (std::int64_t i = 0; i < size; ++i) squares += x[i] * x[i];
  const double root = std::sqrt(squares / count + epsilon);
  for (std::int64_t i = 0; i < size; ++i) x[i] = root == 0 ? 0 : x[i] / root;
}

// One head's key or query.
inline void scale_key(KeyNorm norm, double* x, std::int64_t size) {
  switch (norm) {
    case KeyNorm::none:
      return;
    case KeyNorm::l2:
      return divide_by_root(x, size, 1, kLengthEpsilon);
    case KeyNorm::unit: {  // x / max(‖x‖, 1e-12)
      double squares = 0;
      for (std::int64_t i = 0; i < size; ++i) squares += x[i] * x[i];
      const double length = std::max(std::sqrt(squares), 1e-12);
      for (std::int64_t i = 0; i < size; ++i) x[i] /= length;
      return;
    }
    case KeyNorm::sum: {
      double sum = 0;
      for (std::int64_t i = 0; i < size; ++i) sum += x[i];
      for (std::int64_t i = 0; i < size; ++i) x[i] /= sum;
      return;
    }
  }
}

// NAME.weight, or through a bottleneck of `rank` numbers NAME_low.weight and then NAME.weight; an activation
// between the two where the layer has one. A bias belongs to NAME.
class RealMap {
 public:
  RealMap() = default;
  RealMap(TensorSource& source, const std::string& name, std::int64_t rows, std::int64_t columns,
          std::int64_t rank = 0, Activation inside = Activation::none, bool tanh_inside = false)
      : inside_(inside), tanh_inside_(tanh_inside) {
    if (rank > 0) low_ = source.map<RealArithmetic>(name + "_low", rank, columns);
    map_ = source.map<RealArithmetic>(name, rows, rank > 0 ? rank : columns);
  }
  std::int64_t rows() const { return map_.rows(); }
  std::vector<double> operator()(const RealArithmetic& arithmetic, const double* x) const {
    std::vector<double> y(static_cast<std::size_t>(map_.rows()));
    if (!low_) {
      map_.apply(arithmetic, x, y.data());
      return y;
    }
    std::vector<double> inner(static_cast<std::size_t>(low_->rows()));
    low_->apply(arithmetic, x, inner.data());
    for (auto& value : inner) value = tanh_inside_ ? std::tanh(value) : activate(inside_, value);
    map_.apply(arithmetic, inner.data(), y.data());
    return y;
  }

 private:
  std::optional<LinearMap<RealArithmetic>> low_;
  LinearMap<RealArithmetic> map_;
  Activation inside_ = Activation::none;
  bool tanh_inside_ = false;
};

// The end of a layer: y = rms(o ⊙ act(z)) or rms(o) ⊙ act(z), each part only where the form has it. o is what the
// recurrence read, head after head, with the skip term added.
class OutputStage {
 public:
  OutputStage() = default;
  // `gain` entries of ynorm.gain repeat along the row; `group` entries are normalised together.
  OutputStage(const MixerContext<RealArithmetic>& context, std::int64_t width, std::int64_t gain,
              std::int64_t group, std::int64_t rank)
      : form_(context.shape.form), width_(width), group_(group), arithmetic_(context.arithmetic) {
    auto& source = context.source;
    if (form_.gate != Activation::none) gate_ = RealMap(source, "z", width, context.width, rank);
    if (form_.norm != OutputNorm::none) {
      gain_ = source.numbers<double>("ynorm.gain", {gain});
      epsilon_ = source.real_scalar("ynorm.epsilon", 0);
      if (epsilon_ < 0)
        source.refuse(fail(ErrorCode::range, "[weights] \"{}ynorm.epsilon\" is negative", source.prefix()));
    }
    output_ = source.width("y");
  }
  // o is used up.
  void finish(const double* x, std::vector<double>& o, double* y) const {
    std::vector<double> z;
    if (form_.gate != Activation::none) {
      z = gate_(arithmetic_, x);
      for (auto& value : z) value = activate(form_.gate, value);
    }
    const auto multiply = [&] {
      for (std::size_t i = 0; i < z.size(); ++i) o[i] *= z[i];
    };
    if (form_.norm != OutputNorm::before) multiply();
    if (form_.norm != OutputNorm::none)
      for (std::int64_t begin = 0; begin < width_; begin += group_) {
        divide_by_root(o.data() + begin, group_, static_cast<double>(group_), epsilon_);
        for (std::int64_t i = begin; i < begin + group_; ++i)
          o[static_cast<std::size_t>(i)] *= gain_[static_cast<std::size_t>(i) % gain_.size()];
      }
    if (form_.norm == OutputNorm::before) multiply();
    for (std::int64_t i = 0; i < width_; ++i)
      y[i] = arithmetic_.narrow(o[static_cast<std::size_t>(i)], 0, output_);
  }

 private:
  MixerForm form_;
  std::int64_t width_ = 0, group_ = 1;
  RealArithmetic arithmetic_;
  RealMap gate_;
  std::vector<double> gain_;
  double epsilon_ = 0;
  Width output_;
};

// Mode X has no meaning for this mixer; says so through the source.
template <class A>
std::unique_ptr<MixerFor<A>> refuse_integer_form(const MixerContext<A>& context) {
  context.source.refuse(
      fail(ErrorCode::unsupported,
           "[exact] \"{}\" holds {}, which has no integer form; expected a file of mode real",
           context.source.prefix(), form_name(context.shape)));
  return nullptr;
}

// In each such mixer's file: `real` makes it in mode Q.
#define RUNG_REAL_FORM(make, real)                                    \
  template <class A>                                                  \
  std::unique_ptr<MixerFor<A>> make(const MixerContext<A>& context) { \
    if constexpr (A::kExact)                                          \
      return refuse_integer_form(context);                            \
    else                                                              \
      return real(context);                                           \
  }                                                                   \
  RUNG_INSTANTIATE_MIXER(make)

}  // namespace rung
