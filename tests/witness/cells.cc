#include "tests/witness/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "tests/exact/hand_made.h"

namespace rung {
namespace {

std::int64_t cell_rsh(std::int64_t x, int r) {
  if (r <= 0) return x << -r;
  const std::int64_t floor = x >> r, rest = x - (floor << r), half = std::int64_t{1} << (r - 1);
  return floor + (rest > half || (rest == half && (floor & 1)));
}
std::int64_t cell_sat(std::int64_t x, int bits) {
  const std::int64_t most = (std::int64_t{1} << (bits - 1)) - 1;
  return std::clamp(x, -most - 1, most);
}
std::int64_t cell_wrap(std::int64_t x, int bits) {
  const std::int64_t span = std::int64_t{1} << bits;
  const std::int64_t low = ((x % span) + span) % span;
  return low >= span / 2 ? low - span : low;
}

// Every vector of `count` numbers of p bits.
std::vector<std::vector<std::int64_t>> numbers_of(int p, int count) {
  const std::int64_t least = -(std::int64_t{1} << (p - 1)), most = -least - 1;
  std::vector<std::vector<std::int64_t>> all{{}};
  for (int i = 0; i < count; ++i) {
    std::vector<std::vector<std::int64_t>> more;
    for (const auto& one : all)
      for (std::int64_t x = least; x <= most; ++x) {
        more.push_back(one);
        more.back().push_back(x);
      }
    all = std::move(more);
  }
  return all;
}

class LinearCell final : public Cell {
 public:
  explicit LinearCell(const LinearShape& shape) : shape_(shape) {
    p = shape.p;
    accumulator = shape.accumulator;
    if (accumulator != Accumulator::exact) entry_bits = shape.bits;
    complete = accumulator != Accumulator::round;  // one shift of the updates is not all
    const std::string rest = fmt::format("feature={}{},dim={},vdim={}", shape.relu ? "relu" : "identity",
                                         normalised() ? "" : ",normalised=no", shape.dim, shape.vdim);
    line = fmt::format("linear({},heads=1)", rest);
    part = fmt::format("linear({})", rest);
    if (accumulator != Accumulator::exact) acc = fmt::format("acc={}", accumulator_name(accumulator));
    RUNG_REQUIRE(entries() <= 8, "{} entries", entries());
    std::map<CellState, bool> seen;
    for (const auto& k : numbers_of(p, shape.dim))
      for (const auto& v : numbers_of(p, shape.vdim)) {
        CellState update{};
        std::size_t i = 0;
        const auto feature = [&](std::int64_t x) { return shape.relu ? std::max<std::int64_t>(0, x) : x; };
        for (const auto r : v)
          for (const auto c : k) update[i++] = static_cast<std::int16_t>(r * feature(c));
        if (normalised())
          for (const auto c : k) update[i++] = static_cast<std::int16_t>(feature(c));
        if (!seen.emplace(update, true).second) continue;
        updates_.push_back(update);
        rows_.push_back(k);
        rows_.back().insert(rows_.back().end(), v.begin(), v.end());
      }
  }

  int entries() const override { return shape_.dim * (shape_.vdim + normalised()); }
  int actions() const override { return static_cast<int>(updates_.size()); }
  CellState step(const CellState& before, int action, std::int64_t) const override {
    CellState after = before;
    const CellState& update = updates_[static_cast<std::size_t>(action)];
    for (int i = 0; i < entries(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const bool weight = i >= shape_.dim * shape_.vdim;
      std::int64_t sum = before[at] + update[at];
      if (accumulator == Accumulator::wrap) sum = cell_wrap(sum, shape_.bits);
      if (accumulator == Accumulator::round)
        sum = cell_sat(before[at] + cell_rsh(update[at], weight ? 0 : shape_.shift), shape_.bits);
      after[at] = static_cast<std::int16_t>(sum);
    }
    return after;
  }
  std::vector<Channel> channels() const override {
    return {{"q", shape_.dim}, {"k", shape_.dim}, {"v", shape_.vdim}};
  }
  std::vector<std::int64_t> row(int action) const override {
    std::vector<std::int64_t> row(static_cast<std::size_t>(shape_.dim), 0);
    const auto& kv = rows_[static_cast<std::size_t>(action)];
    row.insert(row.end(), kv.begin(), kv.end());
    return row;
  }
  void furnish(HandMade& layer) const override {
    if (accumulator == Accumulator::round) layer.scalar("update.shift", shape_.shift);
  }

 private:
  bool normalised() const { return shape_.read == LinearRead::normalised; }

  LinearShape shape_;
  std::vector<CellState> updates_;
  std::vector<std::vector<std::int64_t>> rows_;
};

class GatedCell final : public Cell {
 public:
  explicit GatedCell(const GatedShape& shape) : shape_(shape) {
    p = shape.p;
    accumulator = shape.wrap ? Accumulator::wrap : Accumulator::exact;
    entry_bits = shape.bits;
    const bool ssd = shape.kind == GatedShape::Kind::mamba2;
    const char* word = ssd ? "mamba2" : gated() ? "gdelta" : "delta";
    const std::string rest = ssd ? fmt::format("dim={},state={},form=plain", shape.vdim, shape.dim)
                                 : fmt::format("dim={},vdim={},form=plain", shape.dim, shape.vdim);
    line = fmt::format("{}(heads=1,{})", word, rest);
    part = fmt::format("{}({})", word, rest);
    const std::int64_t gates = gated() || ssd ? (std::int64_t{1} << shape.shift) + 1 : 1;
    const std::int64_t writes = ssd ? 1 : 2;
    std::map<std::vector<CellState>, bool> seen;
    for (const auto& k : numbers_of(p, shape.dim))
      for (const auto& v : numbers_of(p, shape.vdim))
        for (std::int64_t gate = 0; gate < gates; ++gate)
          for (std::int64_t write = 0; write < writes; ++write) {
            actions_.push_back({k, v, gate, write});
            std::vector<CellState> effect;
            for (const auto& state : all_states())
              effect.push_back(step(state, static_cast<int>(actions_.size()) - 1, 0));
            if (!seen.emplace(std::move(effect), true).second) actions_.pop_back();
          }
  }

  int entries() const override { return shape_.dim * shape_.vdim; }
  int actions() const override { return static_cast<int>(actions_.size()); }
  CellState step(const CellState& before, int action, std::int64_t) const override {
    const Action& a = actions_[static_cast<std::size_t>(action)];
    CellState after{};
    for (std::size_t r = 0; r < a.v.size(); ++r) {
      std::vector<std::int64_t> S(a.k.size());
      for (std::size_t c = 0; c < a.k.size(); ++c) S[c] = before[r * a.k.size() + c];
      if (shape_.kind == GatedShape::Kind::mamba2) {
        for (std::size_t c = 0; c < S.size(); ++c)
          S[c] = settle(cell_rsh(a.gate * S[c], shape_.shift) + a.v[r] * a.k[c]);
      } else {
        if (gated())
          for (auto& s : S) s = settle(cell_rsh(a.gate * s, shape_.shift));
        std::int64_t predicted = 0;
        for (std::size_t c = 0; c < S.size(); ++c) predicted += S[c] * a.k[c];
        const std::int64_t error = settle(a.v[r] - predicted);
        for (std::size_t c = 0; c < S.size(); ++c) S[c] = settle(S[c] + a.write * error * a.k[c]);
      }
      for (std::size_t c = 0; c < S.size(); ++c) after[r * S.size() + c] = static_cast<std::int16_t>(S[c]);
    }
    return after;
  }
  std::vector<Channel> channels() const override {
    if (shape_.kind == GatedShape::Kind::mamba2)
      return {{"x", shape_.vdim}, {"b", shape_.dim}, {"c", shape_.dim}, {"gate", 1}};
    std::vector<Channel> all{{"q", shape_.dim}, {"k", shape_.dim}, {"v", shape_.vdim}, {"beta", 1}};
    if (gated()) all.push_back({"gate", 1});
    return all;
  }
  std::vector<std::int64_t> row(int action) const override {
    const Action& a = actions_[static_cast<std::size_t>(action)];
    const std::vector<std::int64_t> still(a.k.size(), 0);
    std::vector<std::int64_t> row;
    const auto add = [&](const std::vector<std::int64_t>& part) {
      row.insert(row.end(), part.begin(), part.end());
    };
    if (shape_.kind == GatedShape::Kind::mamba2) {
      add(a.v), add(a.k), add(still), add({kLowestGate + a.gate});
    } else {
      add(still), add(a.k), add(a.v), add({kLowestGate + a.write});
      if (gated()) add({kLowestGate + a.gate});
    }
    return row;
  }
  void furnish(HandMade& layer) const override {
    const bool ssd = shape_.kind == GatedShape::Kind::mamba2;
    if (gated() || ssd) {
      Numbers gates;
      for (std::int64_t g = 0; g <= std::int64_t{1} << shape_.shift; ++g) gates.push_back(g);
      layer.table("gate", kLowestGate, gates);
      layer.scalar("decay.shift", shape_.shift);
    }
    if (!ssd) layer.table("beta", kLowestGate, {0, 1});
  }

 private:
  static constexpr std::int64_t kLowestGate = -2;  // a channel of two bits indexes the tables
  struct Action {
    std::vector<std::int64_t> k, v;
    std::int64_t gate = 0, write = 1;
  };
  bool gated() const { return shape_.kind == GatedShape::Kind::gdelta; }
  std::int64_t settle(std::int64_t x) const {
    return shape_.wrap ? cell_wrap(x, shape_.bits) : cell_sat(x, shape_.bits);
  }
  std::vector<CellState> all_states() const {
    std::vector<CellState> all;
    for (const auto& numbers : numbers_of(shape_.bits, entries())) {
      CellState state{};
      for (std::size_t i = 0; i < numbers.size(); ++i) state[i] = static_cast<std::int16_t>(numbers[i]);
      all.push_back(state);
    }
    return all;
  }

  GatedShape shape_;
  std::vector<Action> actions_;
};

class BufferCell final : public Cell {
 public:
  BufferCell(BufferKind kind, int bits, int reach) : kind_(kind), reach_(reach) {
    p = bits;
    const char* word = kind == BufferKind::window ? "window" : "chunk";
    line = kind == BufferKind::conv ? fmt::format("conv(width={},channels=1)", reach)
                                    : fmt::format("full({}={},heads=1,dim=1,vdim=1)", word, reach);
    part = kind == BufferKind::conv ? "" : fmt::format("full({}={},dim=1,vdim=1)", word, reach);
    written_ = numbers_of(p, each());
    RUNG_REQUIRE(entries() <= 8, "{} entries", entries());
  }
  int entries() const override { return each() * (reach_ - 1); }
  int actions() const override { return static_cast<int>(written_.size()); }
  CellState step(const CellState& before, int action, std::int64_t t) const override {
    CellState after{};
    if (kind_ == BufferKind::chunk && (t + 1) % reach_ == 0) return after;
    for (int i = 0; i + each() < entries(); ++i)
      after[static_cast<std::size_t>(i + each())] = before[static_cast<std::size_t>(i)];
    const auto& written = written_[static_cast<std::size_t>(action)];
    for (std::size_t i = 0; i < written.size(); ++i) after[i] = static_cast<std::int16_t>(written[i]);
    return after;
  }
  CellState read(const CellState& before, int, std::int64_t) const override { return before; }

 private:
  int each() const { return kind_ == BufferKind::conv ? 1 : 2; }  // numbers that a token writes

  BufferKind kind_;
  int reach_;
  std::vector<std::vector<std::int64_t>> written_;
};

class LogLinearCell final : public Cell {
 public:
  explicit LogLinearCell(int bits) {
    p = bits;
    line = "loglinear(heads=1,dim=1,vdim=1)";
    part = "loglinear(dim=1,vdim=1)";
    for (const auto& kv : numbers_of(p, 2)) products_.push_back(static_cast<std::int16_t>(kv[0] * kv[1]));
    std::sort(products_.begin(), products_.end());
    products_.erase(std::unique(products_.begin(), products_.end()), products_.end());
    complete = true;
  }
  int entries() const override { return 8; }
  int actions() const override { return static_cast<int>(products_.size()); }
  CellState step(const CellState& before, int action, std::int64_t t) const override {
    RUNG_REQUIRE(t < 64, "t={}", t);
    CellState after = before;
    if (t > 0) {
      const auto lowest = static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(t)));
      std::int16_t sum = 0;
      for (std::size_t level = 0; level <= lowest; ++level) {
        sum = static_cast<std::int16_t>(sum + after[level]);
        after[level] = 0;
      }
      after[lowest + 1] = sum;
    }
    after[0] = products_[static_cast<std::size_t>(action)];
    return after;
  }

 private:
  std::vector<std::int16_t> products_;
};

class BesideCell final : public Cell {
 public:
  BesideCell(std::shared_ptr<const Cell> first, std::shared_ptr<const Cell> second)
      : first_(std::move(first)), second_(std::move(second)) {
    RUNG_REQUIRE(entries() <= 8, "{} entries", entries());
    p = first_->p;
    accumulator = first_->accumulator;
    entry_bits = first_->entry_bits;
    complete = first_->complete && second_->complete;
    line = part = fmt::format("heads({}:1,{}:1)", first_->part, second_->part);
  }
  int entries() const override { return first_->entries() + second_->entries(); }
  int actions() const override { return first_->actions() * second_->actions(); }
  CellState step(const CellState& before, int action, std::int64_t t) const override {
    return both(before, action, t, false);
  }
  CellState read(const CellState& before, int action, std::int64_t t) const override {
    return both(before, action, t, true);
  }

 private:
  CellState both(const CellState& before, int action, std::int64_t t, bool reading) const {
    CellState one{}, two{};
    const auto split = static_cast<std::size_t>(first_->entries()), all = static_cast<std::size_t>(entries());
    std::copy(before.begin(), before.begin() + split, one.begin());
    std::copy(before.begin() + split, before.begin() + all, two.begin());
    const int left = action / second_->actions(), right = action % second_->actions();
    one = reading ? first_->read(one, left, t) : first_->step(one, left, t);
    two = reading ? second_->read(two, right, t) : second_->step(two, right, t);
    CellState after{};
    std::copy(one.begin(), one.begin() + split, after.begin());
    std::copy(two.begin(), two.begin() + (all - split), after.begin() + split);
    return after;
  }

  std::shared_ptr<const Cell> first_, second_;
};

class SoftmaxCell final : public Cell {
 public:
  explicit SoftmaxCell(const SoftmaxShape& shape) : shape_(shape) {
    p = shape.p;
    line = "full(heads=1,dim=1,vdim=1)";
    part = "full(dim=1,vdim=1)";
    RUNG_REQUIRE(p == 2 && static_cast<int>(shape.table.size()) == score_count(p), "p={}, {} weights", p,
                 shape.table.size());
    written_ = numbers_of(p, 2);
  }
  int entries() const override { return 8; }  // numerator and denominator of every query of two bits
  int actions() const override { return static_cast<int>(written_.size()); }
  int reading_actions() const override { return actions() * kQueries; }
  CellState step(const CellState& before, int action, std::int64_t) const override {
    CellState after = before;
    const auto& kv = written_[static_cast<std::size_t>(action % actions())];
    for (int i = 0; i < kQueries; ++i) {
      const int weight = weight_of((i + kLowestQuery) * static_cast<int>(kv[0]));
      auto& num = after[static_cast<std::size_t>(2 * i)];
      auto& den = after[static_cast<std::size_t>(2 * i + 1)];
      num = static_cast<std::int16_t>(num + weight * kv[1]);
      den = static_cast<std::int16_t>(den + weight);
    }
    return after;
  }
  CellState read(const CellState& before, int action, std::int64_t t) const override {
    const CellState after = step(before, action, t);
    const auto query = static_cast<std::size_t>(action / actions());
    const std::int64_t num = after[2 * query], den = after[2 * query + 1];
    CellState seen{};
    if (shape_.sums) {
      seen[0] = static_cast<std::int16_t>(num);
      seen[1] = static_cast<std::int16_t>(den);
      return seen;
    }
    if (den == 0) return seen;
    const std::int64_t twice = 2 * shape_.scale * num + den;
    const std::int64_t quotient = twice >= 0 ? twice / (2 * den) : -((-twice + 2 * den - 1) / (2 * den));
    seen[0] = static_cast<std::int16_t>(cell_sat(quotient, p));
    return seen;
  }
  std::vector<Channel> channels() const override { return {{"q", 1}, {"k", 1}, {"v", 1}}; }
  std::vector<std::int64_t> row(int action) const override {
    const auto& kv = written_[static_cast<std::size_t>(action % actions())];
    return {action / actions() + kLowestQuery, kv[0], kv[1]};
  }
  void furnish(HandMade& layer) const override {
    layer.table("score", lowest_score(p), Numbers(shape_.table.begin(), shape_.table.end()));
    layer.scalar("value.scale", shape_.scale);
  }
  bool reads_output() const override { return true; }

 private:
  static constexpr int kQueries = 4, kLowestQuery = -2;
  int weight_of(int score) const { return shape_.table[static_cast<std::size_t>(score - lowest_score(p))]; }

  SoftmaxShape shape_;
  std::vector<std::vector<std::int64_t>> written_;
};

}  // namespace

std::string Cell::asked() const {
  return acc.empty() ? line : line.substr(0, line.size() - 1) + "," + acc + ")";
}
std::vector<std::int64_t> Cell::row(int) const { return {}; }
void Cell::furnish(HandMade&) const {}

std::unique_ptr<Cell> linear_cell(const LinearShape& shape) { return std::make_unique<LinearCell>(shape); }
std::unique_ptr<Cell> gated_cell(const GatedShape& shape) { return std::make_unique<GatedCell>(shape); }
std::unique_ptr<Cell> buffer_cell(BufferKind kind, int p, int reach) {
  return std::make_unique<BufferCell>(kind, p, reach);
}
std::unique_ptr<Cell> log_linear_cell(int p) { return std::make_unique<LogLinearCell>(p); }
std::unique_ptr<Cell> beside(std::shared_ptr<const Cell> first, std::shared_ptr<const Cell> second) {
  return std::make_unique<BesideCell>(std::move(first), std::move(second));
}
std::unique_ptr<Cell> softmax_cell(const SoftmaxShape& shape) { return std::make_unique<SoftmaxCell>(shape); }

// The products of two numbers of p bits: from -2^(p-1) (2^(p-1) - 1) to 4^(p-1).
int lowest_score(int p) { return -(1 << (p - 1)) * ((1 << (p - 1)) - 1); }
int score_count(int p) { return (1 << (2 * p - 2)) - lowest_score(p) + 1; }

}  // namespace rung
