// An architecture as the theory reads it: a word over F (full attention) and R (recurrence), each letter with
// the bits that the counting arguments charge it.
//
// What counts as R: every causal recurrence with its stored bits; windowed and chunked attention;
// convolutions and token shifts, also inside a layer on q, k, v (the layer is then "R F"); log-linear
// attention with all its live states. What counts as F: softmax attention over the whole past; block-sparse
// attention too, but only as a sketch. Head-wise layers (F∥R) are one F with the recurrent heads' state
// beside it. Token selection and compressed caches are letters that no theorem covers. Layers without a mixer
// leave no letter. REQUIRES of every theorem on words: apart from its mixer a layer is position-wise (MLP,
// norm, routing).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rung/spec/accounting.h"
#include "rung/spec/architecture.h"
#include "rung/theory/logarithm.h"

namespace rung {

// State that crosses a cut between two tokens, in bits: a fixed part, and a part per live level of log-linear
// attention.
struct StateBits {
  Integer fixed = 0, per_level = 0;

  Integer after(const Integer& tokens) const;  // all levels live: ⌊lg tokens⌋ + 2. REQUIRES tokens >= 1
  Integer one_level() const { return fixed + per_level; }  // what the oldest bucket keeps
  StateBits& operator+=(const StateBits& other);
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
  Integer partial = 0;    // F: M_part, bits of partial sums per receiving token
  Integer outputs = 0;    // F: M_out, bits of rounded head outputs per token
  StateBits state;        // R: its state; F: that of recurrent heads (and straddling blocks) beside it
};

struct Word {
  std::vector<WordLetter> letters;
  std::string text;    // one letter or more a layer, as `rung show --json` gives it
  std::string folded;  // the same with repetitions folded, for people

  std::size_t full_letters() const;
  bool uncovered() const;
  bool selects() const;
  bool head_wise() const;  // some F has state beside it
  // State bits of the R letters in the gap before F number k + 1 (k = full_letters(): after the last); with
  // `beside` those of heads beside F number k count too, as if they stood right behind it.
  StateBits gap(std::size_t k, bool beside) const;
  const WordLetter& full(std::size_t k) const;  // the k-th F, from 0
  StateBits total() const;
  Integer partial() const;  // the largest over the F letters
  Integer outputs() const;
};

// count: the accounting of state, asked with two contexts (log-linear levels).
// accumulator: width in bits of numerators and denominators of a partial softmax sum.
Word make_word(const Architecture& architecture, const std::vector<LayerShape>& layers,
               const StorageBits& storage, const std::function<Account(const StorageBits&)>& count,
               std::int64_t accumulator);

// 2p + 20: what an accumulator is taken to hold unless said otherwise.
std::int64_t default_accumulator(const Precision& precision);

}  // namespace rung
