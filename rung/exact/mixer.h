// What every mixer must offer: outputs for a whole prompt, and the same numbers token by token.
//
// Invariant (tested for every causal mixer): forward() over a prompt and step() over its positions give the
// same numbers, bit for bit in mode X. The state of step() is everything that a later token can depend on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rung/exact/arithmetic.h"
#include "rung/exact/tensor_source.h"
#include "rung/spec/architecture.h"

namespace rung {

// The input rows of a layer, produced on demand, so that one layer over a million tokens needs no copy of
// them.
template <class Value>
class Rows {
 public:
  virtual ~Rows() = default;
  virtual std::int64_t count() const = 0;
  virtual std::int64_t width() const = 0;
  // Writes rows [begin, end) to out, row-major. Callable from several threads.
  virtual void read(std::int64_t begin, std::int64_t end, Value* out) const = 0;
};

// Rows followed by one more. REQUIRES both outlive it.
template <class Value>
class ExtendedRows final : public Rows<Value> {
 public:
  ExtendedRows(const Rows<Value>& prefix, const Value* last) : prefix_(prefix), last_(last) {}
  std::int64_t count() const override { return prefix_.count() + 1; }
  std::int64_t width() const override { return prefix_.width(); }
  void read(std::int64_t begin, std::int64_t end, Value* out) const override {
    const std::int64_t whole = std::min(end, prefix_.count());
    if (begin < whole) prefix_.read(begin, whole, out);
    if (end > prefix_.count()) std::copy_n(last_, width(), out + (prefix_.count() - begin) * width());
  }

 private:
  const Rows<Value>& prefix_;
  const Value* last_;
};

// What a mixer stores and offers depends on its arithmetic through the stored numbers alone, so both widths
// of exact sums share one type: MixerOf<std::int64_t>.
template <class Number>
struct StateOf {
  virtual ~StateOf() = default;
  // Appends the stored numbers in a fixed order: recurrent state, convolution buffer, or key/value cache.
  virtual void append_numbers(std::vector<Number>& out) const = 0;
};
template <class A>
using MixerState = StateOf<typename A::Value>;

// Whether a recurrence can also be run without a state, every earlier token weighed at once (linear attention,
// mode X), and whether that gives the same numbers.
enum class ParallelForm {
  none,
  same,     // sums are exact, or wrap: equal bit for bit
  rounded,  // the state is rounded at every step: other numbers, and the recurrence alone is the model
};

class SplitSoftmax;  // split_mixer.h: a mixer whose tokens are spread over players
template <class Number>
class SplitSelection;

template <class Number>
class MixerOf {
 public:
  using Value = Number;
  using State = StateOf<Number>;
  virtual ~MixerOf() = default;

  virtual std::int64_t output_width() const = 0;
  // Numbers of a position that a later layer reads beside its own input (RWKV-7's first values): how many this mixer
  // writes behind its output row, and how many it reads behind its input row. Mode Q alone.
  virtual std::int64_t published() const { return 0; }
  virtual std::int64_t consumed() const { return 0; }
  // y row i is the output at position wanted[i]; wanted is increasing.
  virtual void forward(const Rows<Value>& x, std::span<const std::int64_t> wanted, Value* y) const = 0;
  // Many continuations of one prefix: output row i is the output at position prefix.count() when row i of
  // `last` stands there. The plain composition, one forward a row; a mixer that can share the prefix
  // overrides it.
  virtual void forward_variants(const Rows<Value>& prefix, const Value* last, std::int64_t count,
                                Value* y) const {
    const std::int64_t position = prefix.count();
    for (std::int64_t i = 0; i < count; ++i)
      forward(ExtendedRows<Value>(prefix, last + i * prefix.width()), std::span(&position, 1),
              y + i * (output_width() + published()));
  }
  virtual std::unique_ptr<State> start() const = 0;
  // Consumes one position. y may be null when the output is not wanted.
  virtual void step(State& state, const Value* x, Value* y) const = 0;
  // Bits (sign included) of the largest product-sum that this mixer forms in A::Wide; above 62 the model
  // needs Int128.
  virtual int sum_bits() const = 0;

  // Handing a state over (mode X). The widths in bits, sign included, of what append_numbers() writes after t
  // positions; and the state that wrote these numbers then. ENSURES restore(numbers of a state after t, t)
  // continues as that state. Mixers that select among all tokens have no state to hand over (selection() is
  // their way).
  virtual std::vector<int> state_widths(std::int64_t) const {
    RUNG_REQUIRE(false, "this mixer's state is not handed over");
  }
  virtual std::unique_ptr<State> restore(std::span<const Value>, std::int64_t) const {
    RUNG_REQUIRE(false, "this mixer's state is not handed over");
  }
  // The form without a state, and its outputs, as forward() gives the recurrence's. REQUIRES a form.
  virtual ParallelForm parallel_form() const { return ParallelForm::none; }
  virtual void forward_parallel(const Rows<Value>&, std::span<const std::int64_t>, Value*) const {
    RUNG_REQUIRE(false, "this mixer has no parallel form");
  }
  // Mixers that stand side by side in this one; this one alone unless it is heads(...).
  virtual std::vector<const MixerOf*> parts() const { return {this}; }
  // Not null: causal attention over every earlier token, as partial sums (mode X).
  virtual const SplitSoftmax* softmax() const { return nullptr; }
  // Not null: attention over selected blocks or tokens.
  virtual const SplitSelection<Number>* selection() const { return nullptr; }
};
template <class A>
using MixerFor = MixerOf<typename A::Value>;
using ExactMixer = MixerOf<std::int64_t>;
using ExactState = StateOf<std::int64_t>;

// A causal mixer that is defined by its recurrence: forward() is step() over the prompt.
template <class A>
class RecurrentMixer : public MixerFor<A> {
 public:
  using Value = typename A::Value;
  void forward(const Rows<Value>& x, std::span<const std::int64_t> wanted, Value* y) const override {
    if (wanted.empty()) return;
    constexpr std::int64_t kTile = 256;
    auto state = this->start();
    std::vector<Value> tile(static_cast<std::size_t>(kTile * x.width()));
    std::size_t next = 0;
    const std::int64_t end = wanted.back() + 1;
    for (std::int64_t begin = 0; begin < end; begin += kTile) {
      const std::int64_t stop = std::min(end, begin + kTile);
      x.read(begin, stop, tile.data());
      for (std::int64_t t = begin; t < stop; ++t) {
        const bool want = wanted[next] == t;
        this->step(*state, tile.data() + (t - begin) * x.width(),
                   want ? y + static_cast<std::int64_t>(next) * (this->output_width() + this->published())
                        : nullptr);
        next += want;
      }
    }
  }
};

// What a mixer is made from. A mixer that cannot run exactly at these sizes says so through source.refuse().
template <class A>
struct MixerContext {
  const MixerShape& shape;
  std::int64_t width = 0;  // of the layer's input
  bool causal = true;      // false: encoder
  A arithmetic;
  std::int64_t positions = 0;  // the longest prompt that will be run
  int input_bits = 16;         // of the layer's input
  mutable TensorSource source;
};

// The explicit list of mixers (mixer_list.cc). Check context.source.error() afterwards; null for `none`.
template <class A>
std::unique_ptr<MixerFor<A>> make_mixer_for(const MixerContext<A>& context);

}  // namespace rung

// In each mixer's file: the three arithmetics that exist.
#define RUNG_INSTANTIATE_MIXER(make)                                                \
  template std::unique_ptr<MixerFor<Exact64>> make(const MixerContext<Exact64>&);   \
  template std::unique_ptr<MixerFor<Exact128>> make(const MixerContext<Exact128>&); \
  template std::unique_ptr<MixerFor<RealArithmetic>> make(const MixerContext<RealArithmetic>&)
