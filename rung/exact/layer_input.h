// What a layer's mixer reads: the residual rows after the layer's norm.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rung/exact/mixer.h"
#include "rung/exact/vector_norm.h"

namespace rung {

template <class A>
struct RowNorm {
  std::vector<typename A::Value> gain;
  NormRule rule;
  std::vector<typename A::Value> bias{};  // of a layer norm (mode Q), which also takes the mean away

  static RowNorm read(TensorSource& source, const std::string& name, std::int64_t width, int input_bits) {
    RowNorm norm{source.template numbers<typename A::Value>(name + ".gain", {width}),
                 NormRule{static_cast<int>(source.scalar(name + ".fraction", 0, 0, 24)),
                          static_cast<int>(source.scalar(name + ".extra", 0, 0, 24)), source.width(name),
                          source.integer() ? 0 : source.real_scalar(name + ".epsilon", 0)}};
    if constexpr (!A::kExact)
      if (!source.integer() && source.has(name + ".bias"))
        norm.bias = source.template numbers<typename A::Value>(name + ".bias", {width});
    if (norm.rule.epsilon < 0)
      source.refuse(fail(ErrorCode::range, "[weights] \"{}{}.epsilon\" is negative", source.prefix(), name));
    if constexpr (A::kExact) {
      const int bits = norm_bits(norm.rule, input_bits, Table{0, norm.gain, {}}.bits(), width);
      if (bits > kMostNormBits)
        source.refuse(fail(ErrorCode::range, "[exact] \"{}{}\" could need {} bits; at most {} expected",
                           source.prefix(), name, bits, kMostNormBits));
    }
    return norm;
  }
  void apply(const A& arithmetic, const typename A::Value* x, typename A::Value* y) const {
    const auto size = static_cast<std::int64_t>(gain.size());
    if constexpr (!A::kExact)
      if (!bias.empty()) {
        double mean = 0;
        for (std::int64_t i = 0; i < size; ++i) mean += x[i] / static_cast<double>(size);
        for (std::int64_t i = 0; i < size; ++i) y[i] = x[i] - mean;
        normalise<A>(arithmetic, y, gain.data(), size, size, rule, y);
        for (std::int64_t i = 0; i < size; ++i)
          y[i] = arithmetic.round(y[i] + bias[static_cast<std::size_t>(i)], rule.width);
        return;
      }
    normalise<A>(arithmetic, x, gain.data(), size, size, rule, y);
  }
};

// Rows of a stored matrix, or of a prompt embedded on the fly, after an optional norm; behind each the numbers that
// an earlier layer published for it, where the mixer reads them.
template <class A>
class LayerInput final : public Rows<typename A::Value> {
 public:
  using Value = typename A::Value;
  LayerInput(std::int64_t count, std::int64_t width, std::function<void(std::int64_t, Value*)> row,
             const A& arithmetic, const RowNorm<A>* norm, const Value* side = nullptr,
             std::int64_t side_width = 0)
      : count_(count),
        width_(width),
        side_width_(side_width),
        side_(side),
        row_(std::move(row)),
        arithmetic_(arithmetic),
        norm_(norm) {}
  std::int64_t count() const override { return count_; }
  std::int64_t width() const override { return width_ + side_width_; }
  void read(std::int64_t begin, std::int64_t end, Value* out) const override {
    for (std::int64_t t = begin; t < end; ++t, out += width()) {
      row_(t, out);
      if (norm_) norm_->apply(arithmetic_, out, out);
      if (side_width_ > 0) std::copy_n(side_ + t * side_width_, side_width_, out + width_);
    }
  }

 private:
  std::int64_t count_, width_, side_width_;
  const Value* side_;
  std::function<void(std::int64_t, Value*)> row_;
  A arithmetic_;
  const RowNorm<A>* norm_;
};

}  // namespace rung
