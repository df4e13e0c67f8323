// Repetition as notation: a flat sequence folded into nested runs, for the architecture line and the pattern
// word.
//   gggf gggf gggf  ->  ((g)*3 f)*3
#pragma once

#include <span>
#include <vector>

namespace rung {

// A leaf (children empty, `letter` says which) or a group of children, `count` times over.
struct Repetition {
  int letter = -1;
  std::vector<Repetition> children;
  long count = 1;
};

// Deterministic. Runs of one piece are folded first; then, for growing period p, every maximal repetition of
// p adjacent pieces, from the left; after a fold the search starts again at p = 1, because new neighbours are
// equal. ENSURES: unfolding gives the sequence back. Bounded work: a sequence of 100,000 pieces without a
// period below 2,000 keeps its longer periods unfolded.
std::vector<Repetition> fold(std::span<const int> letters);

// The sequence that the pieces stand for.
std::vector<int> unfold(std::span<const Repetition> pieces);

}  // namespace rung
