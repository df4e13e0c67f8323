// The smallest layers as machines over small integers: what one token does to the state, for every key,
// value, gate and query of p bits. Written from docs/weights.md; tests run what a search finds on the exact
// machine.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "rung/spec/weights.h"

namespace rung {

using CellState = std::array<std::int16_t, 8>;

class Cell {
 public:
  virtual ~Cell() = default;

  // The layer's line, as a file has it, and as a part of heads(...); `acc` is how its sums are kept, which
  // a file says elsewhere.
  std::string line, part, acc;
  std::string asked() const;
  int p = 2;
  Accumulator accumulator = Accumulator::exact;
  std::optional<std::int64_t> entry_bits;  // width of a state entry; absent: p, or as wide as exact sums grow
  // Every choice of p-bit keys, values and gates is among the actions: where none solves a task, none
  // exists.
  bool complete = false;

  virtual int entries() const = 0;  // numbers of the state
  virtual int actions() const = 0;
  virtual int reading_actions() const { return actions(); }  // at a token where an answer is read
  // State after the token at position t, and what an answer there may depend on beside the token.
  virtual CellState step(const CellState& before, int action, std::int64_t t) const = 0;
  virtual CellState read(const CellState& before, int action, std::int64_t t) const {
    return step(before, action, t);
  }

  // For the exact machine: the channels' names with their rows, the numbers of one action, and all else
  // that the layer needs. Empty channels: the cell is compared with no machine.
  struct Channel {
    std::string name;
    std::int64_t rows = 1;
  };
  virtual std::vector<Channel> channels() const { return {}; }
  virtual std::vector<std::int64_t> row(int action) const;
  virtual void furnish(class HandMade& layer) const;
  virtual bool reads_output() const { return false; }  // compare the layer's output in place of its state
};

enum class LinearRead { unnormalised, normalised };

struct LinearShape {
  int p = 2, dim = 1, vdim = 1;
  bool relu = false;  // else the feature is the identity
  LinearRead read = LinearRead::unnormalised;
  Accumulator accumulator = Accumulator::exact;
  int bits = 2;   // of an entry: wrap, round
  int shift = 0;  // round: of an update
};
// REQUIRES at most 8 state entries.
std::unique_ptr<Cell> linear_cell(const LinearShape& shape);

struct GatedShape {
  enum class Kind { delta, gdelta, mamba2 };
  Kind kind = Kind::delta;
  int p = 2, dim = 1, vdim = 1;
  bool wrap = false;
  int bits = 2;   // of a state entry
  int shift = 0;  // of the decay; gates run over 0 .. 2^shift
};
std::unique_ptr<Cell> gated_cell(const GatedShape& shape);

// Windowed (or chunked) softmax of `reach` tokens and one head, and a convolution of `reach` taps: the
// state is what the last reach - 1 tokens wrote.
enum class BufferKind { window, chunk, conv };
std::unique_ptr<Cell> buffer_cell(BufferKind kind, int p, int reach);

// Log-linear attention over unnormalised linear attention, one head, dim = vdim = 1. REQUIRES prompts of at
// most 64 tokens.
std::unique_ptr<Cell> log_linear_cell(int p);

// Two cells side by side: heads(...) of one layer. REQUIRES room for both states.
std::unique_ptr<Cell> beside(std::shared_ptr<const Cell> first, std::shared_ptr<const Cell> second);

// One softmax head, dim = vdim = 1, that reads at the last position only. Weights of a score are `table`,
// indexed from the lowest score of p-bit numbers. What is read is the rounded quotient of `scale` times the
// values (p bits), or, with `sums`, numerator and denominator themselves: more than any such head hands
// over.
struct SoftmaxShape {
  int p = 2;
  std::vector<int> table;
  int scale = 1;
  bool sums = false;
};
std::unique_ptr<Cell> softmax_cell(const SoftmaxShape& shape);
int lowest_score(int p), score_count(int p);

}  // namespace rung
