// Mamba (selective state space), per channel c and state entry n:
//   Δ_t = table(delta channel),  a = table(rsh(Δ_t A[c][n], decay.index_shift)) in [0, 2^decay.shift]
//   h ← rsh(a h, decay.shift) + rsh(Δ_t B_t[n] x_t[c], update.shift)
//   y_t[c] = rsh(Σ_n C_t[n] h[c][n], read.shift) + rsh(D[c] x_t[c], skip.shift)
// Channels: x [inner] (convolved when the layer has a short convolution), b, c [state], delta [inner].
#include "rung/exact/projection.h"

namespace rung {
namespace {

template <class A>
class Mamba final : public RecurrentMixer<A> {
 public:
  using Value = typename A::Value;
  using Wide = typename A::Wide;

  explicit Mamba(const MixerContext<A>& context)
      : inner_(context.shape.inner),
        entries_(context.shape.state),
        arithmetic_(context.arithmetic),
        projection_(context.arithmetic),
        input_bits_(context.input_bits) {
    auto& source = context.source;
    projection_.add(source.template map<A>("x", inner_, context.width));
    projection_.convolve(context, 0);
    projection_.add(source.template map<A>("b", entries_, context.width));
    projection_.add(source.template map<A>("c", entries_, context.width));
    projection_.add(source.template map<A>("delta", inner_, context.width));
    delta_ = source.table("delta", "softplus");
    a_ = source.template numbers<Value>("a.weight", {inner_, entries_});
    skip_ = source.template numbers<Value>("skip.weight", {inner_});
    decay_ = source.table("decay", "exp");
    index_shift_ = source.shift("decay.index_shift");
    decay_shift_ = source.shift("decay.shift");
    update_shift_ = source.shift("update.shift");
    read_shift_ = source.shift("read.shift");
    skip_shift_ = source.shift("skip.shift");
    output_ = source.width("y");
    step_site_ = source.site("delta.act");
    index_site_ = source.site("decay");
    state_site_ = source.site("state");
    channel_bits_ = source.bits();
    for (const char* name : {"x", "b", "c"}) channel_bits_ = std::max(channel_bits_, source.width(name).bits);
    if (context.shape.conv > 0) channel_bits_ = std::max(channel_bits_, source.width("conv").bits);
  }

  struct State final : MixerState<A> {
    typename Projection<A>::Buffer buffer;
    std::vector<Value> entries;
    void append_numbers(std::vector<Value>& out) const override {
      out.insert(out.end(), entries.begin(), entries.end());
      out.insert(out.end(), buffer.earlier.begin(), buffer.earlier.end());
    }
  };
  std::int64_t output_width() const override { return inner_; }
  std::unique_ptr<MixerState<A>> start() const override {
    auto state = std::make_unique<State>();
    state->buffer = projection_.start();
    state->entries.assign(static_cast<std::size_t>(inner_ * entries_), Value{0});
    return state;
  }
  void step(MixerState<A>& generic, const Value* x, Value* y) const override {
    auto& state = static_cast<State&>(generic);
    std::vector<Value> channels(static_cast<std::size_t>(projection_.channels()));
    projection_.step(state.buffer, x, channels.data());
    const Value* b = channels.data() + inner_;
    const Value* c = b + entries_;
    for (std::int64_t i = 0; i < inner_; ++i) {
      const Wide delta = arithmetic_.table(delta_, c[entries_ + i]);
      arithmetic_.watch(step_site_, delta);
      Wide sum{0};
      for (std::int64_t n = 0; n < entries_; ++n) {
        const Wide index =
            arithmetic_.rescale(delta * a_[static_cast<std::size_t>(i * entries_ + n)], index_shift_);
        arithmetic_.watch(index_site_, index);
        const Wide decay = arithmetic_.table(decay_, index);
        Value& h = state.entries[static_cast<std::size_t>(i * entries_ + n)];
        h = arithmetic_.settle(
            arithmetic_.rescale(decay * h, decay_shift_) +
            arithmetic_.rescale(delta * b[n] * channels[static_cast<std::size_t>(i)], update_shift_));
        arithmetic_.watch(state_site_, h);
        sum += Wide(c[n]) * h;
      }
      if (y)
        y[i] = arithmetic_.narrow(arithmetic_.rescale(sum, read_shift_) +
                                      arithmetic_.rescale(Wide(skip_[static_cast<std::size_t>(i)]) *
                                                              channels[static_cast<std::size_t>(i)],
                                                          skip_shift_),
                                  0, output_);
    }
  }
  std::vector<int> state_widths(std::int64_t) const override {
    std::vector<int> widths(static_cast<std::size_t>(inner_ * entries_), arithmetic_.accumulator_bits);
    const auto buffer = projection_.buffer_widths();
    widths.insert(widths.end(), buffer.begin(), buffer.end());
    return widths;
  }
  std::unique_ptr<MixerState<A>> restore(std::span<const Value> numbers, std::int64_t t) const override {
    RUNG_REQUIRE(numbers.size() == state_widths(t).size(), "{} numbers of a state of {}", numbers.size(),
                 state_widths(t).size());
    auto state = std::make_unique<State>();
    state->entries.assign(numbers.begin(), numbers.begin() + inner_ * entries_);
    state->buffer.earlier.assign(numbers.begin() + inner_ * entries_, numbers.end());
    return state;
  }
  int sum_bits() const override {
    auto largest = [](const auto& values) {
      double top = 1;
      for (const auto value : values) top = std::max(top, std::abs(static_cast<double>(value)));
      return static_cast<int>(std::ceil(std::log2(top))) + 2;
    };
    const int state = arithmetic_.accumulator_bits, delta = largest(delta_.values);
    const int decayed = state + largest(decay_.values) + shift_growth(decay_shift_),
              written = delta + 2 * channel_bits_ + shift_growth(update_shift_);
    const int read =
        channel_bits_ + state + ceil_lg(static_cast<std::uint64_t>(entries_)) + 1 + shift_growth(read_shift_);
    const int skipped = largest(skip_) + channel_bits_ + shift_growth(skip_shift_);
    return std::max({projection_.sum_bits(input_bits_), delta + largest(a_) + shift_growth(index_shift_),
                     decayed + 1, written + 1, read + 1, skipped + 1});
  }

 private:
  std::int64_t inner_, entries_;
  A arithmetic_;
  Projection<A> projection_;
  int input_bits_;
  Table delta_, decay_;
  std::vector<Value> a_, skip_;
  int index_shift_ = 0, decay_shift_ = 0, update_shift_ = 0, read_shift_ = 0, skip_shift_ = 0,
      channel_bits_ = 16;
  int step_site_ = -1, index_site_ = -1, state_site_ = -1;
  Width output_;
};

}  // namespace

template <class A>
std::unique_ptr<MixerFor<A>> make_mamba(const MixerContext<A>& context) {
  return std::make_unique<Mamba<A>>(context);
}
RUNG_INSTANTIATE_MIXER(make_mamba);

}  // namespace rung
