// Mixers whose memory is a row of numbers (docs/weights.md, "Mixers"): mamba, rnn, gru; conv and identity.
#include "check/mixer.h"

namespace rung_check {
namespace {

// A row of numbers that is updated: mamba's channels, the hidden rows of rnn and gru, the taps of conv,
// nothing (identity).
class RowRecurrence : public Mixer {
 public:
  RowRecurrence(const Shape& shape, const Context& context, const Source& source)
      : s_(shape), context_(context), source_(source), y_bits_(source.bits("y")) {}
  Row answer(std::int64_t) override { return y_; }
  void reset() override { hidden_.assign(at(s_.inner), 0); }
  void state(State& out, std::int64_t) const override {
    out.append(hidden_, context_.architecture.accumulator_bits);
  }
  void recall(const Memory& memory, std::size_t& next) override { hidden_ = next_row(memory, next); }

 protected:
  // A map of rnn and gru, which has no shift and bits of its own.
  Map plain(const std::string& name, std::int64_t cols) const {
    return Map(source_, name, s_.inner, cols, /*sums_only=*/true);
  }
  void give_hidden() {
    y_.clear();
    for (const auto h : hidden_) y_.push_back(sat(h, y_bits_));
  }

  Shape s_;
  Context context_;
  Source source_;
  std::int64_t y_bits_;
  Row hidden_, y_;
};

class Rnn final : public RowRecurrence {
 public:
  Rnn(const Shape& shape, const Context& context, const Source& source)
      : RowRecurrence(shape, context, source),
        x_(plain("x", context.width)),
        h_(plain("h", s_.inner)),
        shift_(source.shift("cell")) {
    if (!s_.relu_cell) cell_.emplace(source, "cell");
  }
  void see(const Row& u) override {
    source_.budget.work(x_.weight.size() + h_.weight.size());
    Row next;
    for (std::int64_t i = 0; i < s_.inner; ++i) {
      const Int sum = rsh(add(x_.sum(i, u), wide_sum(h_, i, hidden_)), shift_);
      next.push_back(context_.settle(cell_ ? (*cell_)(sum) : std::max<Int>(0, sum)));
    }
    hidden_ = std::move(next);
    give_hidden();
  }
  // W h + b with a hidden row of up to 62 bits.
  static Int wide_sum(const Map& map, std::int64_t row, const Row& hidden) {
    Int total = map.bias[at(row)];
    for (std::size_t c = 0; c < hidden.size(); ++c)
      total = add(total, static_cast<Int>(map.weight[at(row * map.cols) + c]) * hidden[c]);
    return total;
  }

 private:
  Map x_, h_;
  std::int64_t shift_;
  std::optional<Table> cell_;
};

class Gru final : public RowRecurrence {
 public:
  Gru(const Shape& shape, const Context& context, const Source& source)
      : RowRecurrence(shape, context, source),
        xz_(plain("xz", context.width)),
        xr_(plain("xr", context.width)),
        xn_(plain("xn", context.width)),
        hz_(plain("hz", s_.inner)),
        hr_(plain("hr", s_.inner)),
        hn_(plain("hn", s_.inner)),
        gate_(source, "gate"),
        cell_(source, "cell"),
        gate_shift_(source.shift("gate")),
        cell_shift_(source.shift("cell")),
        fraction_(source.fraction("gate.fraction", 30)) {}
  void see(const Row& u) override {
    source_.budget.work(3 * (xz_.weight.size() + hz_.weight.size()));
    Row next;
    for (std::int64_t i = 0; i < s_.inner; ++i) {
      const std::int64_t z = gate_(rsh(add(xz_.sum(i, u), Rnn::wide_sum(hz_, i, hidden_)), gate_shift_));
      const std::int64_t r = gate_(rsh(add(xr_.sum(i, u), Rnn::wide_sum(hr_, i, hidden_)), gate_shift_));
      const Int reset_part = rsh(mul(r, Rnn::wide_sum(hn_, i, hidden_)), fraction_);
      const std::int64_t n = cell_(rsh(add(xn_.sum(i, u), reset_part), cell_shift_));
      const Int kept_part = static_cast<Int>(z) * hidden_[at(i)];
      next.push_back(context_.settle(
          rsh(add(kept_part, static_cast<Int>((std::int64_t{1} << fraction_) - z) * n), fraction_)));
    }
    hidden_ = std::move(next);
    give_hidden();
  }

 private:
  Map xz_, xr_, xn_, hz_, hr_, hn_;
  Table gate_, cell_;
  std::int64_t gate_shift_, cell_shift_, fraction_;
};

class Mamba final : public RowRecurrence {
 public:
  Mamba(const Shape& shape, const Context& context, const Source& source)
      : RowRecurrence(shape, context, source),
        channels_(source, shape.conv),
        stage_(shape, source, s_.inner, s_.inner),
        delta_(source, "delta"),
        decay_(source, "decay"),
        a_(source.numbers("a.weight", {s_.inner, s_.state})),
        skip_(source.numbers("skip.weight", {s_.inner})) {
    const std::int64_t from = s_.form.select_conv ? s_.inner : context.width;
    channels_.add("x", s_.inner, context.width);
    if (stage_.gated()) channels_.add("z", s_.inner, context.width, /*convolved=*/false);
    if (s_.form.act != "none") channels_.activate("act", 0, 1);
    channels_.finish(s_.form.conv_bias);
    b_ = Map(source, "b", s_.state, from);
    c_ = Map(source, "c", s_.state, from);
    if (s_.form.rank > 0) low_.emplace(source, "delta_low", s_.form.rank, from);
    delta_map_ = Map(source, "delta", s_.inner, low_ ? s_.form.rank : from);
    if (s_.form.norms != "none") {
      b_norm_.emplace(source, "b_norm");
      c_norm_.emplace(source, "c_norm");
      delta_norm_.emplace(source, "delta_norm");
      offset_ = source.numbers("delta.offset", {s_.inner});
    }
    index_shift_ = source.scalar("decay.index_shift", 0, -40, 100);
    decay_shift_ = source.shift("decay");
    update_shift_ = source.shift("update");
    read_shift_ = source.shift("read");
    skip_shift_ = source.shift("skip");
  }
  void reset() override {
    channels_.reset();
    hidden_.assign(at(s_.inner * s_.state), 0);
  }
  void see(const Row& u) override {
    source_.budget.work(5 * hidden_.size());
    const Row now = channels_.next(u);
    const std::int64_t* x = now.data();
    const Row from = s_.form.select_conv ? Row(x, x + s_.inner) : u;
    Row b = b_(from, source_.budget), c = c_(from, source_.budget),
        low = low_ ? (*low_)(from, source_.budget) : from;
    if (s_.form.norms == "before") low = (*delta_norm_)(low);
    Row delta = delta_map_(low, source_.budget);
    if (s_.form.norms == "after") delta = (*delta_norm_)(delta);
    if (b_norm_) {
      b = (*b_norm_)(b);
      c = (*c_norm_)(c);
    }
    std::vector<Int> read;
    for (std::int64_t i = 0; i < s_.inner; ++i) {
      const std::int64_t step = delta_(static_cast<Int>(delta[at(i)]) + (b_norm_ ? offset_[at(i)] : 0));
      Int total = 0;
      for (std::int64_t n = 0; n < s_.state; ++n) {
        std::int64_t& h = hidden_[at(i * s_.state + n)];
        const std::int64_t decay =
            decay_(rsh(static_cast<Int>(step) * a_[at(i * s_.state + n)], index_shift_));
        h = context_.settle(add(rsh(static_cast<Int>(decay) * h, decay_shift_),
                                rsh(mul(static_cast<Int>(step) * b[at(n)], x[i]), update_shift_)));
        total = add(total, static_cast<Int>(c[at(n)]) * h);
      }
      read.push_back(add(rsh(total, read_shift_), rsh(static_cast<Int>(skip_[at(i)]) * x[i], skip_shift_)));
    }
    y_ = stage_(read, stage_.gated() ? x + channels_.offset(1) : nullptr);
  }
  void state(State& out, std::int64_t positions) const override {
    RowRecurrence::state(out, positions);
    channels_.state(out);
  }
  void recall(const Memory& memory, std::size_t& next) override {
    const Row& numbers = next_row(memory, next);
    std::copy_n(numbers.begin(), hidden_.size(), hidden_.begin());
    channels_.recall(numbers.data() + hidden_.size());
  }

 private:
  // A row divided by its root mean square.
  struct Rms {
    Rms(const Source& source, const std::string& name)
        : fraction(source.fraction(name + ".fraction", 24)),
          extra(source.fraction(name + ".extra", 24)),
          bits(source.bits(name)),
          epsilon(source.scalar(name + ".epsilon", 0, 0, std::int64_t{1} << 46)) {}
    Row operator()(const Row& x) const {
      return normalised(x, Row(x.size(), 1), static_cast<std::int64_t>(x.size()), fraction, extra, bits,
                        epsilon);
    }
    std::int64_t fraction, extra, bits, epsilon;
  };

  Channels channels_;
  OutputStage stage_;
  Table delta_, decay_;
  Map b_, c_, delta_map_;
  std::optional<Map> low_;
  std::optional<Rms> b_norm_, c_norm_, delta_norm_;
  Row a_, skip_, offset_;
  std::int64_t index_shift_ = 0, decay_shift_ = 0, update_shift_ = 0, read_shift_ = 0, skip_shift_ = 0;
};

class Convolution final : public RowRecurrence {
 public:
  Convolution(const Shape& shape, const Context& context, const Source& source)
      : RowRecurrence(shape, context, source),
        v_(source, "v", s_.inner, context.width),
        taps_(source.numbers("taps.weight", {s_.inner, s_.conv})),
        shift_(source.shift("taps")) {}
  void reset() override { hidden_.assign(at((s_.conv - 1) * s_.inner), 0); }
  void see(const Row& u) override {
    source_.budget.work(taps_.size());
    Row rows = v_(u, source_.budget);  // the newest row first
    rows.insert(rows.end(), hidden_.begin(), hidden_.end());
    y_.clear();
    for (std::int64_t c = 0; c < s_.inner; ++c) {
      Int total = 0;
      for (std::int64_t j = 0; j < s_.conv; ++j)
        total += static_cast<Int>(taps_[at(c * s_.conv + j)]) * rows[at(j * s_.inner + c)];
      y_.push_back(sat(rsh(total, shift_), y_bits_));
    }
    rows.resize(hidden_.size());
    hidden_ = std::move(rows);
  }
  void state(State& out, std::int64_t) const override { out.append(hidden_, v_.bits); }

 private:
  Map v_;
  Row taps_;
  std::int64_t shift_;
};

class Identity final : public RowRecurrence {
 public:
  Identity(const Shape& shape, const Context& context, const Source& source)
      : RowRecurrence(shape, context, source), v_(source, "v", s_.heads * s_.dv, context.width) {}
  void reset() override { seen_.clear(); }
  void see(const Row& u) override {
    if (context_.architecture.causal) seen_.clear();
    seen_.push_back(v_(u, source_.budget));
    for (auto& value : seen_.back()) value = sat(value, y_bits_);
  }
  Row answer(std::int64_t position) override {
    return context_.architecture.causal ? seen_.back() : seen_[at(position)];
  }
  void state(State&, std::int64_t) const override {}

 private:
  Map v_;
  std::vector<Row> seen_;
};

}  // namespace

std::unique_ptr<Mixer> make_row_recurrence(const Shape& shape, const Context& context, const Source& source) {
  if (shape.kind == "rnn") return std::make_unique<Rnn>(shape, context, source);
  if (shape.kind == "gru") return std::make_unique<Gru>(shape, context, source);
  if (shape.kind == "mamba") return std::make_unique<Mamba>(shape, context, source);
  if (shape.kind == "conv") return std::make_unique<Convolution>(shape, context, source);
  if (shape.kind == "identity") return std::make_unique<Identity>(shape, context, source);
  return nullptr;
}

}  // namespace rung_check
