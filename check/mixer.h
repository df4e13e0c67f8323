// What a layer's mixer is to the checker, and the pieces that several mixers are made of.
//
// A mixer sees rows one after another and answers for a position that it has seen. In a decoder see(u_t)
// and answer(t) alternate; in an encoder all rows are seen before the first answer.
#pragma once

#include <memory>
#include <optional>

#include "check/architecture.h"
#include "check/integer.h"
#include "check/safetensors.h"

namespace rung_check {

// rows × cols, docs/weights.md: sat(rsh(weight x + bias, shift), bits).
struct Map {
  std::int64_t rows = 0, cols = 0, shift = 0, bits = 0;
  Row weight, bias;
  // The columns of the weights that are not 0, row by row; row r has those from starts[r] to starts[r + 1].
  std::vector<std::uint32_t> columns;
  std::vector<std::size_t> starts{0};

  Map() = default;
  // `sums_only`: weight and bias alone, where nothing asks for a rounded row.
  Map(const Source& source, const std::string& name, std::int64_t rows, std::int64_t cols,
      bool sums_only = false);
  Int sum(std::int64_t row, const Row& x) const;  // weight x + bias, not rounded
  Row operator()(const Row& x, Budget& budget) const;
};

struct Table {
  std::int64_t low = 0;
  Row entries;

  Table() = default;
  Table(const Source& source, const std::string& name);
  std::int64_t clip(Int x) const;
  std::int64_t operator()(Int x) const { return entries[static_cast<std::size_t>(clip(x) - low)]; }
};

// What a later token can depend on: the numbers in the order of docs/certificate_v1.md, and how many bits
// they have.
struct State {
  Row numbers;
  std::int64_t bits = 0;
  void append(const Row& more, std::int64_t width);  // width: bits of each
};

// A model's memory: the numbers of every mixer that has one, in the order of `State`; parts of heads(...)
// in order.
using Memory = std::vector<Row>;
// The next row of a memory that is handed back.
const Row& next_row(const Memory& memory, std::size_t& next);

// Maps side by side, with the short convolution over those that have one.
class Channels {
 public:
  Channels(const Source& source, std::int64_t taps);
  // The map's rows become the next channels.
  void add(const std::string& name, std::int64_t rows, std::int64_t cols, bool convolved = true);
  // The rows of maps [first, last) go through a table, behind the convolution.
  void activate(const std::string& name, std::size_t first, std::size_t last);
  void finish(bool bias = false);  // after the last add; `bias`: the convolution has one
  void reset();
  Row next(const Row& u);
  std::int64_t offset(std::size_t map) const { return offsets_[map]; }
  std::int64_t bits(std::size_t map) const {
    return taps_ > 0 && map < convolved_maps_ ? bits_ : maps_[map].bits;
  }
  // Channel after channel, the newest first.
  void state(State& out) const;
  std::size_t buffered() const;  // numbers that state() appends
  // Takes buffered() numbers back. REQUIRES that many from `numbers` on.
  void recall(const std::int64_t* numbers);

 private:
  Source source_;
  std::vector<Map> maps_;
  Row offsets_, weight_;
  std::int64_t taps_, channels_ = 0, convolved_ = 0, shift_ = 0, bits_ = 0;
  std::size_t convolved_maps_ = 0;
  std::optional<Table> table_;
  Row bias_;
  struct Activation {
    std::size_t first, last;  // maps
    Table table;
    std::int64_t bits;
  };
  std::vector<Activation> activations_;
  std::vector<Row> earlier_;  // per convolved channel, the newest first
};

// Brings x to length 2^fraction · gain: isqrt(floor(4^extra · Σ x² / count) + epsilon) is the length.
Row normalised(const Row& x, const Row& gain, std::int64_t count, std::int64_t fraction, std::int64_t extra,
               std::int64_t bits, std::int64_t epsilon = 0);

// From what a recurrence read to the layer's output: gate and norm of a released form, in its order.
class OutputStage {
 public:
  // `gain` numbers of ynorm.gain repeat along the row; `group` are normalised together.
  OutputStage(const Shape& shape, const Source& source, std::int64_t gain, std::int64_t group);
  bool gated() const { return form_.gate != "none"; }
  // `z`: the gate's channels, or null.
  Row operator()(const std::vector<Int>& read, const std::int64_t* z) const;

 private:
  void gate(Row& o, const std::int64_t* z) const;
  void norm(Row& o) const;

  Form form_;
  std::optional<Table> table_;
  Row gain_;
  std::int64_t group_, y_bits_, read_bits_ = 0, gated_shift_ = 0, gated_bits_ = 0, norm_bits_ = 0,
                                fraction_ = 0, extra_ = 0, epsilon_ = 0;
};

// decay=step: a step from a channel, and the decay from it and the head's rate.
class StepDecay {
 public:
  StepDecay(const Source& source, const std::string& name, std::int64_t heads);
  std::int64_t step(std::int64_t channel) const { return step_(channel); }
  std::int64_t decay(std::int64_t step, std::int64_t head) const;

 private:
  Table step_, decay_;
  Row rates_;
  std::int64_t index_shift_;
};

// What every mixer is made from.
struct Context {
  const Architecture& architecture;
  std::string accumulator;  // exact, wrap, round
  std::int64_t width = 0;

  std::int64_t settle(Int x) const {
    return accumulator == "wrap" ? wrap(x, architecture.accumulator_bits)
                                 : sat(x, architecture.accumulator_bits);
  }
};

class Mixer {
 public:
  virtual ~Mixer() = default;
  virtual void reset() = 0;
  virtual void see(const Row& u) = 0;
  virtual Row answer(std::int64_t position) = 0;
  // Rejected where the state grows with the prompt. `positions`: how many have been seen.
  virtual void state(State& out, std::int64_t positions) const;
  // One row more, or one a part; and the same taken back, as if the mixer had seen what led there. The
  // last row seen is answered by last(). Rejected where the memory grows with the prompt.
  virtual void remember(Memory& out) const;
  virtual void recall(const Memory& memory, std::size_t& next);
  virtual Row last() { return answer(0); }
};

std::unique_ptr<Mixer> make_mixer(const Shape& shape, const Context& context, const Source& source);
// full, topk, sparse; nullptr for any other word.
std::unique_ptr<Mixer> make_attention(const Shape& shape, const Context& context, const Source& source);
// linear, mamba, mamba2, delta, gdelta, loglinear, rnn, gru, conv, identity; nullptr for any other word.
std::unique_ptr<Mixer> make_recurrence(const Shape& shape, const Context& context, const Source& source);
// Those of them that have no matrix: mamba, rnn, gru, conv, identity.
std::unique_ptr<Mixer> make_row_recurrence(const Shape& shape, const Context& context, const Source& source);

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
