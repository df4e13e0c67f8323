// An architecture as the theory reads it: a word over F (full attention) and R (recurrence), each letter with
// the bits that the counting arguments charge it.
//
// What counts as R: every causal recurrence with its stored bits; windowed and chunked attention;
// convolutions and token shifts, also inside a layer on q, k, v (the layer is then "R F"); log-linear
// attention with all its live states. What counts as F: softmax attention over the whole past; block-sparse
// attention too, but only as a sketch. Head-wise layers (F∥R) are one F with the recurrent heads' state
// beside it. Token selection and compressed caches are letters that no theorem on words covers. Layers without a mixer
// leave no letter. REQUIRES of every theorem on words: apart from its mixer a layer is position-wise (MLP,
// norm, routing).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rung/spec/accounting.h"
#include "rung/spec/architecture.h"
#include "rung/theory/logarithm.h"

namespace rung {

// Bits by how they grow with the tokens before a cut, or under a sum: a fixed part; numbers that gain one bit
// whenever the tokens double (exact sums); and both again for every live level of log-linear attention.
struct StateBits {
  Integer fixed = 0, growing = 0, per_level = 0, level_growing = 0;

  // At most ⌊lg tokens⌋ + 1 levels are live. REQUIRES tokens >= 1, here and below.
  Integer after(const Integer& tokens) const;
  Integer one_level(
      const Integer& tokens) const;  // with one bucket of that many tokens: what the oldest keeps
  bool empty() const { return fixed == 0 && growing == 0 && per_level == 0 && level_growing == 0; }
  bool levels() const { return per_level > 0 || level_growing > 0; }
  bool grows() const { return growing > 0 || levels(); }
  StateBits& operator+=(const StateBits& other);
  bool operator==(const StateBits&) const = default;
};

struct WordLetter {
  enum class Kind {
    full,       // F
    recurrent,  // R
    uncovered,  // token selection, compressed blocks
  };
  Kind kind = Kind::full;
  std::size_t layer = 0;  // index into the stack
  bool selects = false;   // F: block-sparse, so the letter is a sketch
  StateBits partial;      // F: M_part, bits of partial sums over that many tokens, per receiving token
  Integer outputs = 0;    // F: M_out, bits of rounded head outputs per token
  StateBits state;        // R: its state; F: that of recurrent heads (and straddling blocks) beside it
  Integer straddling =
      0;  // F, of its state: a block across the cut, which counts against no memory between tokens
  std::int64_t reach = 0;  // R: tokens that it sees, itself among them; kUnboundedReach for a recurrence
};

inline constexpr std::int64_t kUnboundedReach = std::int64_t{1} << 62;

struct Word {
  std::vector<WordLetter> letters;
  std::string text;            // one letter or more a layer, as `rung show --json` gives it
  std::string folded;          // the same with repetitions folded, for people
  bool given_entries = false;  // some state entries have the architecture's width (exact sums have their own)

  std::size_t full_letters() const;
  bool uncovered() const;
  bool selects() const;
  bool head_wise() const;                       // some F has state beside it
  const WordLetter& full(std::size_t k) const;  // the k-th F, from 0
  StateBits total() const;                      // memory between tokens: without straddling blocks
  // How far back the R letters of one gap hand a token, one behind the other; 1 where there is none.
  std::int64_t reach(std::size_t k) const;
  Integer partial(const Integer& tokens) const;  // the largest over the F letters, sums over that many tokens
  Integer outputs() const;
};

inline constexpr std::int64_t kExponentBits = 16;  // of an entry of the exponent table E

// count: the accounting of state.
// sum_bits: width of the numerators and denominators of a partial softmax sum; absent: what exact sums over N
// tokens of E (below 2^kExponentBits) times p-bit values need, p_num = 16 + p + ⌈lg N⌉ + 1 and p_den = 16 + ⌈lg N⌉.
Word make_word(const Architecture& architecture, const std::vector<LayerShape>& layers,
               const StorageBits& storage, const std::function<Account(const StorageBits&)>& count,
               std::optional<std::int64_t> sum_bits);

}  // namespace rung
