// Model times task, searched breadth first: right at every length, or the shortest word that is answered
// wrongly (docs/verify.md).
//
// Claim: a model without positions whose memory has s bits is a finite automaton; with the task's
// automaton it is one finite graph of nodes (state of the model, state of the task) and edges letters. If
// on every edge that is reachable from the start the model's answer is the task's, the model is right on
// every word of one letter or more. Every edge is compared, those into nodes that were seen before
// included: the answer depends on the last letter as well as on the state. Breadth first, so the first
// wrong edge ends a shortest wrong word.
//
// Determinism: nodes are numbered in the order of a queue, letters in the task's order, whatever the
// number of threads; only times differ.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rung/adversary/attack.h"
#include "rung/adversary/letter_kernel.h"

namespace rung {

// The task as the search needs it: a complete deterministic automaton over rows of a prompt.
struct ProductTask {
  std::int64_t states = 0, start = 0;
  std::vector<std::int64_t> next;                  // [state * letters + letter]
  std::vector<std::int64_t> answers;               // [state]
  LetterRows letters;                              // what stands at a position
  std::optional<std::vector<std::int64_t>> begin;  // what stands before the first letter

  std::int64_t after(std::int64_t state, std::int64_t letter) const {
    return next[static_cast<std::size_t>(state) * letters.size() + static_cast<std::size_t>(letter)];
  }
};

// proved: every reachable edge is right. refuted: `word` is answered wrongly, and no shorter word is, unless `shortest`
// is false. bounded: every word of up to `depth` letters is right.
using ProductVerdict = ProofOutcome;

struct ProductOutcome {
  ProductVerdict verdict = ProductVerdict::bounded;
  std::string reason;                   // one line: how it ended
  std::uint64_t states = 0, edges = 0;  // nodes found, edges compared
  std::int64_t depth = 0;  // proved: of the deepest node; refuted: letters of the word; bounded: see above
  std::vector<std::int64_t> word;         // refuted: letters
  bool shortest = true;                   // false: an orbit's word; those of up to `depth` letters are right
  std::int64_t answer = 0, expected = 0;  // refuted: to the word
  std::int64_t state_bits = 0;            // of the model's memory; 0 where it grows
  double seconds = 0;
  std::uint64_t memory_bytes = 0;
  std::string digest;  // proved: of the nodes, as docs/certificate_v1.md says
};

// What is searched: the model letter by letter, and the node after `begin`. REQUIRES as search_product.
struct ProductGraph {
  std::unique_ptr<LetterKernel> kernel;
  std::vector<std::uint64_t> start;
};
ProductGraph product_graph(const Target& target, const ProductTask& task);

// How many nodes fit, and what they then take: known before the search begins.
struct ProductMemory {
  std::uint64_t nodes = 0, bytes = 0;
};
ProductMemory product_memory(std::size_t words, std::uint64_t bytes, bool checkpoint);

// options: seconds, memory_bytes, checkpoint, progress and stop are heard. `most_depth`: stop after words
// of so many letters. REQUIRES !why_not_finite(...), a kernel of the task's letters. Errors: the outside
// world. Of this problem. REQUIRES as search_product.
ProductMemory product_memory(const Target& target, const ProductTask& task, const SearchOptions& options);
Result<ProductOutcome> search_product(const Target& target, const ProductTask& task,
                                      const SearchOptions& options,
                                      std::optional<std::int64_t> most_depth = {});

// Models that are no finite automata (full attention, positions): every word of up to `depth` letters,
// words that leave the same memory at the same length followed once. Errors: the outside world; sizes that
// the machine refuses. REQUIRES a causal integer model without a chain of thought.
Result<ProductOutcome> search_words(const Target& target, const ProductTask& task,
                                    const SearchOptions& options, std::int64_t depth);
inline constexpr std::int64_t kMostFloatLetters = 1 << 20;
// A finite model run in a float format, token by token: words that leave the same numbers and the same
// state of the task are followed once, whatever their lengths, so the search can end with `proved`. The
// target's machine is of that format. Each word is run from its beginning. REQUIRES a memory of a fixed
// size, no positions. A digest is not made.
Result<ProductOutcome> search_float_product(const Target& target, const ProductTask& task,
                                            const SearchOptions& options,
                                            std::optional<std::int64_t> most_depth);

}  // namespace rung
