// The mixers that see little or nothing of other tokens:
//   conv      y_t[c] = rsh(Σ_j taps[c][j] v_{t-j}[c], taps.shift), v = the value projection, 0 before the start
//   identity  y_t = v_t
#include "rung/exact/entries_mixer.h"

namespace rung {
namespace {

template <class A>
class Convolution final : public EntriesMixer<A> {
 public:
  using Value = typename A::Value;
  // taps = 1 and no weights: identity.
  Convolution(const MixerContext<A>& context, std::int64_t channels, std::int64_t taps)
      : channels_(channels), taps_(taps), arithmetic_(context.arithmetic), input_bits_(context.input_bits) {
    auto& source = context.source;
    value_ = source.template map<A>("v", channels, context.width);
    if (taps > 0) {
      weight_ = source.template numbers<Value>("taps.weight", {channels, taps});
      shift_ = source.shift("taps.shift");
    }
    output_ = source.width("y");
  }
  std::int64_t output_width() const override { return channels_; }
  void step(MixerState<A>& generic, const Value* x, Value* y) const override {
    auto& earlier = static_cast<typename EntriesMixer<A>::State&>(generic).entries;  // newest row first
    std::vector<Value> now(static_cast<std::size_t>(channels_));
    value_.apply(arithmetic_, x, now.data());
    if (y)
      for (std::int64_t c = 0; c < channels_; ++c) {
        if (taps_ == 0) {
          y[c] = arithmetic_.narrow(now[static_cast<std::size_t>(c)], 0, output_);
          continue;
        }
        typename A::Wide sum =
            typename A::Wide(weight_[static_cast<std::size_t>(c * taps_)]) * now[static_cast<std::size_t>(c)];
        for (std::int64_t j = 1; j < taps_; ++j)
          sum += typename A::Wide(weight_[static_cast<std::size_t>(c * taps_ + j)]) *
                 earlier[static_cast<std::size_t>((j - 1) * channels_ + c)];
        y[c] = arithmetic_.narrow(sum, shift_, output_);
      }
    if (taps_ > 1) {
      std::copy_backward(earlier.begin(), earlier.end() - channels_, earlier.end());
      std::copy(now.begin(), now.end(), earlier.begin());
    }
  }
  int sum_bits() const override {
    double norm = 1;
    for (std::int64_t c = 0; c < channels_ && taps_ > 0; ++c) {
      double row = 0;
      for (std::int64_t j = 0; j < taps_; ++j)
        row += std::abs(static_cast<double>(weight_[static_cast<std::size_t>(c * taps_ + j)]));
      norm = std::max(norm, row);
    }
    return std::max(
        value_.sum_bits(input_bits_),
        value_.width().bits + static_cast<int>(std::ceil(std::log2(norm))) + 1 + shift_growth(shift_));
  }

 protected:
  std::int64_t entries() const override { return std::max<std::int64_t>(taps_ - 1, 0) * channels_; }
  int entry_bits() const override { return value_.width().bits; }

 private:
  std::int64_t channels_, taps_;
  A arithmetic_;
  int input_bits_;
  LinearMap<A> value_;
  std::vector<Value> weight_;
  int shift_ = 0;
  Width output_;
};

}  // namespace

template <class A>
std::unique_ptr<MixerFor<A>> make_conv(const MixerContext<A>& context) {
  return std::make_unique<Convolution<A>>(context, context.shape.inner, context.shape.conv);
}
template <class A>
std::unique_ptr<MixerFor<A>> make_identity(const MixerContext<A>& context) {
  return std::make_unique<Convolution<A>>(context, context.shape.output_width(), 0);
}
RUNG_INSTANTIATE_MIXER(make_conv);
RUNG_INSTANTIATE_MIXER(make_identity);

}  // namespace rung
