// Attention whose tokens are spread over players, each the owner of consecutive positions. Nothing here is
// computed differently from forward(): sums of mode X are exact integers, so they may be formed where the
// keys are and added where the query is (Chen, Peng, Wu 2412.02975; docs/protocol.md).
//
//   SplitSoftmax    full attention: an owner's tokens contribute (num, den) per query and head
//   SplitSelection  sparse and topk: an owner's tokens contribute a summary (a compressed block, an index
//   key); a query
//                   that selects them then reads their keys and values
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rung/exact/mixer.h"
#include "rung/exact/softmax_kernel.h"

namespace rung {

// The tokens of one player in one attention layer.
class AttentionSegment {
 public:
  virtual ~AttentionSegment() = default;
  // Takes the next token's input row.
  virtual void append(const std::int64_t* u) = 0;
  virtual std::int64_t size() const = 0;
  // All heads' queries of own token i, side by side. REQUIRES i < size().
  virtual std::span<const std::int64_t> query(std::int64_t i) const = 0;
  // One query's sums, a head after the other, over the first `tokens` own tokens.
  virtual std::vector<SoftmaxSums> sums(std::span<const std::int64_t> query, std::int64_t tokens) const = 0;
  // The short convolution's buffers after the last token: what the next player must be told (front_widths()).
  virtual std::vector<std::int64_t> front() const = 0;
};

class SplitSoftmax {
 public:
  struct Sizes {
    std::int64_t heads = 0, key_dim = 0, value_dim = 0;
    int query_bits = 0;   // of a query's number
    int value_bits = 0;   // p_v
    int weight_bits = 0;  // bits of the largest entry of the exponential table, E_max (no sign)
  };
  virtual ~SplitSoftmax() = default;
  virtual Sizes sizes() const = 0;
  // Bits of the convolution's buffers; empty without one.
  virtual std::vector<int> front_widths() const = 0;
  // A player whose first token follows these buffers (all zero at the start). The mixer outlives the segment.
  virtual std::unique_ptr<AttentionSegment> open(std::span<const std::int64_t> front) const = 0;
  // The rounded outputs of all heads from complete sums. REQUIRES one entry a head.
  virtual void finish(std::span<const SoftmaxSums> sums, std::int64_t* y) const = 0;
};

// A unit is a block of B tokens (sparse) or one token (topk). States are the mixer's own: step() reads a
// state that knows every summary of complete units and the tokens that wanted() asks for as if it knew all
// tokens.
template <class Number>
class SplitSelection {
 public:
  using State = StateOf<Number>;
  virtual ~SplitSelection() = default;
  virtual std::int64_t unit() const = 0;  // tokens of a unit
  // Bits of a unit's summary, of a token's key and value, and of what the player that goes on at position t
  // must be told about the tokens right before t: rows of an incomplete block, keys and values of that block
  // and of the window.
  virtual std::vector<int> summary_widths() const = 0;
  virtual std::vector<int> token_widths() const = 0;
  virtual std::vector<int> front_widths(std::int64_t t) const = 0;
  virtual std::int64_t front_tokens(
      std::int64_t t) const = 0;  // tokens right before t whose keys and values the front has
  virtual std::vector<Number> front(const State& state) const = 0;
  // The state at t of a player that knows the front alone.
  virtual std::unique_ptr<State> open(std::span<const Number> front, std::int64_t t) const = 0;

  // REQUIRES a complete unit, and a token, that the state knows.
  virtual std::vector<Number> summary(const State& state, std::int64_t unit) const = 0;
  virtual std::vector<Number> token(const State& state, std::int64_t t) const = 0;
  // REQUIRES units and tokens before the position that the state was opened at.
  virtual void put_summary(State& state, std::int64_t unit, std::span<const Number> numbers) const = 0;
  virtual void put_token(State& state, std::int64_t t, std::span<const Number> numbers) const = 0;
  // The units, increasing, that the next token reads when its input row is u. REQUIRES every summary known.
  virtual std::vector<std::int64_t> wanted(const State& state, const Number* u) const = 0;
  // The same, one list for every group of heads that selects on its own.
  virtual std::vector<std::vector<std::int64_t>> wanted_by_group(const State& state, const Number* u) const {
    return {wanted(state, u)};
  }
};

}  // namespace rung
