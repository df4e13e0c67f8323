// Mixers with a matrix per head, whose memory does not grow with the prompt (docs/weights.md, "Mixers"): linear, mamba2,
// delta, gdelta; and log-linear buckets over them.
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
        stage(shape, source, shape.base_rule() == "mamba2" ? shape.heads * shape.dv : shape.dv,
              shape.base_rule() == "mamba2" ? shape.heads * shape.dv / shape.form.norm_groups : shape.dv),
        y_bits(source.bits("y")) {}
  virtual ~Cell() = default;

  virtual std::int64_t columns() const { return s.dk; }
  virtual std::int64_t rows() const { return s.dv; }
  // One token. `write` false: what the token does to a state that it does not write to (v = 0).
  virtual void update(Row& state, const Row& now, bool write) const = 0;
  // Σ_c S[r][c] q[c] of one head, not rounded.
  virtual Int read(const Row& state, const Row& now, std::int64_t head, std::int64_t row) const = 0;
  virtual Row answer(const Row& state, const Row& now) const {
    std::vector<Int> sums;
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::int64_t r = 0; r < s.dv; ++r) sums.push_back(read(state, now, h, r));
    return given(sums, now);
  }
  // The layer's output from such sums of all heads.
  Row given(std::vector<Int> sums, const Row& now) const {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] = rsh(mul(read_scale, sums[i]), read_shift);
      if (s.form.skip == "none") continue;
      const std::size_t d = s.form.skip == "head" ? i / static_cast<std::size_t>(s.dv) : i;
      sums[i] = add(sums[i], rsh(static_cast<Int>(skip[d]) * now[i], skip_shift));  // x comes first
    }
    return stage(sums, stage.gated() ? now.data() + channels.offset(gate_map) : nullptr);
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
  OutputStage stage;
  Row skip;
  std::size_t gate_map = 0;  // among the channels
  std::int64_t y_bits, read_shift = 0, read_scale = 1, skip_shift = 0;

 protected:
  // The last of the maps.
  void add_gate(std::size_t maps) {
    gate_map = maps;
    if (stage.gated()) channels.add("z", s.heads * s.dv, context_.width, /*convolved=*/false);
  }
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
      : Cell(shape, context, source) {
    channels.add("x", s.heads * s.dv, context.width);
    channels.add("b", s.kv * s.dk, context.width);
    channels.add("c", s.kv * s.dk, context.width);
    channels.add(s.form.step ? "dt" : "gate", s.heads, context.width, /*convolved=*/false);
    add_gate(4);
    if (s.form.act != "none") channels.activate("act", 0, 3);
    channels.finish(s.form.conv_bias);
    if (s.form.step) {
      step_.emplace(source, "dt", s.heads);
      update_shift_ = source.shift("update");
    } else {
      decay_.emplace(source, "gate");
    }
    if (s.form.skip != "none") {
      skip = source.numbers("skip.weight", {s.form.skip == "head" ? s.heads : s.heads * s.dv});
      skip_shift = source.shift("skip");
    }
    decay_shift_ = source.shift("decay");
    read_shift = source.shift("read");
  }
  void update(Row& state, const Row& now, bool write) const override {
    source_.budget.work(2 * size());
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const std::int64_t gate = now[at(channels.offset(3) + h)];
      const std::int64_t step = step_ ? step_->step(gate) : 1;
      const std::int64_t decay = step_ ? step_->decay(step, h) : (*decay_)(gate);
      const std::int64_t* b = now.data() + channels.offset(1) + shared(h) * s.dk;
      for (std::int64_t r = 0; r < s.dv; ++r) {
        const std::int64_t x = write ? now[at(channels.offset(0) + h * s.dv + r)] : 0;
        std::int64_t* entries = row_of(state, h, r);
        for (std::int64_t n = 0; n < s.dk; ++n)
          entries[n] = context_.settle(add(rsh(static_cast<Int>(decay) * entries[n], decay_shift_),
                                           rsh(mul(static_cast<Int>(x) * b[n], step), update_shift_)));
      }
    }
  }
  Int read(const Row& state, const Row& now, std::int64_t h, std::int64_t r) const override {
    return dot(row_of(state, h, r), now.data() + channels.offset(2) + shared(h) * s.dk);
  }

 private:
  std::optional<Table> decay_;
  std::optional<StepDecay> step_;
  std::int64_t decay_shift_ = 0, update_shift_ = 0;
};

class DeltaCell final : public Cell {
 public:
  DeltaCell(const Shape& shape, const Context& context, const Source& source, bool gated)
      : Cell(shape, context, source) {
    channels.add("q", s.kv * s.dk, context.width);
    channels.add("k", s.steps * s.kv * s.dk, context.width);
    channels.add("v", s.steps * s.heads * s.dv, context.width);
    std::size_t maps = 3;
    if (s.form.beta) {
      channels.add("beta", s.steps * s.heads, context.width, /*convolved=*/false);
      beta_.emplace(source, "beta");
      ++maps;
    }
    if (gated) {
      channels.add("gate", s.heads, context.width, /*convolved=*/false);
      decay_map_ = maps++;
      if (s.form.step)
        step_.emplace(source, "gate", s.heads);
      else
        gate_.emplace(source, "gate");
      decay_shift_ = source.shift("decay");
    }
    add_gate(maps);
    if (s.form.qk_act != "none") channels.activate("qk_act", 0, 2);
    if (s.form.act != "none") channels.activate("act", 2, 3);
    channels.finish(s.form.conv_bias);
    if (s.form.scale) read_scale = source.scalar("read.scale", 1, 1, std::int64_t{1} << 32);
    predict_shift_ = source.shift("predict");
    write_shift_ = source.shift("write");
    read_shift = source.shift("read");
    const bool sum = s.form.qk_norm == "sum";
    unit_ = s.form.plain() ? source.has("key.fraction") : s.form.qk_norm != "none";
    if (unit_) {
      fraction_ = source.fraction("key.fraction", 24);
      if (!sum) extra_ = source.scalar("key.extra", 8, 0, 24);
      if (s.form.qk_norm == "l2") epsilon_ = source.scalar("key.epsilon", 0, 0, std::int64_t{1} << 46);
      key_bits_ = source.bits("key");
    }
  }
  void update(Row& state, const Row& now, bool write) const override {
    source_.budget.work((1 + 3 * static_cast<std::uint64_t>(s.steps)) * size());
    for (std::int64_t h = 0; h < s.heads; ++h) {
      if (decay_map_ > 0) {
        const std::int64_t gate = now[at(channels.offset(decay_map_) + h)];
        const std::int64_t decay = step_ ? step_->decay(step_->step(gate), h) : (*gate_)(gate);
        std::int64_t* entries = row_of(state, h, 0);
        for (std::int64_t i = 0; i < s.dv * s.dk; ++i)
          entries[i] = context_.settle(rsh(static_cast<Int>(decay) * entries[i], decay_shift_));
      }
      for (std::int64_t j = 0; j < s.steps; ++j) {
        const Row k = head_vector(now, 1, j * s.kv + shared(h));
        const std::int64_t beta = beta_ ? (*beta_)(now[at(channels.offset(3) + j * s.heads + h)]) : s.range;
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
    if (!unit_) return x;
    if (s.form.qk_norm != "sum")
      return normalised(x, Row(x.size(), 1), 1, fraction_, extra_, key_bits_, epsilon_);
    Int total = 0;
    for (const auto number : x) total += number;
    Row y;
    for (const auto number : x)
      y.push_back(sat(quot(number, total, std::int64_t{1} << fraction_), key_bits_));
    return y;
  }

  std::optional<Table> beta_, gate_;
  std::optional<StepDecay> step_;
  bool unit_ = false;
  std::size_t decay_map_ = 0;  // the channel of the decay; 0: none
  std::int64_t decay_shift_ = 0, predict_shift_ = 0, write_shift_ = 0, fraction_ = 0, extra_ = 0,
               key_bits_ = 0, epsilon_ = 0;
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
    if (!cell_->s.form.plain() || source.has("level.table")) table_.emplace(source, "level");
  }
  void reset() override {
    cell_->channels.reset();
    cell_->source_.budget.store(static_cast<std::uint64_t>(levels_) * cell_->size());
    states_.assign(at(levels_) + 1, Row());
    counts_.assign(states_.size(), 0);
    t_ = 0;
  }
  void see(const Row& u) override {
    now_ = cell_->channels.next(u);
    weights_ = level_(u, cell_->source_.budget);
    rearrange(states_, counts_);
    for (auto& state : states_)
      if (!state.empty()) cell_->update(state, now_, false);
    states_[0].assign(cell_->size(), 0);
    counts_[0] = 1;
    cell_->update(states_[0], now_, true);
    ++t_;
  }
  Row answer(std::int64_t) override {
    std::vector<Int> sums;
    for (std::int64_t h = 0; h < cell_->s.heads; ++h)
      for (std::int64_t r = 0; r < cell_->s.dv; ++r) {
        Int total = 0;
        for (std::size_t l = 0; l < states_.size(); ++l) {
          if (states_[l].empty()) continue;
          const std::int64_t raw = weights_[at(h * levels_) + l];
          const std::int64_t weight = table_ ? (*table_)(raw) : std::max<std::int64_t>(0, raw);
          total = add(total, mul(weight, cell_->read(states_[l], now_, h, r)));
        }
        sums.push_back(total);
      }
    return cell_->given(std::move(sums), now_);
  }
  // The buckets as the next token finds them: it begins by merging.
  void state(State& out, std::int64_t positions) const override {
    auto found = states_;
    auto counts = counts_;
    rearrange(found, counts);
    for (const auto& state : found)
      if (!state.empty()) cell_->state(out, state, positions);
    cell_->channels.state(out);
  }

 private:
  // What token t begins with. `counts`: the tokens of each level, which the strong partition looks at.
  void rearrange(std::vector<Row>& states, Row& counts) const {
    if (!cell_->s.form.strong) return merge(states, t_);
    Row carried;
    std::int64_t count = 0;
    for (std::size_t level = 0; level < states.size() && t_ > 0; ++level) {
      const std::int64_t room = level == 0 ? 1 : std::int64_t{1} << (level - 1);
      if (level == 0 || counts[level] + count > room) {
        std::swap(states[level], carried);
        std::swap(counts[level], count);
        continue;
      }
      if (states[level].empty()) states[level].assign(carried.size(), 0);
      for (std::size_t i = 0; i < carried.size(); ++i)
        states[level][i] = cell_->merged(static_cast<Int>(states[level][i]) + carried[i]);
      counts[level] += count;
      carried.clear();
      count = 0;
    }
    if (count > 0) throw Malformed("a loglinear layer has more tokens than its levels have room for");
  }
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
  Row now_, weights_, counts_;
  std::int64_t t_ = 0;
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
  return make_row_recurrence(shape, context, source);
}

}  // namespace rung_check
