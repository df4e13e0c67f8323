// Log-linear attention (Guo et al. 2506.04761): one state per level of a Fenwick tree.
// Before token t > 0 enters, let l be the index of the lowest set bit of t: the states of levels 0..l add up
// into level l+1 (always empty then) and are cleared. Then every live state meets the token without its value
// (decay, erasure), and level 0 becomes the fresh state of token t alone.
//   y_t = rsh(Σ_level λ_t^(level) (S^(level) q_t), read.shift),  λ_t = table or relu of the level channel
// Invariant: at t the live levels are 0 and l+1 for every set bit l of t; level l+1 holds exactly 2^l tokens.
// partition=strong: levels 0 and 1 have room for a token, level l for 2^(l-1); what does not fit goes up. Level l >= 2
// is reached by a carry of 2^(l-2) tokens whenever 2^(l-2) divides t, from t = 2^(l-1) on: with t / 2^(l-2) odd it was
// half full and takes the carry in, else it was empty or full and the two change places. So after t tokens the live
// levels are those with 2^(l-1) <= t.
#include "rung/exact/matrix_cell.h"
#include "rung/spec/mixers.h"

namespace rung {
namespace {

template <class A>
class LogLinear final : public RecurrentMixer<A> {
 public:
  using Value = typename A::Value;
  using Wide = typename A::Wide;

  LogLinear(const MixerContext<A>& context, std::unique_ptr<MatrixCell<A>> cell) : cell_(std::move(cell)) {
    auto& source = context.source;
    // One λ per level: a longer prompt would have more levels than the file has weights.
    levels_ = cell_->shape.levels;
    if (levels_ < 1 || loglinear_levels(context.positions) > levels_) {
      source.refuse(fail(ErrorCode::range,
                         "[exact] \"{}\": {} positions need {} log-linear levels; context = {} gives {}",
                         source.prefix(), context.positions, loglinear_levels(context.positions),
                         source.weights().architecture.dimensions.context, levels_));
      return;
    }
    level_ = source.template map<A>("level", cell_->shape.heads * levels_, context.width);
    if (!cell_->shape.form.plain() || source.has_table("level")) table_ = source.table("level", "softplus");
    weight_site_ = source.site("level.act");
    level_bits_ = level_.width().bits;
    if (table_) level_bits_ = std::max(level_bits_, table_->bits());
    input_bits_ = context.input_bits;
  }

  struct State final : MixerState<A> {
    typename Projection<A>::Buffer buffer;
    std::vector<std::vector<Value>> levels;  // empty vector: nothing stored there
    std::int64_t t = 0;
    void append_numbers(std::vector<Value>& out) const override {
      for (const auto& level : levels) out.insert(out.end(), level.begin(), level.end());
      out.insert(out.end(), buffer.earlier.begin(), buffer.earlier.end());
    }
  };
  std::int64_t output_width() const override { return cell_->shape.heads * cell_->shape.value_dim; }
  int sum_bits() const override {
    const int extra = level_bits_ + ceil_lg(static_cast<std::uint64_t>(levels_)) + 1;
    return std::max(
        {cell_->projection.sum_bits(input_bits_), level_.sum_bits(input_bits_), cell_->sum_bits() + extra});
  }
  std::unique_ptr<MixerState<A>> start() const override {
    auto state = std::make_unique<State>();
    state->buffer = cell_->projection.start();
    state->levels.resize(static_cast<std::size_t>(levels_) + 1);
    return state;
  }
  void step(MixerState<A>& generic, const Value* x, Value* y) const override {
    auto& state = static_cast<State&>(generic);
    std::vector<Value> channels(static_cast<std::size_t>(cell_->projection.channels()));
    cell_->projection.step(state.buffer, x, channels.data());
    for (auto& level : state.levels)
      if (!level.empty()) cell_->update(level.data(), channels.data(), false);
    state.levels[0].assign(static_cast<std::size_t>(cell_->state_size()), Value{0});
    cell_->update(state.levels[0].data(), channels.data(), true);
    for (const auto& level : state.levels)
      if (!level.empty()) cell_->watch(level.data());
    if (y) read(state, x, channels.data(), y);
    ++state.t;
    // What position t begins with: done now, so that the state is what a later token depends on, and no more.
    if (cell_->shape.form.strong)
      carry(state);
    else
      merge(state);
  }
  std::vector<int> state_widths(std::int64_t t) const override {
    std::vector<int> widths;
    for (std::size_t level = 0; level <= static_cast<std::size_t>(levels_); ++level)
      if (live(level, t))
        widths.insert(widths.end(), static_cast<std::size_t>(cell_->state_size()), cell_->entry_bits());
    const auto buffer = cell_->projection.buffer_widths();
    widths.insert(widths.end(), buffer.begin(), buffer.end());
    return widths;
  }
  std::unique_ptr<MixerState<A>> restore(std::span<const Value> numbers, std::int64_t t) const override {
    RUNG_REQUIRE(numbers.size() == state_widths(t).size(), "{} numbers of a state of {}", numbers.size(),
                 state_widths(t).size());
    auto state = std::make_unique<State>();
    state->t = t;
    state->levels.resize(static_cast<std::size_t>(levels_) + 1);
    auto from = numbers.begin();
    for (std::size_t level = 0; level < state->levels.size(); ++level)
      if (live(level, t)) {
        state->levels[level].assign(from, from + cell_->state_size());
        from += cell_->state_size();
      }
    state->buffer.earlier.assign(from, numbers.end());
    return state;
  }

 private:
  void merge(State& state) const {
    const auto l = static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(state.t)));
    auto& target = state.levels[l + 1];
    RUNG_REQUIRE(target.empty(), "level {} is occupied at t={}", l + 1, state.t);
    target = std::move(state.levels[0]);
    for (std::size_t level = 1; level <= l; ++level) {
      add(target, state.levels[level]);
      state.levels[level].clear();
    }
    state.levels[0].clear();
  }
  void carry(State& state) const {
    std::vector<Value> carried = std::move(state.levels[0]);
    state.levels[0].clear();
    std::swap(state.levels[1], carried);
    for (std::size_t level = 2; !carried.empty(); ++level) {
      auto& held = state.levels[level];
      if ((state.t >> (level - 2) & 1) == 0) {  // the newer stays
        std::swap(held, carried);
      } else {
        add(held, carried);
        carried.clear();
      }
    }
  }
  void add(std::vector<Value>& target, const std::vector<Value>& more) const {
    for (std::size_t i = 0; i < target.size(); ++i)
      target[i] = cell_->arithmetic.accumulator == Accumulator::exact && linear()
                      ? cell_->arithmetic.add_linear(target[i], more[i], 0)
                      : cell_->arithmetic.settle(typename A::Wide(target[i]) + more[i]);
  }
  // Whether a level holds a state after t tokens, merged: weak, one bucket for each set bit of t.
  bool live(std::size_t level, std::int64_t t) const {
    if (level < 1 || level > 62) return false;
    return cell_->shape.form.strong ? t >> (level - 1) != 0 : (t >> (level - 1) & 1) != 0;
  }
  bool linear() const { return cell_->shape.base == MixerKind::linear; }

  void read(const State& state, const Value* x, const Value* channels, Value* y) const {
    const auto& s = cell_->shape;
    std::vector<Value> lambda(static_cast<std::size_t>(s.heads * levels_));
    level_.apply(cell_->arithmetic, x, lambda.data());
    std::vector<Wide> total(static_cast<std::size_t>(output_width()), Wide{0}), sums(total.size());
    for (std::size_t level = 0; level < state.levels.size(); ++level) {
      if (state.levels[level].empty()) continue;
      cell_->read(state.levels[level].data(), channels, sums.data());
      for (std::int64_t h = 0; h < s.heads; ++h) {
        const Value raw = lambda[static_cast<std::size_t>(h * levels_) + level];
        const Wide weight = table_ ? cell_->arithmetic.table(*table_, raw) : Wide(A::relu(raw));
        cell_->arithmetic.watch(weight_site_, weight);
        for (std::int64_t r = 0; r < s.value_dim; ++r)
          total[static_cast<std::size_t>(h * s.value_dim + r)] +=
              weight * sums[static_cast<std::size_t>(h * s.value_dim + r)];
      }
    }
    cell_->emit(total, channels, y);
  }

  std::unique_ptr<MatrixCell<A>> cell_;
  std::int64_t levels_ = 1;
  LinearMap<A> level_;
  std::optional<Table> table_;
  int level_bits_ = 16, input_bits_ = 16, weight_site_ = -1;
};

}  // namespace

template <class A>
std::unique_ptr<MixerFor<A>> make_log_linear(const MixerContext<A>& context) {
  std::unique_ptr<MatrixCell<A>> cell;
  const MixerKind base = context.shape.base;
  RUNG_REQUIRE(base == MixerKind::linear || base == MixerKind::mamba2 || base == MixerKind::gdelta,
               "log-linear attention over {}", mixer_descriptor(base).name);
  if (base == MixerKind::mamba2)
    cell = make_mamba2_cell(context);
  else if (base == MixerKind::gdelta)
    cell = make_delta_cell(context, true);
  else
    cell = make_linear_cell(context, false);
  return std::make_unique<LogLinear<A>>(context, std::move(cell));
}
RUNG_INSTANTIATE_MIXER(make_log_linear);

}  // namespace rung
