// Mixers with a matrix per head, whose memory does not grow with the prompt (docs/weights.md, "Mixers"): linear, mamba2,
// delta, gdelta; and log-linear buckets over them.
#include <bit>

#include "check/mixer.h"

namespace rung_check {
namespace {

constexpr double kLengthEpsilon = 1e-6;  // of keys of a real file that are divided by their length

// A recurrence with a matrix per head. S is kept head by head, row by row; linear attention that is
// normalised has Z as one more row of its head.
template <class N>
class Cell {
 public:
  Cell(const Shape& shape, const Part<N>& part)
      : s(shape),
        part_(part),
        channels(part, shape.conv),
        stage(shape, part, shape.base_rule() == "mamba2" ? shape.heads * shape.dv : shape.dv,
              shape.base_rule() == "mamba2" ? shape.heads * shape.dv / shape.form.norm_groups : shape.dv),
        y_bits(part.bits("y")) {}
  virtual ~Cell() = default;

  virtual std::int64_t columns() const { return s.dk; }
  virtual std::int64_t rows() const { return s.dv; }
  // One token. `write` false: what the token does to a state that it does not write to (v = 0).
  virtual void update(Numbers<N>& state, const Numbers<N>& now, bool write) const = 0;
  // What a head asks its matrix.
  virtual Numbers<N> query(const Numbers<N>& now, std::int64_t head) const = 0;
  virtual Numbers<N> answer(const Numbers<N>& state, const Numbers<N>& now) const {
    Sums<N> sums;
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const Numbers<N> q = query(now, h);
      for (std::int64_t r = 0; r < s.dv; ++r) sums.push_back(dot(row_of(state, h, r), q));
    }
    return given(sums, now);
  }
  // The layer's output from such sums of all heads.
  Numbers<N> given(Sums<N> sums, const Numbers<N>& now) const {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] = rsh(mul(read_scale, sums[i]), read_shift);
      if (s.form.skip == "none") continue;
      const std::size_t d = s.form.skip == "head" ? i / at(s.dv) : i;
      sums[i] = add(sums[i], rsh(product(skip[d], now[i]), skip_shift));  // x comes first
    }
    return stage(sums, stage.gated() ? now.data() + channels.offset(gate_map) : nullptr);
  }
  // Entry by entry, where two buckets become one.
  virtual Number<N> merged(const Sum<N>& sum) const { return part_.settle(sum); }
  virtual void state(StateOf<N>& out, const Numbers<N>& numbers, std::int64_t) const {
    out.append(numbers, part_.header.architecture.accumulator_bits);
  }

  std::size_t size() const {
    const Int numbers = mul(s.heads, product(rows(), columns()));
    if (numbers > static_cast<Int>(kMostNumbers)) throw OutOfResources("a state of more than 2^28 numbers");
    return static_cast<std::size_t>(numbers);
  }
  // Entry (row, 0) of a head.
  template <class State>
  auto* row_of(State& state, std::int64_t head, std::int64_t row) const {
    return state.data() + (head * rows() + row) * columns();
  }
  std::int64_t shared(std::int64_t head) const { return head * s.kv / s.heads; }
  Sum<N> dot(const Number<N>* a, const Numbers<N>& b) const {
    part_.work(b.size());
    Sum<N> total = 0;
    for (std::size_t c = 0; c < b.size(); ++c) total = add(total, product(a[c], b[c]));
    return total;
  }

  Shape s;
  Part<N> part_;
  Channels<N> channels;
  OutputStage<N> stage;
  Weights<N> skip;
  std::size_t gate_map = 0;  // among the channels
  Number<N> read_scale = 1;
  std::int64_t y_bits, read_shift = 0, skip_shift = 0;

 protected:
  // The last of the maps.
  void add_gate(std::size_t maps) {
    gate_map = maps;
    if (stage.gated()) channels.add("z", s.heads * s.dv, /*convolved=*/false);
  }
};

template <class N>
class LinearCell final : public Cell<N> {
  using Cell<N>::s, Cell<N>::part_, Cell<N>::channels, Cell<N>::row_of;

 public:
  LinearCell(const Shape& shape, const Part<N>& part) : Cell<N>(shape, part) {
    channels.add("q", s.heads * s.dk);
    channels.add("k", s.heads * s.dk);
    channels.add("v", s.heads * s.dv);
    channels.finish();
    if (s.feature == "elu1" || s.feature == "exp") function_ = part.function("feature", s.feature);
    if (s.feature == "taylor2") {
      fraction_ = part.fraction("feature.fraction", 20);
      shift_ = part.shift("feature");
    }
    const bool own_width = function_ || s.feature == "taylor2";
    feature_bits_ = own_width ? part.bits("feature") : channels.bits(1);
    scale_ = part.scalar("value.scale", 1, 1, std::int64_t{1} << 32);
    this->read_shift = part.shift("read");
    update_shift_ = part.shift("update");
  }
  std::int64_t columns() const override { return s.features(); }
  std::int64_t rows() const override { return s.dv + (s.normalised ? 1 : 0); }
  void update(Numbers<N>& state, const Numbers<N>& now, bool write) const override {
    if (!write) return;
    part_.work(this->size());
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const Numbers<N> key = features(now.data() + channels.offset(1) + h * s.dk, false);
      for (std::int64_t r = 0; r < rows(); ++r) {
        Number<N>* entries = row_of(state, h, r);
        const bool weights = r == s.dv;  // the row Z
        const Number<N> value = weights ? Number<N>(1) : now[at(channels.offset(2) + h * s.dv + r)];
        for (std::size_t c = 0; c < key.size(); ++c)
          entries[c] = accumulated(entries[c], product(value, key[c]), weights ? 0 : update_shift_);
      }
    }
  }
  Numbers<N> query(const Numbers<N>& now, std::int64_t h) const override {
    return features(now.data() + channels.offset(0) + h * s.dk, true);
  }
  Numbers<N> answer(const Numbers<N>& state, const Numbers<N>& now) const override {
    if (!s.normalised) return Cell<N>::answer(state, now);
    Numbers<N> y;
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const Numbers<N> q = query(now, h);
      const Sum<N> weights = this->dot(row_of(state, h, s.dv), q);
      for (std::int64_t r = 0; r < s.dv; ++r)
        y.push_back(sat(quot(this->dot(row_of(state, h, r), q), weights, scale_), this->y_bits));
    }
    return y;
  }
  Number<N> merged(const Sum<N>& sum) const override { return exact() ? kept(sum) : part_.settle(sum); }
  void state(StateOf<N>& out, const Numbers<N>& numbers, std::int64_t positions) const override {
    if (!exact()) return Cell<N>::state(out, numbers, positions);
    const std::int64_t grown = ceil_lg(static_cast<std::uint64_t>(positions));
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::int64_t r = 0; r < rows(); ++r) {
        const Number<N>* entries = row_of(numbers, h, r);
        out.append(Numbers<N>(entries, entries + columns()),
                   (r < s.dv ? channels.bits(2) : 0) + feature_bits_ + grown);
      }
  }

 private:
  bool exact() const { return !N::kRounded || part_.header.accumulator == "exact"; }
  Number<N> accumulated(const Number<N>& entry, const Sum<N>& change, std::int64_t shift) const {
    if (exact()) return kept(add(entry, change));
    return part_.settle(part_.header.accumulator == "wrap" ? add(entry, change)
                                                           : add(entry, rsh(change, shift)));
  }
  Numbers<N> features(const Number<N>* x, bool query) const {
    Numbers<N> phi(x, x + s.dk);
    for (auto& value : phi) {
      if (s.feature == "relu") value = positive_part(value);
      if (function_) value = sat((*function_)(value), feature_bits_);
    }
    if (s.feature != "taylor2") return phi;
    phi.clear();
    const auto push = [&](const Sum<N>& z) { phi.push_back(sat(rsh(z, shift_), feature_bits_)); };
    const std::int64_t more = query ? 1 : 0;
    push(N::power(2 * fraction_ + more));
    for (std::int64_t i = 0; i < s.dk; ++i) push(product(x[i], N::power(fraction_ + more)));
    for (std::int64_t i = 0; i < s.dk; ++i)
      for (std::int64_t j = 0; j < s.dk; ++j) push(product(x[i], x[j]));
    return phi;
  }

  std::optional<typename N::Function> function_;
  std::int64_t fraction_ = 0, shift_ = 0, feature_bits_ = 0, scale_ = 1, update_shift_ = 0;
};

// decay=step: a step from a channel, and the decay from it and the head's rate. A real file may have limits of the step,
// which an integer file has in its table.
template <class N>
class StepDecay {
 public:
  StepDecay(const Part<N>& part, const std::string& name, std::int64_t heads)
      : step_(part.function(name, "softplus")),
        decay_(part.function("decay", "exp")),
        rates_(part.numbers("a.weight", {heads})),
        index_shift_(part.scalar("decay.index_shift", 0, -40, 100)) {
    if (N::kRounded || name != "dt") return;
    if (part.has("dt.low")) low_ = part.numbers("dt.low", {}).front();
    if (part.has("dt.high")) high_ = part.numbers("dt.high", {}).front();
  }
  Number<N> step(const Number<N>& channel) const {
    const Number<N> step = step_(channel);
    if constexpr (N::kRounded)
      return step;
    else
      return {std::min(std::max(step.low, low_), high_), std::min(std::max(step.high, low_), high_)};
  }
  Number<N> decay(const Number<N>& step, std::int64_t head) const {
    return decay_(rsh(product(step, rates_[at(head)]), index_shift_));
  }

 private:
  typename N::Function step_, decay_;
  Weights<N> rates_;
  std::int64_t index_shift_;
  double low_ = -kInfinity, high_ = kInfinity;
};

template <class N>
class Mamba2Cell final : public Cell<N> {
  using Cell<N>::s, Cell<N>::part_, Cell<N>::channels;

 public:
  Mamba2Cell(const Shape& shape, const Part<N>& part) : Cell<N>(shape, part) {
    channels.add("x", s.heads * s.dv);
    channels.add("b", s.kv * s.dk);
    channels.add("c", s.kv * s.dk);
    channels.add(s.form.step ? "dt" : "gate", s.heads, /*convolved=*/false);
    this->add_gate(4);
    channels.activate("act", s.form.act, 0, 3);
    channels.finish(s.form.conv_bias);
    if (s.form.step) {
      step_.emplace(part, "dt", s.heads);
      update_shift_ = part.shift("update");
    } else {
      decay_ = part.function("gate", "decay");
    }
    if (s.form.skip != "none") {
      this->skip = part.numbers("skip.weight", {s.form.skip == "head" ? s.heads : s.heads * s.dv});
      this->skip_shift = part.shift("skip");
    }
    decay_shift_ = part.shift("decay");
    this->read_shift = part.shift("read");
  }
  void update(Numbers<N>& state, const Numbers<N>& now, bool write) const override {
    part_.work(2 * this->size());
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const Number<N> gate = now[at(channels.offset(3) + h)];
      const Number<N> step = step_ ? step_->step(gate) : Number<N>(1);
      const Number<N> decay = step_ ? step_->decay(step, h) : decay_(gate);
      const Number<N>* b = now.data() + channels.offset(1) + this->shared(h) * s.dk;
      for (std::int64_t r = 0; r < s.dv; ++r) {
        const Number<N> x = write ? now[at(channels.offset(0) + h * s.dv + r)] : Number<N>(0);
        Number<N>* entries = this->row_of(state, h, r);
        for (std::int64_t n = 0; n < s.dk; ++n)
          entries[n] = part_.settle(add(rsh(product(decay, entries[n]), decay_shift_),
                                        rsh(mul(product(x, b[n]), step), update_shift_)));
      }
    }
  }
  Numbers<N> query(const Numbers<N>& now, std::int64_t h) const override {
    const auto begin = now.begin() + channels.offset(2) + this->shared(h) * s.dk;
    return Numbers<N>(begin, begin + s.dk);
  }

 private:
  typename N::Function decay_;
  std::optional<StepDecay<N>> step_;
  std::int64_t decay_shift_ = 0, update_shift_ = 0;
};

template <class N>
class DeltaCell final : public Cell<N> {
  using Cell<N>::s, Cell<N>::part_, Cell<N>::channels;

 public:
  DeltaCell(const Shape& shape, const Part<N>& part, bool gated) : Cell<N>(shape, part) {
    channels.add("q", s.kv * s.dk);
    channels.add("k", s.steps * s.kv * s.dk);
    channels.add("v", s.steps * s.heads * s.dv);
    std::size_t maps = 3;
    if (s.form.beta) {
      channels.add("beta", s.steps * s.heads, /*convolved=*/false);
      beta_ = part.function("beta", "sigmoid");
      ++maps;
    }
    if (gated) {
      channels.add("gate", s.heads, /*convolved=*/false);
      decay_map_ = maps++;
      if (s.form.step)
        step_.emplace(part, "gate", s.heads);
      else
        gate_ = part.function("gate", "decay");
      decay_shift_ = part.shift("decay");
    }
    this->add_gate(maps);
    channels.activate("qk_act", s.form.qk_act, 0, 2);
    channels.activate("act", s.form.act, 2, 3);
    channels.finish(s.form.conv_bias);
    if (s.form.scale) {
      if constexpr (N::kRounded)
        this->read_scale = part.scalar("read.scale", 1, 1, std::int64_t{1} << 32);
      else
        this->read_scale = Real(1) / square_root(Real(static_cast<double>(s.dk)));
    }
    predict_shift_ = part.shift("predict");
    write_shift_ = part.shift("write");
    this->read_shift = part.shift("read");
    read_key_length();
  }
  void update(Numbers<N>& state, const Numbers<N>& now, bool write) const override {
    part_.work((1 + 3 * static_cast<std::uint64_t>(s.steps)) * this->size());
    for (std::int64_t h = 0; h < s.heads; ++h) {
      if (decay_map_ > 0) {
        const Number<N> gate = now[at(channels.offset(decay_map_) + h)];
        const Number<N> decay = step_ ? step_->decay(step_->step(gate), h) : (*gate_)(gate);
        Number<N>* entries = this->row_of(state, h, 0);
        for (std::int64_t i = 0; i < s.dv * s.dk; ++i)
          entries[i] = part_.settle(rsh(product(decay, entries[i]), decay_shift_));
      }
      for (std::int64_t j = 0; j < s.steps; ++j) {
        const Numbers<N> k = head_vector(now, 1, j * s.kv + this->shared(h));
        const Number<N> beta = strength(now, j * s.heads + h);
        for (std::int64_t r = 0; r < s.dv; ++r) {
          Number<N>* entries = this->row_of(state, h, r);
          const Number<N> v =
              write ? now[at(channels.offset(2) + (j * s.heads + h) * s.dv + r)] : Number<N>(0);
          const Number<N> error = part_.settle(add(v, -rsh(this->dot(entries, k), predict_shift_)));
          for (std::size_t c = 0; c < k.size(); ++c)
            entries[c] = part_.settle(add(entries[c], rsh(mul(product(beta, error), k[c]), write_shift_)));
        }
      }
    }
  }
  Numbers<N> query(const Numbers<N>& now, std::int64_t h) const override {
    return head_vector(now, 0, this->shared(h));
  }

 private:
  // Where the file has keys and queries divided by their length. An integer file says how finely; a released layer of
  // reals has nothing to say.
  void read_key_length() {
    const bool plain = s.form.plain(), sum = s.form.qk_norm == "sum";
    unit_ = plain ? part_.has("key.fraction") : s.form.qk_norm != "none";
    if (!unit_) return;
    length_.bits = part_.bits("key");
    if (N::kRounded || plain) length_.fraction = part_.fraction("key.fraction", 24);
    const std::int64_t extra = (N::kRounded && !sum) || plain ? part_.scalar("key.extra", 8, 0, 24) : 0;
    if constexpr (N::kRounded) {
      length_.extra = extra;
      if (s.form.qk_norm == "l2") length_.epsilon = part_.scalar("key.epsilon", 0, 0, std::int64_t{1} << 46);
    } else if (!plain) {
      length_.epsilon = kLengthEpsilon;
    }
  }
  // β of a write: the table of an integer file has the range in it.
  Number<N> strength(const Numbers<N>& now, std::int64_t write) const {
    if (!beta_) return Number<N>(s.range);
    const Number<N> beta = (*beta_)(now[at(channels.offset(3) + write)]);
    return N::kRounded ? beta : beta * Number<N>(s.range);
  }
  // Vector number i of q (0) or k (1), brought to length 2^fraction where the file asks for it.
  Numbers<N> head_vector(const Numbers<N>& now, std::size_t map, std::int64_t i) const {
    const auto begin = now.begin() + channels.offset(map) + i * s.dk;
    Numbers<N> x(begin, begin + s.dk);
    if (!unit_) return x;
    if (s.form.qk_norm != "sum") return length_(x, 1);
    Sum<N> total = 0;
    for (const auto& number : x) total = add(total, number);
    for (auto& number : x) {
      if constexpr (N::kRounded)
        number = sat(quot(number, total, std::int64_t{1} << length_.fraction), length_.bits);
      else
        number = number / total;  // nothing is known where the sum may be 0
    }
    return x;
  }

  std::optional<typename N::Function> beta_, gate_;
  std::optional<StepDecay<N>> step_;
  Length<N> length_;
  bool unit_ = false;
  std::size_t decay_map_ = 0;  // the channel of the decay; 0: none
  std::int64_t decay_shift_ = 0, predict_shift_ = 0, write_shift_ = 0;
};

// One state, updated token by token. An encoder keeps the channels of every token, because it is asked after
// the last.
template <class N>
class MatrixRecurrence final : public Mixer<N> {
 public:
  MatrixRecurrence(std::unique_ptr<Cell<N>> cell, bool causal) : cell_(std::move(cell)), causal_(causal) {}
  void reset() override {
    cell_->channels.reset();
    cell_->part_.store(cell_->size());
    state_.assign(cell_->size(), 0);
    seen_.clear();
  }
  void see(const Numbers<N>& u) override {
    if (causal_) seen_.clear();
    seen_.push_back(cell_->channels.next(u));
    if (!causal_) cell_->part_.store(seen_.back().size());
    cell_->update(state_, seen_.back(), true);
  }
  Numbers<N> answer(std::int64_t position) override {
    return cell_->answer(state_, causal_ ? seen_.back() : seen_[at(position)]);
  }
  void state(StateOf<N>& out, std::int64_t positions) const override {
    cell_->state(out, state_, positions);
    cell_->channels.state(out);
  }
  void recall(const MemoryOf<N>& memory, std::size_t& next) override {
    const Numbers<N>& numbers = next_row(memory, next);
    state_.assign(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(cell_->size()));
    cell_->channels.recall(numbers.data() + cell_->size());
  }

 private:
  std::unique_ptr<Cell<N>> cell_;
  bool causal_;
  Numbers<N> state_;
  std::vector<Numbers<N>> seen_;
};

template <class N>
class LogLinear final : public Mixer<N> {
 public:
  LogLinear(std::unique_ptr<Cell<N>> cell, const Part<N>& part)
      : cell_(std::move(cell)),
        levels_(bit_length(static_cast<std::uint64_t>(part.header.architecture.context)) + 1),
        level_(part, "level", cell_->s.heads * levels_, part.width()) {
    if (!cell_->s.form.plain() || part.has_function("level")) function_ = part.function("level", "softplus");
  }
  void reset() override {
    cell_->channels.reset();
    cell_->part_.store(static_cast<std::uint64_t>(levels_) * cell_->size());
    states_.assign(at(levels_) + 1, Numbers<N>());
    counts_.assign(states_.size(), 0);
    t_ = 0;
  }
  void see(const Numbers<N>& u) override {
    now_ = cell_->channels.next(u);
    weights_ = level_(u, cell_->part_.budget);
    rearrange(states_, counts_);
    for (auto& state : states_)
      if (!state.empty()) cell_->update(state, now_, false);
    states_[0].assign(cell_->size(), 0);
    counts_[0] = 1;
    cell_->update(states_[0], now_, true);
    ++t_;
  }
  Numbers<N> answer(std::int64_t) override {
    Sums<N> sums;
    for (std::int64_t h = 0; h < cell_->s.heads; ++h) {
      const Numbers<N> q = cell_->query(now_, h);
      for (std::int64_t r = 0; r < cell_->s.dv; ++r) {
        Sum<N> total = 0;
        for (std::size_t l = 0; l < states_.size(); ++l) {
          if (states_[l].empty()) continue;
          const Number<N>& raw = weights_[at(h * levels_) + l];
          const Sum<N> weight = function_ ? (*function_)(raw) : positive_part(raw);
          total = add(total, mul(weight, cell_->dot(cell_->row_of(states_[l], h, r), q)));
        }
        sums.push_back(total);
      }
    }
    return cell_->given(std::move(sums), now_);
  }
  // The buckets as the next token finds them: it begins by merging.
  void state(StateOf<N>& out, std::int64_t positions) const override {
    auto found = states_;
    auto counts = counts_;
    rearrange(found, counts);
    for (const auto& state : found)
      if (!state.empty()) cell_->state(out, state, positions);
    cell_->channels.state(out);
  }

 private:
  // What token t begins with. `counts`: the tokens of each level, which the strong partition looks at.
  void rearrange(std::vector<Numbers<N>>& states, Row& counts) const {
    if (!cell_->s.form.strong) return merge(states, t_);
    Numbers<N> carried;
    std::int64_t count = 0;
    for (std::size_t level = 0; level < states.size() && t_ > 0; ++level) {
      const std::int64_t room = level == 0 ? 1 : std::int64_t{1} << (level - 1);
      if (level == 0 || counts[level] + count > room) {
        std::swap(states[level], carried);
        std::swap(counts[level], count);
        continue;
      }
      if (states[level].empty()) states[level].assign(carried.size(), 0);
      if (!carried.empty()) add_to(states[level], carried);
      counts[level] += count;
      carried.clear();
      count = 0;
    }
    if (count > 0) throw Malformed("a loglinear layer has more tokens than its levels have room for");
  }
  // At position t > 0 the levels 0 … l become level l + 1, l the lowest set bit of t.
  void merge(std::vector<Numbers<N>>& states, std::int64_t t) const {
    if (t == 0) return;
    const auto l = static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(t)));
    Numbers<N> sum = states[0];
    for (std::size_t k = 1; k <= l; ++k) add_to(sum, states[k]);
    for (std::size_t k = 0; k <= l; ++k) states[k].clear();
    states.at(l + 1) = std::move(sum);
  }
  void add_to(Numbers<N>& sum, const Numbers<N>& more) const {
    cell_->part_.work(N::kPerProduct * more.size());
    for (std::size_t i = 0; i < more.size(); ++i) sum[i] = cell_->merged(add(sum[i], more[i]));
  }

  std::unique_ptr<Cell<N>> cell_;
  std::int64_t levels_;
  Map<N> level_;
  std::optional<typename N::Function> function_;
  std::vector<Numbers<N>> states_;  // by level; empty: nothing there
  Numbers<N> now_, weights_;
  Row counts_;
  std::int64_t t_ = 0;
};

template <class N>
std::unique_ptr<Cell<N>> make_cell(const std::string& kind, const Shape& shape, const Part<N>& part) {
  if (kind == "linear") return std::make_unique<LinearCell<N>>(shape, part);
  if (kind == "mamba2") return std::make_unique<Mamba2Cell<N>>(shape, part);
  if (kind != "delta" && kind != "gdelta") return nullptr;
  return std::make_unique<DeltaCell<N>>(shape, part, kind == "gdelta");
}

}  // namespace

template <class N>
std::unique_ptr<Mixer<N>> make_recurrence(const Shape& shape, const Part<N>& part) {
  if (shape.kind == "loglinear")
    return std::make_unique<LogLinear<N>>(make_cell(shape.base, shape, part), part);
  if (auto cell = make_cell(shape.kind, shape, part))
    return std::make_unique<MatrixRecurrence<N>>(std::move(cell), part.header.architecture.causal);
  return make_row_recurrence(shape, part);
}

template std::unique_ptr<Mixer<Integers>> make_recurrence(const Shape&, const Part<Integers>&);
template std::unique_ptr<Mixer<Intervals>> make_recurrence(const Shape&, const Part<Intervals>&);

}  // namespace rung_check
