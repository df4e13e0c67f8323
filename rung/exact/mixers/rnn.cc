// Elman and gated recurrent units over a hidden vector h of `inner` numbers.
//   rnn: h ← act(rsh(W x + b + U h, cell.shift)), act = table (tanh) or relu
//   gru: z = σ(rsh(Wz x + Uz h, gate.shift)), r = σ(rsh(Wr x + Ur h, gate.shift)),
//        n = tanh(rsh(Wn x + rsh(r (Un h), gate.fraction), cell.shift)),
//        h ← rsh(z h + (2^f - z) n, f), f = gate.fraction, so z and r lie in [0, 2^f]
// y_t = h_t, rounded to y.bits. h is stored at the accumulator's width.
#include "rung/exact/entries_mixer.h"

namespace rung {
namespace {

template <class A>
class HiddenVector : public EntriesMixer<A> {
 public:
  using Value = typename A::Value;
  using Wide = typename A::Wide;
  explicit HiddenVector(const MixerContext<A>& context)
      : size_(context.shape.inner),
        arithmetic_(context.arithmetic),
        input_bits_(context.input_bits),
        output_(context.source.width("y")),
        state_site_(context.source.site("state")) {}
  std::int64_t output_width() const override { return size_; }

 protected:
  std::int64_t entries() const override { return size_; }
  int entry_bits() const override { return arithmetic_.accumulator_bits; }
  void emit(const std::vector<Value>& hidden, Value* y) const {
    for (const Value value : hidden) arithmetic_.watch(state_site_, value);
    if (y)
      for (std::int64_t i = 0; i < size_; ++i)
        y[i] = arithmetic_.narrow(hidden[static_cast<std::size_t>(i)], 0, output_);
  }
  std::int64_t size_;
  A arithmetic_;
  int input_bits_;
  Width output_;
  int state_site_;
};

template <class A>
class Elman final : public HiddenVector<A> {
 public:
  using typename HiddenVector<A>::Value;
  using typename HiddenVector<A>::Wide;
  explicit Elman(const MixerContext<A>& context) : HiddenVector<A>(context), relu_(context.shape.relu_cell) {
    auto& source = context.source;
    input_ = source.template sums<A>("x", this->size_, context.width);
    hidden_ = source.template sums<A>("h", this->size_, this->size_);
    shift_ = source.shift("cell.shift");
    if (!relu_) table_ = source.table("cell", "tanh");
  }
  void step(MixerState<A>& generic, const Value* x, Value* y) const override {
    auto& hidden = static_cast<typename EntriesMixer<A>::State&>(generic).entries;
    std::vector<Value> next(hidden.size());
    for (std::int64_t i = 0; i < this->size_; ++i) {
      const Wide sum = this->arithmetic_.rescale(input_.sum(i, x) + hidden_.sum(i, hidden.data()), shift_);
      next[static_cast<std::size_t>(i)] =
          this->arithmetic_.settle(relu_ ? (sum > 0 ? sum : Wide{0}) : this->arithmetic_.table(table_, sum));
    }
    hidden = std::move(next);
    this->emit(hidden, y);
  }
  int sum_bits() const override {
    return std::max(input_.sum_bits(this->input_bits_),
                    hidden_.sum_bits(this->arithmetic_.accumulator_bits)) +
           1 + shift_growth(shift_);
  }

 private:
  bool relu_;
  LinearMap<A> input_, hidden_;
  int shift_ = 0;
  Table table_;
};

template <class A>
class Gru final : public HiddenVector<A> {
 public:
  using typename HiddenVector<A>::Value;
  using typename HiddenVector<A>::Wide;
  explicit Gru(const MixerContext<A>& context) : HiddenVector<A>(context) {
    auto& source = context.source;
    for (int i = 0; i < 3; ++i) {
      const std::string letter = i == 0 ? "z" : i == 1 ? "r" : "n";
      input_[i] = source.template sums<A>("x" + letter, this->size_, context.width);
      hidden_[i] = source.template sums<A>("h" + letter, this->size_, this->size_);
    }
    gate_ = source.table("gate", "sigmoid");
    cell_ = source.table("cell", "tanh");
    gate_shift_ = source.shift("gate.shift");
    cell_shift_ = source.shift("cell.shift");
    fraction_ = static_cast<int>(source.scalar("gate.fraction", 0, 0, 30));
  }
  void step(MixerState<A>& generic, const Value* x, Value* y) const override {
    auto& hidden = static_cast<typename EntriesMixer<A>::State&>(generic).entries;
    const auto& a = this->arithmetic_;
    const Value* h = hidden.data();
    std::vector<Value> next(hidden.size());
    const std::int64_t unit = std::int64_t{1} << fraction_;
    const Wide one = Wide(unit);
    for (std::int64_t i = 0; i < this->size_; ++i) {
      const Wide z = a.table(gate_, a.rescale(input_[0].sum(i, x) + hidden_[0].sum(i, h), gate_shift_));
      const Wide r = a.table(gate_, a.rescale(input_[1].sum(i, x) + hidden_[1].sum(i, h), gate_shift_));
      const Wide n = a.table(
          cell_,
          a.rescale(input_[2].sum(i, x) + a.rescale(r * hidden_[2].sum(i, h), fraction_), cell_shift_));
      next[static_cast<std::size_t>(i)] = a.settle(a.rescale(z * h[i] + (one - z) * n, fraction_));
    }
    hidden = std::move(next);
    this->emit(hidden, y);
  }
  int sum_bits() const override {
    const int state = this->arithmetic_.accumulator_bits;
    int sums = 0;
    for (int i = 0; i < 3; ++i)
      sums = std::max({sums, input_[i].sum_bits(this->input_bits_), hidden_[i].sum_bits(state)});
    const int gate = std::max(gate_.bits(), fraction_ + 2) + 1;  // z, r, 2^f - z
    return std::max({sums + 1 + shift_growth(gate_shift_), sums + gate + 1 + shift_growth(cell_shift_),
                     gate + std::max(state, cell_.bits()) + 1});
  }

 private:
  LinearMap<A> input_[3], hidden_[3];
  Table gate_, cell_;
  int gate_shift_ = 0, cell_shift_ = 0, fraction_ = 0;
};

}  // namespace

template <class A>
std::unique_ptr<MixerFor<A>> make_rnn(const MixerContext<A>& context) {
  return std::make_unique<Elman<A>>(context);
}
template <class A>
std::unique_ptr<MixerFor<A>> make_gru(const MixerContext<A>& context) {
  return std::make_unique<Gru<A>>(context);
}
RUNG_INSTANTIATE_MIXER(make_rnn);
RUNG_INSTANTIATE_MIXER(make_gru);

}  // namespace rung
