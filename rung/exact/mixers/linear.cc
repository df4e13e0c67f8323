// Linear attention: S_t = S_{t-1} + v_t φ(k_t)ᵀ, Z_t = Z_{t-1} + φ(k_t),
//   normalised    y_t = round(c S_t φ(q_t) / Z_t·φ(q_t)), 0 if the denominator is 0
//   unnormalised  y_t = rsh(S_t φ(q_t), read.shift)
// in the declared accumulator (exact | wrap | round). finish_parallel() is the form without a state: with exact
// sums Σ_j (φ(q_t)·φ(k_j)) v_j, the weights of attention; with wrap and round Σ_j v_j φ(k_j)ᵀ, formed at once and
// put into the accumulator once, then read. The recurrence equals it for exact and wrap; with round only the
// recurrence defines the model (docs/theorems.md, linear-recurrence).
//
// Features: identity, relu, elu1 and exp (tables), taylor2: φ_k = rsh((2^2g, 2^g x, x xᵀ), s),
// φ_q = rsh((2^(2g+1), 2^(g+1) x, x xᵀ), s), so that φ_q·φ_k is 2 + 2 q·k + (q·k)² in units of 2^(4g-2s).
// State of head h: value_dim rows of S, then Z when normalised; each row has one entry per feature.

#include "rung/exact/matrix_cell.h"

namespace rung {
namespace {

template <class A>
class LinearCell final : public MatrixCell<A> {
 public:
  using Value = typename A::Value;
  using Wide = typename A::Wide;

  LinearCell(const MixerContext<A>& context, bool normalised)
      : MatrixCell<A>(context), normalised_(normalised) {
    auto& source = context.source;
    const auto& s = this->shape;
    auto q = source.template map<A>("q", s.heads * s.key_dim, context.width);
    auto k = source.template map<A>("k", s.heads * s.key_dim, context.width);
    auto v = source.template map<A>("v", s.heads * s.value_dim, context.width);
    value_bits_ = s.conv > 0 ? source.width("conv").bits : v.width().bits;
    channel_bits_ = s.conv > 0 ? source.width("conv").bits : std::max(q.width().bits, k.width().bits);
    this->projection.add(std::move(q));
    this->projection.add(std::move(k));
    this->projection.add(std::move(v));
    this->projection.convolve(context, 0);
    if (has_feature_width()) feature_width_ = source.width("feature");
    if (s.feature == FeatureMap::elu1) table_ = source.table("feature", "elu1");
    if (s.feature == FeatureMap::exp) table_ = source.table("feature", "exp");
    if (s.feature == FeatureMap::taylor2) {
      feature_fraction_ = static_cast<int>(source.scalar("feature.fraction", 0, 0, 20));
      feature_shift_ = source.shift("feature.shift");
    }
    count_site_ = source.site("state.count");
    features_ = s.feature == FeatureMap::taylor2 ? 1 + s.key_dim + s.key_dim * s.key_dim : s.key_dim;
    rows_ = s.value_dim + (normalised ? 1 : 0);
    this->read_output_form(context, 1, 1);
    scale_ = source.scalar("value.scale", 1, 1, std::int64_t{1} << 32);
    update_shift_ = source.shift("update.shift");
    positions_bits_ = ceil_lg(static_cast<std::uint64_t>(context.positions) + 1);
    if constexpr (A::kExact) {
      state_bits_ =
          this->arithmetic.accumulator == Accumulator::exact
              ? feature_bits() + value_bits_ + ceil_lg(static_cast<std::uint64_t>(context.positions) + 1)
              : this->arithmetic.accumulator_bits;
      if (state_bits_ > 62)
        source.refuse(fail(ErrorCode::resource,
                           "[exact] \"{}\": exact accumulators over {} tokens need {} bits; at most 62 here, "
                           "or wrap | round",
                           source.prefix(), context.positions, state_bits_));
      const int quotient = read_bits() + bit_length(static_cast<std::uint64_t>(scale_)) + 2;
      if (normalised && quotient > 126)
        source.refuse(
            fail(ErrorCode::resource,
                 "[exact] \"{}\": value.scale times a numerator needs {} bits; at most 126 are exact here",
                 source.prefix(), quotient));
    }
  }

  std::int64_t state_size() const override { return this->shape.heads * rows_ * features_; }

  void update(Value* state, const Value* channels, bool with_value) const override {
    if (!with_value) return;
    const auto& s = this->shape;
    std::vector<Value> phi(static_cast<std::size_t>(features_));
    for (std::int64_t h = 0; h < s.heads; ++h) {
      feature(channels + (s.heads + h) * s.key_dim, phi.data(), false);
      const Value* value = channels + 2 * s.heads * s.key_dim + h * s.value_dim;
      for (std::int64_t r = 0; r < rows_; ++r) {
        const Wide v = r < s.value_dim ? Wide(value[r]) : Wide{1};
        Value* row = state + (h * rows_ + r) * features_;
        for (std::int64_t c = 0; c < features_; ++c)
          row[c] = this->arithmetic.add_linear(row[c], v * phi[static_cast<std::size_t>(c)],
                                               r < s.value_dim ? update_shift_ : 0);
      }
    }
  }

  void read(const Value* state, const Value* channels, Wide* sums) const override {
    read_rows(state, channels, this->shape.value_dim, sums);
  }

  void finish(const Value* state, const Value* channels, Value* y) const override {
    if (!normalised_) return MatrixCell<A>::finish(state, channels, y);
    const auto& s = this->shape;
    std::vector<Wide> sums(static_cast<std::size_t>(s.heads * rows_));
    read_rows(state, channels, rows_, sums.data());
    round_off(sums, y);
  }

  ParallelForm parallel_form() const override {
    if constexpr (!A::kExact) return ParallelForm::none;
    // What is formed at once must fit into 128 bits, as many tokens as there may be.
    if (feature_bits() + value_bits_ + shift_growth(update_shift_) + positions_bits_ > 126)
      return ParallelForm::none;
    return this->arithmetic.accumulator == Accumulator::round ? ParallelForm::rounded : ParallelForm::same;
  }
  void finish_parallel(const Value* channels, std::int64_t count, Value* y) const override {
    if constexpr (A::kExact) {
      const auto& s = this->shape;
      const std::int64_t stride = this->projection.channels();
      std::vector<Value> query(static_cast<std::size_t>(features_)), phi(query);
      std::vector<Wide> sums(static_cast<std::size_t>(s.heads * rows_), Wide{0});
      for (std::int64_t h = 0; h < s.heads; ++h) {
        feature(channels + (count - 1) * stride + h * s.key_dim, query.data(), true);
        std::vector<Int128> entries(static_cast<std::size_t>(rows_ * features_), 0);
        for (std::int64_t j = 0; j < count; ++j) {
          const Value* token = channels + j * stride;
          feature(token + (s.heads + h) * s.key_dim, phi.data(), false);
          Wide weight{0};
          for (std::size_t c = 0; c < phi.size(); ++c) weight += Wide(query[c]) * phi[c];
          for (std::int64_t r = 0; r < rows_; ++r) {
            const Value v = r < s.value_dim ? token[2 * s.heads * s.key_dim + h * s.value_dim + r] : 1;
            if (this->arithmetic.accumulator == Accumulator::exact)
              sums[static_cast<std::size_t>(h * rows_ + r)] += weight * v;
            else
              for (std::size_t c = 0; c < phi.size(); ++c)
                entries[static_cast<std::size_t>(r * features_) + c] += Int128(v) * phi[c];
          }
        }
        if (this->arithmetic.accumulator == Accumulator::exact) continue;
        for (std::int64_t r = 0; r < rows_; ++r)
          for (std::size_t c = 0; c < query.size(); ++c)
            sums[static_cast<std::size_t>(h * rows_ + r)] +=
                Wide(put_once(entries[static_cast<std::size_t>(r * features_) + c], r)) * query[c];
      }
      round_off(sums, y);
    }
  }

  // Sums of values and sums of keys have scales of their own.
  void watch(const Value* state) const override {
    if (this->state_site < 0) return;
    const std::int64_t values = this->shape.value_dim * features_, head = rows_ * features_;
    for (std::int64_t i = 0; i < state_size(); ++i)
      this->arithmetic.watch(i % head < values ? this->state_site : count_site_, state[i]);
  }
  int entry_bits() const override { return state_bits_; }
  int sum_bits() const override {
    const int taylor =
        std::max({2 * channel_bits_, channel_bits_ + feature_fraction_ + 2, 2 * feature_fraction_ + 3}) +
        shift_growth(feature_shift_);
    return std::max({read_bits() + shift_growth(this->read_shift),
                     feature_bits() + value_bits_ + shift_growth(update_shift_) + 1, state_bits_ + 1,
                     this->shape.feature == FeatureMap::taylor2 ? taylor : 0});
  }

 private:
  // identity and relu keep the width of their channel.
  bool has_feature_width() const {
    return this->shape.feature != FeatureMap::identity && this->shape.feature != FeatureMap::relu;
  }
  int feature_bits() const { return has_feature_width() ? feature_width_.bits : channel_bits_; }
  int read_bits() const {
    return state_bits_ + feature_bits() + ceil_lg(static_cast<std::uint64_t>(features_)) + 1;
  }

  // A sum over all tokens, put into the accumulator at once.
  std::int64_t put_once(Int128 sum, std::int64_t row) const {
    const int bits = this->arithmetic.accumulator_bits;
    if (this->arithmetic.accumulator == Accumulator::wrap) return wrap(sum, bits);
    return saturate(shift_half_even(sum, row < this->shape.value_dim ? update_shift_ : 0), bits);
  }
  // The outputs of all heads from their product-sums, rows_ of them a head.
  void round_off(const std::vector<Wide>& sums, Value* y) const {
    const std::int64_t values = this->shape.value_dim;
    for (std::int64_t h = 0; h < this->shape.heads; ++h)
      for (std::int64_t r = 0; r < values; ++r) {
        const Wide sum = sums[static_cast<std::size_t>(h * rows_ + r)];
        y[h * values + r] =
            normalised_ ? this->arithmetic.quotient(sum, sums[static_cast<std::size_t>(h * rows_ + values)],
                                                    scale_, this->output)
                        : this->arithmetic.narrow(sum, this->read_shift, this->output);
      }
  }

  void feature(const Value* x, Value* phi, bool query) const {
    const auto& s = this->shape;
    const auto& a = this->arithmetic;
    switch (s.feature) {
      case FeatureMap::identity:
        std::copy(x, x + s.key_dim, phi);
        return;
      case FeatureMap::relu:
        for (std::int64_t c = 0; c < s.key_dim; ++c) phi[c] = A::relu(x[c]);
        return;
      case FeatureMap::elu1:
      case FeatureMap::exp:
        for (std::int64_t c = 0; c < s.key_dim; ++c)
          phi[c] = a.narrow(a.table(table_, x[c]), 0, feature_width_);
        return;
      case FeatureMap::taylor2: {
        const std::int64_t unit = std::int64_t{1} << feature_fraction_;
        const Wide one = Wide(unit), twice = query ? Wide{2} : Wide{1};
        phi[0] = a.narrow(twice * one * one, feature_shift_, feature_width_);
        for (std::int64_t c = 0; c < s.key_dim; ++c) {
          phi[1 + c] = a.narrow(twice * one * x[c], feature_shift_, feature_width_);
          for (std::int64_t b = 0; b < s.key_dim; ++b)
            phi[1 + s.key_dim + c * s.key_dim + b] =
                a.narrow(Wide(x[c]) * x[b], feature_shift_, feature_width_);
        }
        return;
      }
    }
  }

  void read_rows(const Value* state, const Value* channels, std::int64_t rows, Wide* sums) const {
    const auto& s = this->shape;
    std::vector<Value> phi(static_cast<std::size_t>(features_));
    for (std::int64_t h = 0; h < s.heads; ++h) {
      feature(channels + h * s.key_dim, phi.data(), true);
      for (std::int64_t r = 0; r < rows; ++r) {
        const Value* row = state + (h * rows_ + r) * features_;
        Wide sum{0};
        for (std::int64_t c = 0; c < features_; ++c) sum += Wide(row[c]) * phi[static_cast<std::size_t>(c)];
        sums[h * rows + r] = sum;
      }
    }
  }

  bool normalised_;
  std::int64_t features_ = 0, rows_ = 0, scale_ = 1;
  int value_bits_ = 16, channel_bits_ = 16, state_bits_ = 0, update_shift_ = 0, feature_fraction_ = 0,
      feature_shift_ = 0, count_site_ = -1, positions_bits_ = 0;
  Width feature_width_;
  Table table_;
};

// The encoder's form: one state over all positions, read at every wanted one.
template <class A>
class BidirectionalLinear final : public MixerFor<A> {
 public:
  using Value = typename A::Value;
  explicit BidirectionalLinear(std::unique_ptr<MatrixCell<A>> cell) : recurrence_(std::move(cell)) {}
  std::int64_t output_width() const override { return recurrence_.output_width(); }
  int sum_bits() const override { return recurrence_.sum_bits(); }
  void forward(const Rows<Value>& x, std::span<const std::int64_t> wanted, Value* y) const override {
    const auto& cell = recurrence_.cell();
    std::vector<Value> channels(static_cast<std::size_t>(cell.projection.channels()));
    std::vector<Value> state(static_cast<std::size_t>(cell.state_size()), Value{0});
    for (std::int64_t t = 0; t < x.count(); ++t) {
      cell.projection.read(x, t, t + 1, channels.data());
      cell.update(state.data(), channels.data(), true);
    }
    cell.watch(state.data());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      cell.projection.read(x, wanted[i], wanted[i] + 1, channels.data());
      cell.finish(state.data(), channels.data(), y + static_cast<std::int64_t>(i) * output_width());
    }
  }
  std::unique_ptr<MixerState<A>> start() const override { RUNG_REQUIRE(false, "an encoder has no steps"); }
  void step(MixerState<A>&, const Value*, Value*) const override {
    RUNG_REQUIRE(false, "an encoder has no steps");
  }

 private:
  MatrixRecurrence<A> recurrence_;
};

}  // namespace

template <class A>
std::unique_ptr<MatrixCell<A>> make_linear_cell(const MixerContext<A>& context, bool normalised) {
  return std::make_unique<LinearCell<A>>(context, normalised);
}
RUNG_INSTANTIATE_CELL(make_linear_cell, bool);

template <class A>
std::unique_ptr<MixerFor<A>> make_linear(const MixerContext<A>& context) {
  auto cell = make_linear_cell(context, context.shape.normalised);
  if (!context.causal) return std::make_unique<BidirectionalLinear<A>>(std::move(cell));
  return std::make_unique<MatrixRecurrence<A>>(std::move(cell));
}
RUNG_INSTANTIATE_MIXER(make_linear);

}  // namespace rung
