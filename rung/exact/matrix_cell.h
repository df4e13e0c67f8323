// Recurrences whose state is a matrix per head: linear attention, SSD (mamba2), delta and gated delta. A cell
// knows how one token changes a state and how a state is read; MatrixRecurrence runs one state, LogLinear a
// bucket of them.
//
//   update(S, token, true)   the recurrence itself
//   update(S, token, false)  what the token does to a state it does not write to (decay, erasure): v = 0
//   read(S, token, sums)     the exact product-sums Σ_c S[r][c] q[c], before shift and rounding
//
// Log-linear attention builds on the identity update(S, token, true) = update(S, token, false) + fresh state,
// which holds without rounding; with rounding the bucket rule itself is the definition.
#pragma once

#include <memory>
#include <vector>

#include "rung/exact/projection.h"

namespace rung {

template <class A>
class MatrixCell {
 public:
  using Value = typename A::Value;
  using Wide = typename A::Wide;

  explicit MatrixCell(const MixerContext<A>& context)
      : shape(context.shape),
        arithmetic(context.arithmetic),
        projection(context.arithmetic),
        input_bits(context.input_bits) {
    read_shift = context.source.shift("read.shift");
    output = context.source.width("y");
    state_site = context.source.site("state");
  }
  virtual ~MatrixCell() = default;

  virtual std::int64_t state_size() const = 0;  // numbers, all heads
  virtual void update(Value* state, const Value* channels, bool with_value) const = 0;
  virtual void read(const Value* state, const Value* channels, Wide* sums) const = 0;
  // The layer's output from one state; the default is rsh(sum, read.shift).
  virtual void finish(const Value* state, const Value* channels, Value* y) const {
    std::vector<Wide> sums(static_cast<std::size_t>(shape.heads * shape.value_dim));
    read(state, channels, sums.data());
    for (std::size_t i = 0; i < sums.size(); ++i) y[i] = arithmetic.narrow(sums[i], read_shift, output);
  }
  // The same at the last of `count` tokens, from the channels of all of them and without a state.
  virtual ParallelForm parallel_form() const { return ParallelForm::none; }
  virtual void finish_parallel(const Value*, std::int64_t, Value*) const {
    RUNG_REQUIRE(false, "this cell has no parallel form");
  }
  // Tells the observer of mode Q what a state holds.
  virtual void watch(const Value* state) const {
    if (state_site >= 0)
      for (std::int64_t i = 0; i < state_size(); ++i) arithmetic.watch(state_site, state[i]);
  }
  virtual int sum_bits() const = 0;
  // Bits of one state entry.
  virtual int entry_bits() const { return arithmetic.accumulator_bits; }

  const MixerShape shape;
  const A arithmetic;
  Projection<A> projection;
  int input_bits;
  int read_shift = 0, state_site = -1;
  Width output;
};

template <class A>
class MatrixRecurrence final : public RecurrentMixer<A> {
 public:
  using Value = typename A::Value;
  explicit MatrixRecurrence(std::unique_ptr<MatrixCell<A>> cell) : cell_(std::move(cell)) {}

  struct State final : MixerState<A> {
    typename Projection<A>::Buffer buffer;
    std::vector<Value> matrix;
    void append_numbers(std::vector<Value>& out) const override {
      out.insert(out.end(), matrix.begin(), matrix.end());
      out.insert(out.end(), buffer.earlier.begin(), buffer.earlier.end());
    }
  };
  std::int64_t output_width() const override { return cell_->shape.heads * cell_->shape.value_dim; }
  int sum_bits() const override {
    return std::max(cell_->projection.sum_bits(cell_->input_bits), cell_->sum_bits());
  }
  std::unique_ptr<MixerState<A>> start() const override {
    auto state = std::make_unique<State>();
    state->buffer = cell_->projection.start();
    state->matrix.assign(static_cast<std::size_t>(cell_->state_size()), Value{0});
    return state;
  }
  void step(MixerState<A>& generic, const Value* x, Value* y) const override {
    auto& state = static_cast<State&>(generic);
    std::vector<Value> channels(static_cast<std::size_t>(cell_->projection.channels()));
    cell_->projection.step(state.buffer, x, channels.data());
    cell_->update(state.matrix.data(), channels.data(), true);
    cell_->watch(state.matrix.data());
    if (y) cell_->finish(state.matrix.data(), channels.data(), y);
  }
  ParallelForm parallel_form() const override { return cell_->parallel_form(); }
  void forward_parallel(const Rows<Value>& x, std::span<const std::int64_t> wanted, Value* y) const override {
    if (wanted.empty()) return;
    const std::int64_t count = wanted.back() + 1;
    std::vector<Value> channels(static_cast<std::size_t>(count * cell_->projection.channels()));
    cell_->projection.read(x, 0, count, channels.data());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      cell_->finish_parallel(channels.data(), wanted[i] + 1,
                             y + static_cast<std::int64_t>(i) * output_width());
  }
  std::vector<int> state_widths(std::int64_t) const override {
    std::vector<int> widths(static_cast<std::size_t>(cell_->state_size()), cell_->entry_bits());
    const auto buffer = cell_->projection.buffer_widths();
    widths.insert(widths.end(), buffer.begin(), buffer.end());
    return widths;
  }
  std::unique_ptr<MixerState<A>> restore(std::span<const Value> numbers, std::int64_t t) const override {
    RUNG_REQUIRE(numbers.size() == state_widths(t).size(), "{} numbers of a state of {}", numbers.size(),
                 state_widths(t).size());
    auto state = std::make_unique<State>();
    state->matrix.assign(numbers.begin(), numbers.begin() + cell_->state_size());
    state->buffer.earlier.assign(numbers.begin() + cell_->state_size(), numbers.end());
    return state;
  }

  const MatrixCell<A>& cell() const { return *cell_; }

 private:
  std::unique_ptr<MatrixCell<A>> cell_;
};

// One file each in mixers/.
template <class A>
std::unique_ptr<MatrixCell<A>> make_linear_cell(const MixerContext<A>& context, bool normalised);
template <class A>
std::unique_ptr<MatrixCell<A>> make_mamba2_cell(const MixerContext<A>& context);
template <class A>
std::unique_ptr<MatrixCell<A>> make_delta_cell(const MixerContext<A>& context, bool gated);

}  // namespace rung

#define RUNG_INSTANTIATE_CELL(make, ...)                                                             \
  template std::unique_ptr<MatrixCell<Exact64>> make(const MixerContext<Exact64>&, ##__VA_ARGS__);   \
  template std::unique_ptr<MatrixCell<Exact128>> make(const MixerContext<Exact128>&, ##__VA_ARGS__); \
  template std::unique_ptr<MatrixCell<RealArithmetic>> make(const MixerContext<RealArithmetic>&,     \
                                                            ##__VA_ARGS__)
