// A recurrence whose state is a fixed number of entries of one width, and behind them the buffer of its short
// convolution where it has one.
#pragma once

#include "rung/exact/projection.h"

namespace rung {

template <class A>
class EntriesMixer : public RecurrentMixer<A> {
 public:
  using Value = typename A::Value;

  struct State final : MixerState<A> {
    typename Projection<A>::Buffer buffer;
    std::vector<Value> entries;
    void append_numbers(std::vector<Value>& out) const override {
      out.insert(out.end(), entries.begin(), entries.end());
      out.insert(out.end(), buffer.earlier.begin(), buffer.earlier.end());
    }
  };
  std::unique_ptr<MixerState<A>> start() const override {
    auto state = std::make_unique<State>();
    if (front()) state->buffer = front()->start();
    state->entries.assign(static_cast<std::size_t>(entries()), Value{0});
    return state;
  }
  std::vector<int> state_widths(std::int64_t) const override {
    std::vector<int> widths(static_cast<std::size_t>(entries()), entry_bits());
    const auto buffer = front() ? front()->buffer_widths() : std::vector<int>();
    widths.insert(widths.end(), buffer.begin(), buffer.end());
    return widths;
  }
  std::unique_ptr<MixerState<A>> restore(std::span<const Value> numbers, std::int64_t t) const override {
    RUNG_REQUIRE(numbers.size() == state_widths(t).size(), "{} numbers of a state of {}", numbers.size(),
                 state_widths(t).size());
    auto state = std::make_unique<State>();
    state->entries.assign(numbers.begin(), numbers.begin() + entries());
    state->buffer.earlier.assign(numbers.begin() + entries(), numbers.end());
    return state;
  }

 protected:
  virtual std::int64_t entries() const = 0;
  virtual int entry_bits() const = 0;
  virtual const Projection<A>* front() const { return nullptr; }  // what convolves; null: nothing does
};

}  // namespace rung
