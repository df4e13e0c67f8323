// The pattern theorem on one architecture: how deep a composition it provably does, and from where on it
// provably does not.
//
// For suitable sizes (m, n_l powers of the length) a word of polylogarithmic size solves L-SeqComp iff #F >=
// L+1, or #F = L and some R stands before the second F (anywhere, if L = 1). The word alone decides nothing
// here: every verdict is evaluated at the architecture's own bits and at actual task sizes, since small n_l
// (pre-composition) and small m (absorption) are easy.
#pragma once

#include <optional>

#include "rung/theory/theorem.h"

namespace rung {

struct PatternSummary {
  std::size_t full = 0;  // #F
  bool early = false;    // an R with state before the second F
  // The largest L that the word is known to solve in the theorem's size family. An early R saves a full layer
  // where it reaches from z_0 to `=`, L + 1 tokens; one of shorter reach (a convolution, a window) is in
  // neither half of the theorem, and does not count.
  std::int64_t asymptotic = 0;
  std::optional<int> solvable;    // largest L with a construction for all prompts up to the context
  std::optional<int> impossible;  // smallest L with certified sizes within the context
  std::optional<Verdict> solvable_by, impossible_by, vacuous_by;  // vacuous_by: vacuous, with its horizon
};

PatternSummary summarise_pattern(const Setting& setting);
nlohmann::ordered_json pattern_json(const Setting& setting, const PatternSummary& summary);

// The bits of a word as the counts charge them, at a prompt of this many tokens.
struct PatternBits {
  Integer partial, outputs;
  std::vector<Integer> gaps;    // R state before the first F, .., after the last
  std::vector<Integer> beside;  // recurrent heads inside each F layer
  bool operator==(const PatternBits&) const = default;
};
PatternBits pattern_bits(const Word& word, const Integer& tokens);

}  // namespace rung
