// The mixers whose memory does not grow with the prompt (docs/weights.md, "Mixers"): linear, mamba2, delta,
// gdelta, and log-linear buckets over them; mamba, rnn, gru; conv and identity.
#include <bit>

#include "check/mixer.h"

namespace rung_check {
namespace {

// A recurrence with a matrix per head. S is kept head by head, row by row; linear attention that is
// normalised has Z as one more row of its head.
class Cell {
 public:
  Cell(const Shape& shape, const Context& context, const Source& source)
      : s(shape),
        context_(context),
        source_(source),
        channels(source, shape.conv),
        y_bits(source.bits("y")) {}
  virtual ~Cell() = default;

  virtual std::int64_t columns() const { return s.dk; }
  virtual std::int64_t rows() const { return s.dv; }
  // One token. `write` false: what the token does to a state that it does not write to (v = 0).
  virtual void update(Row& state, const Row& now, bool write) const = 0;
  // Σ_c S[r][c] q[c] of one head, not rounded.
  virtual Int read(const Row& state, const Row& now, std::int64_t head, std::int64_t row) const = 0;
  virtual Row answer(const Row& state, const Row& now) const {
    Row y;
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::int64_t r = 0; r < s.dv; ++r)
        y.push_back(sat(rsh(read(state, now, h, r), read_shift), y_bits));
    return y;
  }
  // Entry by entry, where two buckets become one.
  virtual std::int64_t merged(Int sum) const { return context_.settle(sum); }
  virtual void state(State& out, const Row& numbers, std::int64_t) const {
    out.append(numbers, context_.architecture.accumulator_bits);
  }

  std::size_t size() const {
    const Int numbers = static_cast<Int>(s.heads) * rows() * columns();
    if (numbers > static_cast<Int>(kMostNumbers)) throw OutOfResources("a state of more than 2^28 numbers");
    return static_cast<std::size_t>(numbers);
  }
  std::int64_t* row_of(Row& state, std::int64_t head, std::int64_t row) const {
    return state.data() + (head * rows() + row) * columns();
  }
  const std::int64_t* row_of(const Row& state, std::int64_t head, std::int64_t row) const {
    return state.data() + (head * rows() + row) * columns();
  }
  std::int64_t shared(std::int64_t head) const { return head * s.kv / s.heads; }
  Int dot(const std::int64_t* a, const std::int64_t* b) const {
    source_.budget.work(static_cast<std::uint64_t>(columns()));
    Int total = 0;
    for (std::int64_t c = 0; c < columns(); ++c) total = add(total, static_cast<Int>(a[c]) * b[c]);
    return total;
  }

  Shape s;
  Context context_;
  Source source_;
  Channels channels;
  std::int64_t y_bits, read_shift = 0;
};

class LinearCell final : public Cell {
 public:
  LinearCell(const Shape& shape, const Context& context, const Source& source)
      : Cell(shape, context, source) {
    channels.add("q", s.heads * s.dk, context.width);
    channels.add("k", s.heads * s.dk, context.width);
    channels.add("v", s.heads * s.dv, context.width);
    channels.finish();
    if (s.feature == "elu1" || s.feature == "exp") table_.emplace(source, "feature");
    if (s.feature == "taylor2") {
      fraction_ = source.fraction("feature.fraction", 20);
      shift_ = source.shift("feature");
    }
    const bool own_width = table_ || s.feature == "taylor2";
    feature_bits_ = own_width ? source.bits("feature") : channels.bits(1);
    scale_ = source.scalar("value.scale", 1, 1, std::int64_t{1} << 32);
    read_shift = source.shift("read");
    update_shift_ = source.shift("update");
  }
  std::int64_t columns() const override { return s.features(); }
  std::int64_t rows() const override { return s.dv + (s.normalised ? 1 : 0); }
  void update(Row& state, const Row& now, bool write) const override {
    if (!write) return;
    source_.budget.work(size());
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const Row key = features(now.data() + channels.offset(1) + h * s.dk, false);
      for (std::int64_t r = 0; r < rows(); ++r) {
        std::int64_t* entries = row_of(state, h, r);
        const bool weights = r == s.dv;  // the row Z
        const std::int64_t value = weights ? 1 : now[at(channels.offset(2) + h * s.dv + r)];
        for (std::size_t c = 0; c < key.size(); ++c)
          entries[c] = accumulated(entries[c], static_cast<Int>(value) * key[c], weights ? 0 : update_shift_);
      }
    }
  }
  Int read(const Row& state, const Row& now, std::int64_t h, std::int64_t r) const override {
    return dot(row_of(state, h, r), features(now.data() + channels.offset(0) + h * s.dk, true).data());
  }
  Row answer(const Row& state, const Row& now) const override {
    if (!s.normalised) return Cell::answer(state, now);
    Row y;
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const Int weights = read(state, now, h, s.dv);
      for (std::int64_t r = 0; r < s.dv; ++r)
        y.push_back(sat(quot(read(state, now, h, r), weights, scale_), y_bits));
    }
    return y;
  }
  std::int64_t merged(Int sum) const override {
    return context_.accumulator == "exact" ? kept(sum) : context_.settle(sum);
  }
  void state(State& out, const Row& numbers, std::int64_t positions) const override {
    if (context_.accumulator != "exact") return Cell::state(out, numbers, positions);
    const std::int64_t grown = ceil_lg(static_cast<std::uint64_t>(positions));
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::int64_t r = 0; r < rows(); ++r) {
        const std::int64_t* entries = row_of(numbers, h, r);
        out.append(Row(entries, entries + columns()),
                   (r < s.dv ? channels.bits(2) : 0) + feature_bits_ + grown);
      }
  }

 private:
  std::int64_t accumulated(std::int64_t entry, Int change, std::int64_t shift) const {
    const std::int64_t a = context_.architecture.accumulator_bits;
    if (context_.accumulator == "exact") return kept(entry + change);
    if (context_.accumulator == "wrap") return wrap(entry + change, a);
    return sat(add(entry, rsh(change, shift)), a);
  }
  Row features(const std::int64_t* x, bool query) const {
    Row phi(x, x + s.dk);
    if (s.feature == "relu")
      for (auto& value : phi) value = std::max<std::int64_t>(0, value);
    if (table_)
      for (auto& value : phi) value = sat((*table_)(value), feature_bits_);
    if (s.feature != "taylor2") return phi;
    phi.clear();
    const auto push = [&](Int z) { phi.push_back(sat(rsh(z, shift_), feature_bits_)); };
    push(Int{1} << (2 * fraction_ + (query ? 1 : 0)));
    for (std::int64_t i = 0; i < s.dk; ++i)
      push(static_cast<Int>(x[i]) * (std::int64_t{1} << (fraction_ + (query ? 1 : 0))));
    for (std::int64_t i = 0; i < s.dk; ++i)
      for (std::int64_t j = 0; j < s.dk; ++j) push(static_cast<Int>(x[i]) * x[j]);
    return phi;
  }

  std::optional<Table> table_;
  std::int64_t fraction_ = 0, shift_ = 0, feature_bits_ = 0, scale_ = 1, update_shift_ = 0;
};

class Mamba2Cell final : public Cell {
 public:
  Mamba2Cell(const Shape& shape, const Context& context, const Source& source)
      : Cell(shape, context, source), decay_(source, "gate") {
    channels.add("x", s.heads * s.dv, context.width);
    channels.add("b", s.kv * s.dk, context.width);
    channels.add("c", s.kv * s.dk, context.width);
    channels.add("gate", s.heads, context.width, /*convolved=*/false);
    channels.finish();
    decay_shift_ = source.shift("decay");
    read_shift = source.shift("read");
  }
  void update(Row& state, const Row& now, bool write) const override {
    source_.budget.work(2 * size());
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const std::int64_t decay = decay_(now[at(channels.offset(3) + h)]);
      const std::int64_t* b = now.data() + channels.offset(1) + shared(h) * s.dk;
      for (std::int64_t r = 0; r < s.dv; ++r) {
        const std::int64_t x = write ? now[at(channels.offset(0) + h * s.dv + r)] : 0;
        std::int64_t* entries = row_of(state, h, r);
        for (std::int64_t n = 0; n < s.dk; ++n)
          entries[n] = context_.settle(
              add(rsh(static_cast<Int>(decay) * entries[n], decay_shift_), static_cast<Int>(x) * b[n]));
      }
    }
  }
  Int read(const Row& state, const Row& now, std::int64_t h, std::int64_t r) const override {
    return dot(row_of(state, h, r), now.data() + channels.offset(2) + shared(h) * s.dk);
  }

 private:
  Table decay_;
  std::int64_t decay_shift_ = 0;
};

class DeltaCell final : public Cell {
 public:
  DeltaCell(const Shape& shape, const Context& context, const Source& source, bool gated)
      : Cell(shape, context, source), beta_(source, "beta") {
    channels.add("q", s.kv * s.dk, context.width);
    channels.add("k", s.steps * s.kv * s.dk, context.width);
    channels.add("v", s.steps * s.heads * s.dv, context.width);
    channels.add("beta", s.steps * s.heads, context.width, /*convolved=*/false);
    if (gated) {
      channels.add("gate", s.heads, context.width, /*convolved=*/false);
      gate_.emplace(source, "gate");
      decay_shift_ = source.shift("decay");
    }
    channels.finish();
    predict_shift_ = source.shift("predict");
    write_shift_ = source.shift("write");
    read_shift = source.shift("read");
    unit_ = source.has("key.fraction");
    if (unit_) {
      fraction_ = source.fraction("key.fraction", 24);
      extra_ = source.scalar("key.extra", 8, 0, 24);
      key_bits_ = source.bits("key");
    }
  }
  void update(Row& state, const Row& now, bool write) const override {
    source_.budget.work((1 + 3 * static_cast<std::uint64_t>(s.steps)) * size());
    for (std::int64_t h = 0; h < s.heads; ++h) {
      if (gate_) {
        const std::int64_t decay = (*gate_)(now[at(channels.offset(4) + h)]);
        std::int64_t* entries = row_of(state, h, 0);
        for (std::int64_t i = 0; i < s.dv * s.dk; ++i)
          entries[i] = context_.settle(rsh(static_cast<Int>(decay) * entries[i], decay_shift_));
      }
      for (std::int64_t j = 0; j < s.steps; ++j) {
        const Row k = head_vector(now, 1, j * s.kv + shared(h));
        const std::int64_t beta = beta_(now[at(channels.offset(3) + j * s.heads + h)]);
        for (std::int64_t r = 0; r < s.dv; ++r) {
          std::int64_t* entries = row_of(state, h, r);
          const std::int64_t v = write ? now[at(channels.offset(2) + (j * s.heads + h) * s.dv + r)] : 0;
          const std::int64_t error = context_.settle(add(v, -rsh(dot(entries, k.data()), predict_shift_)));
          for (std::size_t c = 0; c < k.size(); ++c)
            entries[c] = context_.settle(
                add(entries[c], rsh(mul(static_cast<Int>(beta) * error, k[c]), write_shift_)));
        }
      }
    }
  }
  Int read(const Row& state, const Row& now, std::int64_t h, std::int64_t r) const override {
    return dot(row_of(state, h, r), head_vector(now, 0, shared(h)).data());
  }

 private:
  // Vector number i of q (0) or k (1), brought to length 2^fraction where the file asks for it.
  Row head_vector(const Row& now, std::size_t map, std::int64_t i) const {
    const auto begin = now.begin() + channels.offset(map) + i * s.dk;
    const Row x(begin, begin + s.dk);
    return unit_ ? normalised(x, Row(x.size(), 1), 1, fraction_, extra_, key_bits_) : x;
  }

  Table beta_;
  std::optional<Table> gate_;
  bool unit_ = false;
  std::int64_t decay_shift_ = 0, predict_shift_ = 0, write_shift_ = 0, fraction_ = 0, extra_ = 0,
               key_bits_ = 0;
};

// One state, updated token by token. An encoder keeps the channels of every token, because it is asked after
// the last.
class MatrixRecurrence final : public Mixer {
 public:
  MatrixRecurrence(std::unique_ptr<Cell> cell, bool causal) : cell_(std::move(cell)), causal_(causal) {}
  void reset() override {
    cell_->channels.reset();
    cell_->source_.budget.store(cell_->size());
    state_.assign(cell_->size(), 0);
    seen_.clear();
  }
  void see(const Row& u) override {
    if (causal_) seen_.clear();
    seen_.push_back(cell_->channels.next(u));
    if (!causal_) cell_->source_.budget.store(seen_.back().size());
    cell_->update(state_, seen_.back(), true);
  }
  Row answer(std::int64_t position) override {
    return cell_->answer(state_, causal_ ? seen_.back() : seen_[at(position)]);
  }
  void state(State& out, std::int64_t positions) const override {
    cell_->state(out, state_, positions);
    cell_->channels.state(out);
  }
  void recall(const Memory& memory, std::size_t& next) override {
    const Row& numbers = next_row(memory, next);
    state_.assign(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(cell_->size()));
    cell_->channels.recall(numbers.data() + cell_->size());
  }

 private:
  std::unique_ptr<Cell> cell_;
  bool causal_;
  Row state_;
  std::vector<Row> seen_;
};

class LogLinear final : public Mixer {
 public:
  LogLinear(std::unique_ptr<Cell> cell, const Context& context, const Source& source)
      : cell_(std::move(cell)),
        levels_(bit_length(static_cast<std::uint64_t>(context.architecture.context)) + 1),
        level_(source, "level", cell_->s.heads * levels_, context.width) {
    if (source.has("level.table")) table_.emplace(source, "level");
  }
  void reset() override {
    cell_->channels.reset();
    cell_->source_.budget.store(static_cast<std::uint64_t>(levels_) * cell_->size());
    states_.assign(at(levels_) + 1, Row());
    t_ = 0;
  }
  void see(const Row& u) override {
    now_ = cell_->channels.next(u);
    weights_ = level_(u, cell_->source_.budget);
    merge(states_, t_);
    for (auto& state : states_)
      if (!state.empty()) cell_->update(state, now_, false);
    states_[0].assign(cell_->size(), 0);
    cell_->update(states_[0], now_, true);
    ++t_;
  }
  Row answer(std::int64_t) override {
    Row y;
    for (std::int64_t h = 0; h < cell_->s.heads; ++h)
      for (std::int64_t r = 0; r < cell_->s.dv; ++r) {
        Int total = 0;
        for (std::size_t l = 0; l < states_.size(); ++l) {
          if (states_[l].empty()) continue;
          const std::int64_t raw = weights_[at(h * levels_) + l];
          const std::int64_t weight = table_ ? (*table_)(raw) : std::max<std::int64_t>(0, raw);
          total = add(total, mul(weight, cell_->read(states_[l], now_, h, r)));
        }
        y.push_back(sat(rsh(total, cell_->read_shift), cell_->y_bits));
      }
    return y;
  }
  // The buckets as the next token finds them: it begins by merging.
  void state(State& out, std::int64_t positions) const override {
    auto found = states_;
    merge(found, t_);
    for (const auto& state : found)
      if (!state.empty()) cell_->state(out, state, positions);
    cell_->channels.state(out);
  }

 private:
  // At position t > 0 the levels 0 … l become level l + 1, l the lowest set bit of t.
  void merge(std::vector<Row>& states, std::int64_t t) const {
    if (t == 0) return;
    const auto l = static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(t)));
    Row sum = states[0];
    for (std::size_t k = 1; k <= l; ++k)
      for (std::size_t i = 0; i < sum.size(); ++i)
        sum[i] = cell_->merged(static_cast<Int>(sum[i]) + states[k][i]);
    for (std::size_t k = 0; k <= l; ++k) states[k].clear();
    states.at(l + 1) = std::move(sum);
  }

  std::unique_ptr<Cell> cell_;
  std::int64_t levels_;
  Map level_;
  std::optional<Table> table_;
  std::vector<Row> states_;  // by level; empty: nothing there
  Row now_, weights_;
  std::int64_t t_ = 0;
};

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
        delta_(source, "delta"),
        decay_(source, "decay"),
        a_(source.numbers("a.weight", {s_.inner, s_.state})),
        skip_(source.numbers("skip.weight", {s_.inner})) {
    channels_.add("x", s_.inner, context.width);
    channels_.add("b", s_.state, context.width, /*convolved=*/false);
    channels_.add("c", s_.state, context.width, /*convolved=*/false);
    channels_.add("delta", s_.inner, context.width, /*convolved=*/false);
    channels_.finish();
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
    const std::int64_t *x = now.data(), *b = x + channels_.offset(1), *c = x + channels_.offset(2),
                       *delta = x + channels_.offset(3);
    y_.clear();
    for (std::int64_t i = 0; i < s_.inner; ++i) {
      const std::int64_t step = delta_(delta[i]);
      Int total = 0;
      for (std::int64_t n = 0; n < s_.state; ++n) {
        std::int64_t& h = hidden_[at(i * s_.state + n)];
        const std::int64_t decay =
            decay_(rsh(static_cast<Int>(step) * a_[at(i * s_.state + n)], index_shift_));
        h = context_.settle(add(rsh(static_cast<Int>(decay) * h, decay_shift_),
                                rsh(mul(static_cast<Int>(step) * b[n], x[i]), update_shift_)));
        total = add(total, static_cast<Int>(c[n]) * h);
      }
      y_.push_back(sat(add(rsh(total, read_shift_), rsh(static_cast<Int>(skip_[at(i)]) * x[i], skip_shift_)),
                       y_bits_));
    }
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
  Channels channels_;
  Table delta_, decay_;
  Row a_, skip_;
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

std::unique_ptr<Cell> make_cell(const std::string& kind, const Shape& shape, const Context& context,
                                const Source& source) {
  if (kind == "linear") return std::make_unique<LinearCell>(shape, context, source);
  if (kind == "mamba2") return std::make_unique<Mamba2Cell>(shape, context, source);
  if (kind != "delta" && kind != "gdelta") return nullptr;
  return std::make_unique<DeltaCell>(shape, context, source, kind == "gdelta");
}

}  // namespace

std::unique_ptr<Mixer> make_recurrence(const Shape& shape, const Context& context, const Source& source) {
  if (shape.kind == "loglinear")
    return std::make_unique<LogLinear>(make_cell(shape.base, shape, context, source), context, source);
  if (auto cell = make_cell(shape.kind, shape, context, source))
    return std::make_unique<MatrixRecurrence>(std::move(cell), context.architecture.causal);
  if (shape.kind == "rnn") return std::make_unique<Rnn>(shape, context, source);
  if (shape.kind == "gru") return std::make_unique<Gru>(shape, context, source);
  if (shape.kind == "mamba") return std::make_unique<Mamba>(shape, context, source);
  if (shape.kind == "conv") return std::make_unique<Convolution>(shape, context, source);
  if (shape.kind == "identity") return std::make_unique<Identity>(shape, context, source);
  return nullptr;
}

}  // namespace rung_check
