// Mixers whose memory is a row of numbers (docs/weights.md, "Mixers"): mamba, rnn, gru; conv and identity.
#include "check/mixer.h"

namespace rung_check {
namespace {

// A row of numbers that is updated: mamba's channels, the hidden rows of rnn and gru, the taps of conv,
// nothing (identity).
template <class N>
class RowRecurrence : public Mixer<N> {
 public:
  RowRecurrence(const Shape& shape, const Part<N>& part) : s_(shape), part_(part), y_bits_(part.bits("y")) {}
  Numbers<N> answer(std::int64_t) override { return y_; }
  void reset() override { hidden_.assign(at(s_.inner), 0); }
  void state(StateOf<N>& out, std::int64_t) const override {
    out.append(hidden_, part_.header.architecture.accumulator_bits);
  }
  void recall(const MemoryOf<N>& memory, std::size_t& next) override { hidden_ = next_row(memory, next); }

 protected:
  // A map of rnn and gru, which has no shift and bits of its own.
  Map<N> plain(const std::string& name, std::int64_t cols) const {
    return Map<N>(part_, name, s_.inner, cols, /*sums_only=*/true);
  }
  void become(Numbers<N> hidden) {
    hidden_ = std::move(hidden);
    y_.clear();
    for (const auto& h : hidden_) y_.push_back(sat(h, y_bits_));
  }

  Shape s_;
  Part<N> part_;
  std::int64_t y_bits_;
  Numbers<N> hidden_, y_;
};

template <class N>
class Rnn final : public RowRecurrence<N> {
  using RowRecurrence<N>::s_, RowRecurrence<N>::part_, RowRecurrence<N>::hidden_;

 public:
  Rnn(const Shape& shape, const Part<N>& part)
      : RowRecurrence<N>(shape, part),
        x_(this->plain("x", part.width())),
        h_(this->plain("h", s_.inner)),
        shift_(part.shift("cell")) {
    if (!s_.relu_cell) cell_ = part.function("cell", "tanh");
  }
  void see(const Numbers<N>& u) override {
    part_.work(x_.weight.size() + h_.weight.size());
    Numbers<N> next;
    for (std::int64_t i = 0; i < s_.inner; ++i) {
      const Sum<N> sum = rsh(add(x_.sum(i, u), h_.wide_sum(i, hidden_)), shift_);
      next.push_back(part_.settle(cell_ ? (*cell_)(sum) : positive_part(sum)));
    }
    this->become(std::move(next));
  }

 private:
  Map<N> x_, h_;
  std::int64_t shift_;
  std::optional<typename N::Function> cell_;
};

template <class N>
class Gru final : public RowRecurrence<N> {
  using RowRecurrence<N>::s_, RowRecurrence<N>::part_, RowRecurrence<N>::hidden_;

 public:
  Gru(const Shape& shape, const Part<N>& part)
      : RowRecurrence<N>(shape, part),
        xz_(this->plain("xz", part.width())),
        xr_(this->plain("xr", part.width())),
        xn_(this->plain("xn", part.width())),
        hz_(this->plain("hz", s_.inner)),
        hr_(this->plain("hr", s_.inner)),
        hn_(this->plain("hn", s_.inner)),
        gate_(part.function("gate", "sigmoid")),
        cell_(part.function("cell", "tanh")),
        gate_shift_(part.shift("gate")),
        cell_shift_(part.shift("cell")),
        fraction_(part.fraction("gate.fraction", 30)) {}
  void see(const Numbers<N>& u) override {
    part_.work(3 * (xz_.weight.size() + hz_.weight.size()));
    Numbers<N> next;
    for (std::int64_t i = 0; i < s_.inner; ++i) {
      const Number<N> z = gate_(rsh(add(xz_.sum(i, u), hz_.wide_sum(i, hidden_)), gate_shift_));
      const Number<N> r = gate_(rsh(add(xr_.sum(i, u), hr_.wide_sum(i, hidden_)), gate_shift_));
      const Sum<N> reset_part = rsh(mul(r, hn_.wide_sum(i, hidden_)), fraction_);
      const Number<N> n = cell_(rsh(add(xn_.sum(i, u), reset_part), cell_shift_));
      const Sum<N> kept_part = product(z, hidden_[at(i)]);
      next.push_back(part_.settle(rsh(add(kept_part, product(N::power(fraction_) - z, n)), fraction_)));
    }
    this->become(std::move(next));
  }

 private:
  Map<N> xz_, xr_, xn_, hz_, hr_, hn_;
  typename N::Function gate_, cell_;
  std::int64_t gate_shift_, cell_shift_, fraction_;
};

template <class N>
class Mamba final : public RowRecurrence<N> {
  using RowRecurrence<N>::s_, RowRecurrence<N>::part_, RowRecurrence<N>::hidden_;

 public:
  Mamba(const Shape& shape, const Part<N>& part)
      : RowRecurrence<N>(shape, part),
        channels_(part, shape.conv),
        stage_(shape, part, s_.inner, s_.inner),
        delta_(part.function("delta", "softplus")),
        decay_(part.function("decay", "exp")),
        a_(part.numbers("a.weight", {s_.inner, s_.state})),
        skip_(part.numbers("skip.weight", {s_.inner})) {
    const std::int64_t from = s_.form.select_conv ? s_.inner : part.width();
    channels_.add("x", s_.inner);
    if (stage_.gated()) channels_.add("z", s_.inner, /*convolved=*/false);
    channels_.activate("act", s_.form.act, 0, 1);
    channels_.finish(s_.form.conv_bias);
    b_ = Map<N>(part, "b", s_.state, from);
    c_ = Map<N>(part, "c", s_.state, from);
    if (s_.form.rank > 0) low_.emplace(part, "delta_low", s_.form.rank, from);
    step_ = Map<N>(part, "delta", s_.inner, low_ ? s_.form.rank : from);
    if (s_.form.norms != "none") {
      b_norm_ = read_length(part, "b_norm", "select");
      c_norm_ = read_length(part, "c_norm", "select");
      delta_norm_ = read_length(part, "delta_norm", "select");
      offset_ = part.numbers("delta.offset", {s_.inner});
    }
    index_shift_ = part.scalar("decay.index_shift", 0, -40, 100);
    decay_shift_ = part.shift("decay");
    update_shift_ = part.shift("update");
    read_shift_ = part.shift("read");
    skip_shift_ = part.shift("skip");
  }
  void reset() override {
    channels_.reset();
    hidden_.assign(at(s_.inner * s_.state), 0);
  }
  void see(const Numbers<N>& u) override {
    part_.work(5 * hidden_.size());
    const Numbers<N> now = channels_.next(u);
    const Number<N>* x = now.data();
    const Numbers<N> from = s_.form.select_conv ? Numbers<N>(x, x + s_.inner) : u;
    Numbers<N> b = b_(from, part_.budget), c = c_(from, part_.budget),
               low = low_ ? (*low_)(from, part_.budget) : from;
    const auto by_rms = [](Numbers<N>& row, const Length<N>& norm) {
      row = norm(row, static_cast<std::int64_t>(row.size()));
    };
    if (s_.form.norms == "before") by_rms(low, delta_norm_);
    Numbers<N> delta = step_(low, part_.budget);
    if (s_.form.norms == "after") by_rms(delta, delta_norm_);
    if (!offset_.empty()) {
      by_rms(b, b_norm_);
      by_rms(c, c_norm_);
    }
    Sums<N> read;
    for (std::int64_t i = 0; i < s_.inner; ++i) {
      const Number<N> step = delta_(add(delta[at(i)], offset_.empty() ? 0 : offset_[at(i)]));
      Sum<N> total = 0;
      for (std::int64_t n = 0; n < s_.state; ++n) {
        Number<N>& h = hidden_[at(i * s_.state + n)];
        const Number<N> decay = decay_(rsh(product(step, a_[at(i * s_.state + n)]), index_shift_));
        h = part_.settle(add(rsh(product(decay, h), decay_shift_),
                             rsh(mul(product(step, b[at(n)]), x[i]), update_shift_)));
        total = add(total, product(c[at(n)], h));
      }
      read.push_back(add(rsh(total, read_shift_), rsh(product(skip_[at(i)], x[i]), skip_shift_)));
    }
    this->y_ = stage_(read, stage_.gated() ? x + channels_.offset(1) : nullptr);
  }
  void state(StateOf<N>& out, std::int64_t positions) const override {
    RowRecurrence<N>::state(out, positions);
    channels_.state(out);
  }
  void recall(const MemoryOf<N>& memory, std::size_t& next) override {
    const Numbers<N>& numbers = next_row(memory, next);
    std::copy_n(numbers.begin(), hidden_.size(), hidden_.begin());
    channels_.recall(numbers.data() + hidden_.size());
  }

 private:
  Channels<N> channels_;
  OutputStage<N> stage_;
  typename N::Function delta_, decay_;
  Map<N> b_, c_, step_;
  std::optional<Map<N>> low_;
  Length<N> b_norm_, c_norm_, delta_norm_;  // where there are offsets
  Weights<N> a_, skip_, offset_;
  std::int64_t index_shift_ = 0, decay_shift_ = 0, update_shift_ = 0, read_shift_ = 0, skip_shift_ = 0;
};

template <class N>
class Convolution final : public RowRecurrence<N> {
  using RowRecurrence<N>::s_, RowRecurrence<N>::part_, RowRecurrence<N>::hidden_, RowRecurrence<N>::y_;

 public:
  Convolution(const Shape& shape, const Part<N>& part)
      : RowRecurrence<N>(shape, part),
        v_(part, "v", s_.inner, part.width()),
        taps_(part.numbers("taps.weight", {s_.inner, s_.conv})),
        shift_(part.shift("taps")) {}
  void reset() override { hidden_.assign(at((s_.conv - 1) * s_.inner), 0); }
  void see(const Numbers<N>& u) override {
    part_.work(taps_.size());
    Numbers<N> rows = v_(u, part_.budget);  // the newest row first
    rows.insert(rows.end(), hidden_.begin(), hidden_.end());
    y_.clear();
    for (std::int64_t c = 0; c < s_.inner; ++c) {
      Sum<N> total = 0;
      for (std::int64_t j = 0; j < s_.conv; ++j)
        total += product(taps_[at(c * s_.conv + j)], rows[at(j * s_.inner + c)]);
      y_.push_back(sat(rsh(total, shift_), this->y_bits_));
    }
    rows.resize(hidden_.size());
    hidden_ = std::move(rows);
  }
  void state(StateOf<N>& out, std::int64_t) const override { out.append(hidden_, v_.bits); }

 private:
  Map<N> v_;
  Weights<N> taps_;
  std::int64_t shift_;
};

template <class N>
class Identity final : public RowRecurrence<N> {
 public:
  Identity(const Shape& shape, const Part<N>& part)
      : RowRecurrence<N>(shape, part),
        causal_(part.header.architecture.causal),
        v_(part, "v", shape.heads * shape.dv, part.width()) {}
  void reset() override { seen_.clear(); }
  void see(const Numbers<N>& u) override {
    if (causal_) seen_.clear();
    seen_.push_back(v_(u, this->part_.budget));
    for (auto& value : seen_.back()) value = sat(value, this->y_bits_);
  }
  Numbers<N> answer(std::int64_t position) override { return causal_ ? seen_.back() : seen_[at(position)]; }
  void state(StateOf<N>&, std::int64_t) const override {}

 private:
  bool causal_;
  Map<N> v_;
  std::vector<Numbers<N>> seen_;
};

}  // namespace

template <class N>
std::unique_ptr<Mixer<N>> make_row_recurrence(const Shape& shape, const Part<N>& part) {
  if (shape.kind == "rnn") return std::make_unique<Rnn<N>>(shape, part);
  if (shape.kind == "gru") return std::make_unique<Gru<N>>(shape, part);
  if (shape.kind == "mamba") return std::make_unique<Mamba<N>>(shape, part);
  if (shape.kind == "conv") return std::make_unique<Convolution<N>>(shape, part);
  if (shape.kind == "identity") return std::make_unique<Identity<N>>(shape, part);
  return nullptr;
}

template std::unique_ptr<Mixer<Integers>> make_row_recurrence(const Shape&, const Part<Integers>&);
template std::unique_ptr<Mixer<Intervals>> make_row_recurrence(const Shape&, const Part<Intervals>&);

}  // namespace rung_check
