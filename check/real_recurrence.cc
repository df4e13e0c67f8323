// Recurrences of a real file whose memory is a matrix (docs/weights.md, "Mixers" and "Mode Q"), in intervals. Accumulators
// are of no concern: nothing is rounded.
#include <bit>

#include "check/integer.h"
#include "check/real_mixer.h"

namespace rung_check {
namespace {

constexpr double kLengthEpsilon = 1e-6;  // of keys that are divided by their length
constexpr std::uint64_t kReading =
    2;  // of a state, per number: the product, and the query that it is made with

// A matrix per head, S[r][c], head by head; normalised linear attention has Z as one more row of its head.
class RealCell {
 public:
  RealCell(const Shape& shape, const RealSource& source)
      : s(shape),
        source_(source),
        channels(source, shape.conv),
        stage(shape, source, s.base_rule() == "mamba2" ? s.heads * s.dv : s.dv,
              s.base_rule() == "mamba2" ? s.heads * s.dv / s.form.norm_groups : s.dv) {
    source.width("y");
  }
  virtual ~RealCell() = default;

  virtual std::int64_t columns() const { return s.dk; }
  virtual std::int64_t rows() const { return s.dv; }
  virtual void update(Reals& state, const Reals& now, bool write) const = 0;
  virtual Real read(const Reals& state, const Reals& now, std::int64_t head, std::int64_t row) const = 0;
  virtual Reals answer(const Reals& state, const Reals& now) const {
    Reals sums;
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::int64_t r = 0; r < s.dv; ++r) sums.push_back(read(state, now, h, r));
    return given(std::move(sums), now);
  }
  // The layer's output from what was read: scale, skip, gate and norm as the form has them.
  Reals given(Reals sums, const Reals& now) const {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] = scaled(read_scale * sums[i], -read_shift);
      if (!skip.empty()) sums[i] += scaled(Real(skip[i * skip.size() / sums.size()]) * now[i], -skip_shift);
    }
    return stage(std::move(sums), stage.gated() ? now.data() + channels.offset(gate_map) : nullptr);
  }
  std::size_t size() const {
    const Int numbers = static_cast<Int>(s.heads) * rows() * columns();
    if (numbers > static_cast<Int>(kMostNumbers)) throw OutOfResources("a state of more than 2^28 numbers");
    return static_cast<std::size_t>(numbers);
  }
  void charge(std::uint64_t times) const { source_.work(times * size()); }

  Shape s;
  RealSource source_;
  RealChannels channels;
  RealStage stage;
  std::int64_t read_shift = 0, skip_shift = 0;
  Real read_scale = 1;
  std::vector<double> skip;  // of the first channels; empty: none
  std::size_t gate_map = 0;  // of the output's gate

 protected:
  void add_gate(std::size_t maps) {
    if (!stage.gated()) return;
    channels.add("z", s.heads * s.dv, /*convolved=*/false);
    gate_map = maps;
  }
  Real* row_of(Reals& state, std::int64_t head, std::int64_t row) const {
    return state.data() + (head * rows() + row) * columns();
  }
  const Real* row_of(const Reals& state, std::int64_t head, std::int64_t row) const {
    return state.data() + (head * rows() + row) * columns();
  }
  std::int64_t shared(std::int64_t head) const { return head * s.kv / s.heads; }
  Real dot(const Real* a, const Real* b) const {
    Real total;
    for (std::int64_t c = 0; c < columns(); ++c) total += a[c] * b[c];
    return total;
  }
};

class RealLinear final : public RealCell {
 public:
  RealLinear(const Shape& shape, const RealSource& source) : RealCell(shape, source) {
    channels.add("q", s.heads * s.dk);
    channels.add("k", s.heads * s.dk);
    channels.add("v", s.heads * s.dv);
    channels.finish();
    if (s.feature == "elu1" || s.feature == "exp") function_ = source.function("feature", s.feature);
    if (s.feature == "taylor2") {
      fraction_ = source.source.fraction("feature.fraction", 20);
      shift_ = source.source.shift("feature");
    }
    if (function_ || s.feature == "taylor2") source.width("feature");
    source.source.shift("update");
    scale_ = static_cast<double>(source.source.scalar("value.scale", 1, 1, std::int64_t{1} << 32));
    read_shift = source.source.shift("read");
  }
  std::int64_t columns() const override { return s.features(); }
  std::int64_t rows() const override { return s.dv + (s.normalised ? 1 : 0); }
  void update(Reals& state, const Reals& now, bool write) const override {
    if (!write) return;
    charge(1);
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const Reals key = features(now.data() + channels.offset(1) + h * s.dk, false);
      for (std::int64_t r = 0; r < rows(); ++r) {
        Real* entries = row_of(state, h, r);
        const Real value = r == s.dv ? Real(1) : now[at(channels.offset(2) + h * s.dv + r)];
        for (std::size_t c = 0; c < key.size(); ++c) entries[c] += value * key[c];
      }
    }
  }
  Real read(const Reals& state, const Reals& now, std::int64_t h, std::int64_t r) const override {
    return dot(row_of(state, h, r), features(now.data() + channels.offset(0) + h * s.dk, true).data());
  }
  Reals answer(const Reals& state, const Reals& now) const override {
    if (!s.normalised) return RealCell::answer(state, now);
    Reals y;
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const Real weights = read(state, now, h, s.dv);
      for (std::int64_t r = 0; r < s.dv; ++r)
        y.push_back(weights.is(0) ? Real(0) : Real(scale_) * read(state, now, h, r) / weights);
    }
    return y;
  }

 private:
  Reals features(const Real* x, bool query) const {
    Reals phi(x, x + s.dk);
    if (s.feature == "relu")
      for (auto& value : phi) value = positive_part(value);
    if (function_)
      for (auto& value : phi) value = (*function_)(value);
    if (s.feature != "taylor2") return phi;
    phi.clear();
    const std::int64_t more = query ? 1 : 0;
    phi.push_back(scaled(Real(1), 2 * fraction_ + more - shift_));
    for (std::int64_t i = 0; i < s.dk; ++i) phi.push_back(scaled(x[i], fraction_ + more - shift_));
    for (std::int64_t i = 0; i < s.dk; ++i)
      for (std::int64_t j = 0; j < s.dk; ++j) phi.push_back(scaled(x[i] * x[j], -shift_));
    return phi;
  }
  std::optional<RealFunction> function_;
  std::int64_t fraction_ = 0, shift_ = 0;
  double scale_ = 1;
};

// decay=step: a step from a channel, and the decay e^(step · rate) of a head.
class RealStep {
 public:
  RealStep(const RealSource& source, const std::string& name, std::int64_t heads)
      : step_(source.function(name, "softplus")),
        decay_(source.function("decay", "exp")),
        rates_(source.reals("a.weight", {heads})),
        index_shift_(source.source.scalar("decay.index_shift", 0, -40, 100)) {
    if (name != "dt") return;
    low_ = source.real("dt.low", 0);
    high_ = source.real("dt.high", kInfinity);
  }
  Real step(const Real& channel) const {
    const Real step = step_(channel);
    return {std::min(std::max(step.low, low_), high_), std::min(std::max(step.high, low_), high_)};
  }
  Real decay(const Real& step, std::int64_t head) const {
    return decay_(scaled(step * Real(rates_[at(head)]), -index_shift_));
  }

 private:
  RealFunction step_, decay_;
  std::vector<double> rates_;
  std::int64_t index_shift_;
  double low_ = -kInfinity, high_ = kInfinity;
};

class RealMamba2 final : public RealCell {
 public:
  RealMamba2(const Shape& shape, const RealSource& source) : RealCell(shape, source) {
    channels.add("x", s.heads * s.dv);
    channels.add("b", s.kv * s.dk);
    channels.add("c", s.kv * s.dk);
    channels.add(s.form.step ? "dt" : "gate", s.heads, /*convolved=*/false);
    add_gate(4);
    channels.activate("act", s.form.act, 0, 3);
    channels.finish(s.form.conv_bias);
    if (s.form.step) {
      step_.emplace(source, "dt", s.heads);
      update_shift_ = source.source.shift("update");
    } else {
      decay_ = source.function("gate", "decay");
    }
    if (s.form.skip != "none") {
      skip = source.reals("skip.weight", {s.form.skip == "head" ? s.heads : s.heads * s.dv});
      skip_shift = source.source.shift("skip");
    }
    decay_shift_ = source.source.shift("decay");
    read_shift = source.source.shift("read");
  }
  void update(Reals& state, const Reals& now, bool write) const override {
    charge(2);
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const Real gate = now[at(channels.offset(3) + h)], step = step_ ? step_->step(gate) : Real(1);
      const Real decay = scaled(step_ ? step_->decay(step, h) : decay_(gate), -decay_shift_);
      const Real* b = now.data() + channels.offset(1) + shared(h) * s.dk;
      for (std::int64_t r = 0; r < s.dv; ++r) {
        const Real x = write ? now[at(channels.offset(0) + h * s.dv + r)] : Real(0);
        Real* entries = row_of(state, h, r);
        for (std::int64_t n = 0; n < s.dk; ++n)
          entries[n] = decay * entries[n] + scaled(step * x * b[n], -update_shift_);
      }
    }
  }
  Real read(const Reals& state, const Reals& now, std::int64_t h, std::int64_t r) const override {
    return dot(row_of(state, h, r), now.data() + channels.offset(2) + shared(h) * s.dk);
  }

 private:
  RealFunction decay_;
  std::optional<RealStep> step_;
  std::int64_t decay_shift_ = 0, update_shift_ = 0;
};

class RealDelta final : public RealCell {
 public:
  RealDelta(const Shape& shape, const RealSource& source, bool gated)
      : RealCell(shape, source), beta_(source.function("beta", "sigmoid")) {
    channels.add("q", s.kv * s.dk);
    channels.add("k", s.steps * s.kv * s.dk);
    channels.add("v", s.steps * s.heads * s.dv);
    std::size_t maps = 3;
    if (s.form.beta) {
      channels.add("beta", s.steps * s.heads, /*convolved=*/false);
      ++maps;
    }
    if (gated) {
      channels.add("gate", s.heads, /*convolved=*/false);
      decay_map_ = maps++;
      if (s.form.step)
        step_.emplace(source, "gate", s.heads);
      else
        gate_ = source.function("gate", "decay");
      decay_shift_ = source.source.shift("decay");
    }
    add_gate(maps);
    channels.activate("qk_act", s.form.qk_act, 0, 2);
    channels.activate("act", s.form.act, 2, 3);
    channels.finish(s.form.conv_bias);
    if (s.form.scale) read_scale = Real(1) / square_root(Real(static_cast<double>(s.dk)));
    predict_shift_ = source.source.shift("predict");
    write_shift_ = source.source.shift("write");
    read_shift = source.source.shift("read");
    if (s.form.qk_norm != "none") source.width("key");
    unit_ = s.form.plain() && source.source.has("key.fraction");
    if (unit_) {
      fraction_ = source.source.fraction("key.fraction", 24);
      source.source.scalar("key.extra", 8, 0, 24);
      source.width("key");
    }
  }
  void update(Reals& state, const Reals& now, bool write) const override {
    charge(1 + 3 * s.steps);
    for (std::int64_t h = 0; h < s.heads; ++h) {
      if (decay_map_ > 0) {
        const Real gate = now[at(channels.offset(decay_map_) + h)];
        const Real decay = scaled(step_ ? step_->decay(step_->step(gate), h) : (*gate_)(gate), -decay_shift_);
        for (std::int64_t r = 0; r < s.dv; ++r)
          for (std::int64_t c = 0; c < s.dk; ++c) row_of(state, h, r)[c] = decay * row_of(state, h, r)[c];
      }
      for (std::int64_t j = 0; j < s.steps; ++j) {
        const Reals k = head_vector(now, 1, j * s.kv + shared(h));
        Real beta = static_cast<double>(s.range);
        if (s.form.beta) beta = beta * beta_(now[at(channels.offset(3) + j * s.heads + h)]);
        for (std::int64_t r = 0; r < s.dv; ++r) {
          Real* entries = row_of(state, h, r);
          const Real v = write ? now[at(channels.offset(2) + (j * s.heads + h) * s.dv + r)] : Real(0);
          const Real error = v - scaled(dot(entries, k.data()), -predict_shift_);
          for (std::size_t c = 0; c < k.size(); ++c) entries[c] += scaled(beta * error * k[c], -write_shift_);
        }
      }
    }
  }
  Real read(const Reals& state, const Reals& now, std::int64_t h, std::int64_t r) const override {
    return dot(row_of(state, h, r), head_vector(now, 0, shared(h)).data());
  }

 private:
  Reals head_vector(const Reals& now, std::size_t map, std::int64_t i) const {
    const auto begin = now.begin() + channels.offset(map) + i * s.dk;
    Reals x(begin, begin + s.dk);
    const std::vector<double> ones(x.size(), 1);
    if (unit_) return real_normalised(x, ones, 1, fraction_, 0);
    if (s.form.qk_norm == "l2") return real_normalised(x, ones, 1, 0, kLengthEpsilon);
    if (s.form.qk_norm != "sum") return x;
    Real total;
    for (const auto& number : x) total += number;
    for (auto& number : x) number = number / total;
    return x;
  }
  RealFunction beta_;
  std::optional<RealFunction> gate_;
  std::optional<RealStep> step_;
  std::size_t decay_map_ = 0;  // the channel of the decay; 0: none
  bool unit_ = false;
  std::int64_t decay_shift_ = 0, predict_shift_ = 0, write_shift_ = 0, fraction_ = 0;
};

class RealMatrix final : public RealMixer {
 public:
  RealMatrix(std::unique_ptr<RealCell> cell, bool causal) : cell_(std::move(cell)), causal_(causal) {}
  std::vector<Reals> mix(const std::vector<Reals>& u) const override {
    const auto rows = cell_->channels.all(u);
    cell_->source_.source.budget.store(cell_->size());
    Reals state(cell_->size());
    std::vector<Reals> y;
    for (const auto& now : rows) {
      cell_->update(state, now, true);
      cell_->charge(kReading);
      if (causal_) y.push_back(cell_->answer(state, now));
    }
    if (!causal_)
      for (const auto& now : rows) y.push_back(cell_->answer(state, now));
    return y;
  }

 private:
  std::unique_ptr<RealCell> cell_;
  bool causal_;
};

class RealLogLinear final : public RealMixer {
 public:
  RealLogLinear(std::unique_ptr<RealCell> cell, const RealSource& source)
      : cell_(std::move(cell)),
        levels_(bit_length(static_cast<std::uint64_t>(source.architecture.context)) + 1),
        level_(source, "level", cell_->s.heads * levels_, source.architecture.width) {
    if (!cell_->s.form.plain() || source.named("level")) function_ = source.function("level", "softplus");
  }
  std::vector<Reals> mix(const std::vector<Reals>& u) const override {
    const auto rows = cell_->channels.all(u);
    cell_->source_.source.budget.store(static_cast<std::uint64_t>(levels_) * cell_->size());
    std::vector<Reals> states(at(levels_) + 1), y;  // by level; empty: nothing there
    Row counts(states.size(), 0);                   // strong: tokens of each level
    for (std::int64_t t = 0; t < static_cast<std::int64_t>(u.size()); ++t) {
      const int lowest = std::countr_zero(static_cast<std::uint64_t>(t));  // 64 at t = 0
      if (t > 0) cell_->charge(static_cast<std::uint64_t>(lowest));
      if (t > 0 && cell_->s.form.strong)
        carry(states, counts);
      else if (t > 0)
        merge(states, lowest);
      const Reals& now = rows[at(t)];
      for (auto& state : states)
        if (!state.empty()) cell_->update(state, now, false);
      states[0].assign(cell_->size(), Real(0));
      counts[0] = 1;
      cell_->update(states[0], now, true);
      const Reals weights = level_(u[at(t)], cell_->source_.source.budget);
      for (const auto& state : states)
        if (!state.empty()) cell_->charge(kReading);
      Reals sums;
      for (std::int64_t h = 0; h < cell_->s.heads; ++h)
        for (std::int64_t r = 0; r < cell_->s.dv; ++r) {
          Real total;
          for (std::size_t l = 0; l < states.size(); ++l) {
            if (states[l].empty()) continue;
            const Real raw = weights[at(h * levels_) + l];
            total += (function_ ? (*function_)(raw) : positive_part(raw)) * cell_->read(states[l], now, h, r);
          }
          sums.push_back(total);
        }
      y.push_back(cell_->given(std::move(sums), now));
    }
    return y;
  }

 private:
  void carry(std::vector<Reals>& states, Row& counts) const {
    Reals carried;
    std::int64_t count = 0;
    for (std::size_t level = 0; level < states.size(); ++level) {
      const std::int64_t room = level == 0 ? 1 : std::int64_t{1} << (level - 1);
      if (level == 0 || counts[level] + count > room) {
        std::swap(states[level], carried);
        std::swap(counts[level], count);
        continue;
      }
      if (states[level].empty()) states[level].assign(carried.size(), Real(0));
      if (!carried.empty()) cell_->charge(1);
      for (std::size_t i = 0; i < carried.size(); ++i) states[level][i] += carried[i];
      counts[level] += count;
      carried.clear();
      count = 0;
    }
    if (count > 0) throw Malformed("a loglinear layer has more tokens than its levels have room for");
  }
  static void merge(std::vector<Reals>& states, int lowest) {
    Reals sum = states[0];
    for (int k = 1; k <= lowest; ++k)
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += states[static_cast<std::size_t>(k)][i];
    for (int k = 0; k <= lowest; ++k) states[static_cast<std::size_t>(k)].clear();
    states.at(static_cast<std::size_t>(lowest) + 1) = std::move(sum);
  }
  std::unique_ptr<RealCell> cell_;
  std::int64_t levels_;
  RealMap level_;
  std::optional<RealFunction> function_;
};

std::unique_ptr<RealCell> make_cell(const std::string& kind, const Shape& shape, const RealSource& source) {
  if (kind == "linear") return std::make_unique<RealLinear>(shape, source);
  if (kind == "mamba2") return std::make_unique<RealMamba2>(shape, source);
  if (kind == "delta" || kind == "gdelta")
    return std::make_unique<RealDelta>(shape, source, kind == "gdelta");
  return nullptr;
}

}  // namespace

std::unique_ptr<RealMixer> make_real_recurrence(const Shape& shape, const RealSource& source) {
  if (shape.kind == "loglinear")
    return std::make_unique<RealLogLinear>(make_cell(shape.base, shape, source), source);
  if (auto cell = make_cell(shape.kind, shape, source))
    return std::make_unique<RealMatrix>(std::move(cell), source.architecture.causal);
  return make_real_row_recurrence(shape, source);
}

}  // namespace rung_check
