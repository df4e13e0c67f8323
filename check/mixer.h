// What a layer's mixer is to the checker, and the pieces that several mixers are made of. All of it stands for both
// arithmetics, N = Integers and N = Intervals (arithmetic.h).
//
// A mixer sees rows one after another and answers for a position that it has seen. In a decoder see(u_t)
// and answer(t) alternate; in an encoder all rows are seen before the first answer.
#pragma once

#include <memory>
#include <optional>

#include "check/arithmetic.h"

namespace rung_check {

// rows × cols, docs/weights.md: sat(rsh(weight x + bias, shift), bits).
template <class N>
struct Map {
  std::int64_t rows = 0, cols = 0, shift = 0, bits = 0;
  Weights<N> weight, bias;
  // The columns of the weights that are not 0, row by row; row r has those from starts[r] to starts[r + 1].
  std::vector<std::uint32_t> columns;
  std::vector<std::size_t> starts{0};

  Map() = default;
  // `sums_only`: weight and bias alone, where nothing asks for a rounded row.
  Map(const Part<N>& part, const std::string& name, std::int64_t rows, std::int64_t cols,
      bool sums_only = false);
  Sum<N> sum(std::int64_t row, const Numbers<N>& x) const;       // weight x + bias, not rounded
  Sum<N> wide_sum(std::int64_t row, const Numbers<N>& x) const;  // of numbers of up to 62 bits
  Numbers<N> operator()(const Numbers<N>& x, Budget& budget) const;
};

// What a later token can depend on: the numbers in the order of docs/certificate_v1.md, and how many bits
// they have.
template <class N>
struct StateOf {
  Numbers<N> numbers;
  std::int64_t bits = 0;
  void append(const Numbers<N>& more, std::int64_t width) {  // width: bits of each
    numbers.insert(numbers.end(), more.begin(), more.end());
    bits += static_cast<std::int64_t>(more.size()) * width;
  }
};
using State = StateOf<Integers>;

// A model's memory: the numbers of every mixer that has one, in the order of its state; parts of heads(...)
// in order.
template <class N>
using MemoryOf = std::vector<Numbers<N>>;
using Memory = MemoryOf<Integers>;

// Maps side by side, with the short convolution over those that have one.
template <class N>
class Channels {
 public:
  Channels(const Part<N>& part, std::int64_t taps) : part_(part), taps_(taps) {}
  // The map's rows become the next channels.
  void add(const std::string& name, std::int64_t rows, bool convolved = true);
  // The rows of maps [first, last) go through a function, behind the convolution; `word` none: they do not.
  void activate(const std::string& name, const std::string& word, std::size_t first, std::size_t last);
  void finish(bool bias = false);  // after the last add; `bias`: the convolution has one
  void reset();
  Numbers<N> next(const Numbers<N>& u);
  std::int64_t offset(std::size_t map) const { return offsets_[map]; }
  std::int64_t bits(std::size_t map) const {
    return taps_ > 0 && map < convolved_maps_ ? bits_ : maps_[map].bits;
  }
  // Channel after channel, the newest first.
  void state(StateOf<N>& out) const;
  std::size_t buffered() const;  // numbers that state() appends
  // Takes buffered() numbers back. REQUIRES that many from `numbers` on.
  void recall(const Number<N>* numbers);

 private:
  Part<N> part_;
  std::vector<Map<N>> maps_;
  Row offsets_;
  Weights<N> weight_, bias_;
  std::int64_t taps_, channels_ = 0, convolved_ = 0, shift_ = 0, bits_ = 0;
  std::size_t convolved_maps_ = 0;
  std::optional<typename N::Function> function_;
  struct Activation {
    std::size_t first, last;  // maps
    typename N::Function function;
    std::int64_t bits;
  };
  std::vector<Activation> activations_;
  std::vector<Numbers<N>> earlier_;  // per convolved channel, the newest first
};

// From what a recurrence read to the layer's output: gate and norm of a released form, in its order.
template <class N>
class OutputStage {
 public:
  // `gain` numbers of ynorm.gain repeat along the row; `group` are normalised together.
  OutputStage(const Shape& shape, const Part<N>& part, std::int64_t gain, std::int64_t group);
  bool gated() const { return gate_.has_value(); }
  // `z`: the gate's channels, or null.
  Numbers<N> operator()(const Sums<N>& read, const Number<N>* z) const;

 private:
  void gate(Numbers<N>& o, const Number<N>* z) const;
  void norm(Numbers<N>& o) const;

  std::string norm_;
  std::optional<typename N::Function> gate_;
  Weights<N> gain_;
  Length<N> length_;
  std::int64_t group_, y_bits_, read_bits_, gated_shift_ = 0, gated_bits_ = 0;
};

template <class N>
class Mixer {
 public:
  virtual ~Mixer() = default;
  virtual void reset() = 0;
  virtual void see(const Numbers<N>& u) = 0;
  virtual Numbers<N> answer(std::int64_t position) = 0;
  // Rejected where the state grows with the prompt. `positions`: how many have been seen.
  virtual void state(StateOf<N>& out, std::int64_t positions) const;
  // One row more, or one a part; and the same taken back, as if the mixer had seen what led there. The
  // last row seen is answered by last(). Rejected where the memory grows with the prompt.
  virtual void remember(MemoryOf<N>& out) const;
  virtual void recall(const MemoryOf<N>& memory, std::size_t& next);
  virtual Numbers<N> last() { return answer(0); }
};

// nullptr for `none`. Malformed: a mixer that cannot be evaluated.
template <class N>
std::unique_ptr<Mixer<N>> make_mixer(const Shape& shape, const Part<N>& part);
// full, topk, sparse; nullptr for any other word.
template <class N>
std::unique_ptr<Mixer<N>> make_attention(const Shape& shape, const Part<N>& part);
// linear, mamba, mamba2, delta, gdelta, loglinear, rnn, gru, conv, identity; nullptr for any other word.
template <class N>
std::unique_ptr<Mixer<N>> make_recurrence(const Shape& shape, const Part<N>& part);
// Those of them that have no matrix: mamba, rnn, gru, conv, identity.
template <class N>
std::unique_ptr<Mixer<N>> make_row_recurrence(const Shape& shape, const Part<N>& part);

// The next row of a memory that is handed back.
template <class Rows>
const auto& next_row(const Rows& memory, std::size_t& next) {
  if (next >= memory.size()) throw Rejected("a memory has fewer rows than the model has mixers");
  return memory[next++];
}

// The sparse layer of a sparse-pair certificate.
class SparseView {
 public:
  virtual ~SparseView() = default;
  virtual const Row& compressed_key(std::int64_t block) const = 0;
  virtual const Row& compressed_value(std::int64_t block) const = 0;
  virtual std::vector<Row> selected(std::int64_t position) const = 0;  // per group, increasing
  virtual std::int64_t message_bits() const = 0;
};
// The partial sums of a causal full layer, for the counting of a forced fooling pair.
class FullView {
 public:
  virtual ~FullView() = default;
  // H(dv·p_num + p_den) for N summed tokens.
  virtual Int partial_sum_bits(std::int64_t tokens) const = 0;
};

}  // namespace rung_check
