// Recurrences whose state is a matrix per head: linear attention, SSD (mamba2), delta and gated delta. A cell
// knows how one token changes a state and how a state is read; MatrixRecurrence runs one state, LogLinear a
// bucket of them.
//
//   update(S, token, true)   the recurrence itself
//   update(S, token, false)  what the token does to a state it does not write to (decay, erasure): v = 0
//   read(S, token, sums)     the exact product-sums Σ_c S[r][c] q[c], before shift and rounding
//   emit(sums, token, y)     the layer's output from such sums: shift, skip, gate and norm as the form has them
//
// Log-linear attention builds on the identity update(S, token, true) = update(S, token, false) + fresh state,
// which holds without rounding; with rounding the bucket rule itself is the definition.
#pragma once

#include <memory>
#include <vector>

#include "rung/exact/entries_mixer.h"

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
    core_site = context.source.site("core");
  }
  virtual ~MatrixCell() = default;

  virtual std::int64_t state_size() const = 0;  // numbers, all heads
  virtual void update(Value* state, const Value* channels, bool with_value) const = 0;
  virtual void read(const Value* state, const Value* channels, Wide* sums) const = 0;
  // The layer's output from one state.
  virtual void finish(const Value* state, const Value* channels, Value* y) const {
    std::vector<Wide> sums(static_cast<std::size_t>(shape.heads * shape.value_dim));
    read(state, channels, sums.data());
    emit(sums, channels, y);
  }
  // sums is used up.
  void emit(std::vector<Wide>& sums, const Value* channels, Value* y) const {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] = arithmetic.rescale(read_scale * sums[i], read_shift);
      arithmetic.watch(core_site, sums[i]);
      if (!skip.empty())
        sums[i] += arithmetic.rescale(Wide(skip[i * skip.size() / sums.size()]) * channels[i], skip_shift);
    }
    form.finish(arithmetic, sums, channels + gate_offset, y);
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
  // Of what emit() forms, from sums of so many bits.
  int emit_bits(int sums) const {
    sums += number_bits(std::vector<Wide>{read_scale}) - 2 + shift_growth(read_shift);
    if (skip.empty()) return std::max(sums, form.sum_bits());
    const int skipped = number_bits(skip) + projection.channel_bits(0, shape.heads * shape.value_dim) +
                        shift_growth(skip_shift);
    return std::max({sums + 1, skipped + 1, form.sum_bits()});
  }
  // Bits of one state entry.
  virtual int entry_bits() const { return arithmetic.accumulator_bits; }

  const MixerShape shape;
  const A arithmetic;
  Projection<A> projection;
  int input_bits;
  int read_shift = 0, skip_shift = 0, state_site = -1, core_site = -1;
  Width output;
  // What a released form has: a factor of what is read, the skip weights of a head or of an output that multiply the
  // first channels (empty: none), and the output stage, whose gate reads the channels from gate_offset on.
  Wide read_scale{1};
  std::vector<Value> skip;
  OutputForm<A> form;
  std::int64_t gate_offset = 0;

 protected:
  // REQUIRES that every other channel is there.
  void read_output_form(const MixerContext<A>& context, std::int64_t gain, std::int64_t group) {
    const std::int64_t outputs = shape.heads * shape.value_dim;
    form = OutputForm<A>(context, outputs, gain, group);
    if (!form.gated()) return;
    gate_offset = projection.channels();
    projection.add(context.source.template map<A>("z", outputs, context.width));
  }
};

template <class A>
class MatrixRecurrence final : public EntriesMixer<A> {
 public:
  using Value = typename A::Value;
  explicit MatrixRecurrence(std::unique_ptr<MatrixCell<A>> cell) : cell_(std::move(cell)) {}

  std::int64_t output_width() const override { return cell_->shape.heads * cell_->shape.value_dim; }
  int sum_bits() const override {
    return std::max(cell_->projection.sum_bits(cell_->input_bits), cell_->sum_bits());
  }
  void step(MixerState<A>& generic, const Value* x, Value* y) const override {
    auto& state = static_cast<typename EntriesMixer<A>::State&>(generic);
    std::vector<Value> channels(static_cast<std::size_t>(cell_->projection.channels()));
    cell_->projection.step(state.buffer, x, channels.data());
    cell_->update(state.entries.data(), channels.data(), true);
    cell_->watch(state.entries.data());
    if (y) cell_->finish(state.entries.data(), channels.data(), y);
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
  const MatrixCell<A>& cell() const { return *cell_; }

 protected:
  std::int64_t entries() const override { return cell_->state_size(); }
  int entry_bits() const override { return cell_->entry_bits(); }
  const Projection<A>* front() const override { return &cell_->projection; }

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
