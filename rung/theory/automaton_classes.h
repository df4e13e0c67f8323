// How many states of an automaton a recurrent model must tell apart when words have n letters: the count behind
// automaton-states (docs/theorems.md).
//
// A cut after t letters leaves k = n - t >= 1 to come. The states that t letters lead to, made one where no word of k
// letters gives them different answers, are the classes at that cut; the largest number over all cuts counts. The letter
// after the cut is read by the model itself, so what the last letter alone decides needs no state: k = 0 is no cut.
#pragma once

#include <cstdint>
#include <vector>

#include "rung/tasks/automaton.h"

namespace rung {

// Which prompts one model has to answer.
enum class WordLengths {
  exactly,     // words of n letters, read at the last one
  everywhere,  // words of n letters, read at every one
  up_to,       // words of 1 to n letters
};

class AutomatonClasses {
 public:
  AutomatonClasses(const Automaton& automaton, WordLengths lengths);
  // A lower bound of the states that a model needs, exact unless sets of states change over more than a few thousand
  // lengths. REQUIRES n >= 1.
  std::int64_t at(std::int64_t n) const;

 private:
  // A sequence that repeats from `cycle` on; nothing is known of it beyond its end where cycle equals its size.
  template <class T>
  struct Sequence {
    std::vector<T> items;
    std::size_t cycle = 0;
    const T* at(std::int64_t i) const;
  };
  Sequence<std::vector<bool>> reached_;           // by t letters
  Sequence<std::vector<std::uint32_t>> classes_;  // block of each state, by k - 1 letters less one
};

}  // namespace rung
