// The algebra of an automaton: the maps that words make of its states, and what is true of them. Everything is about
// the least automaton with the same answers; skipping that step changes verdicts, because states that nothing tells
// apart can turn in cycles that no answer shows.
//
//   Algebra algebra = *algebra_of(automaton);
//   if (!algebra.aperiodic) ...                    // some word acts with a period: algebra.period_word
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rung/base/result.h"
#include "rung/tasks/automaton.h"

namespace rung {

inline constexpr std::uint32_t kMaxMonoid = 1'000'000;  // elements

// All maps of the states that words make, each once. Element 0 is the identity, that of the empty word.
class TransitionMonoid {
 public:
  // Errors (resource): more than `most` elements, or maps that take more than a gigabyte.
  static Result<TransitionMonoid> of(const Automaton& automaton, std::uint32_t most = kMaxMonoid);

  std::uint32_t size() const { return static_cast<std::uint32_t>(maps_.size() / degree_); }
  std::uint32_t degree() const { return static_cast<std::uint32_t>(degree_); }  // states
  // Where each state goes.
  std::span<const std::uint32_t> map(std::uint32_t element) const {
    return std::span(maps_).subspan(element * degree_, degree_);
  }
  // Letters, as elements, that make all others: each one that those before it do not.
  std::span<const std::uint32_t> generators() const { return generators_; }
  std::uint32_t find(std::span<const std::uint32_t> map) const;   // REQUIRES a map of the monoid
  std::uint32_t product(std::uint32_t a, std::uint32_t b) const;  // first a, then b
  std::vector<std::uint32_t> word(std::uint32_t element) const;   // a word that makes it, as letters

 private:
  std::uint64_t hash(std::span<const std::uint32_t> map) const;
  std::size_t slot(std::span<const std::uint32_t> map) const;
  void grow();

  std::size_t degree_ = 1;
  std::vector<std::uint32_t> maps_;
  std::vector<std::uint32_t> generators_;     // elements
  std::vector<std::uint32_t> parent_, last_;  // word(e) = word(parent_[e]) and the letter last_[e]
  std::vector<std::uint32_t> slots_;          // open addressing; element + 1, 0: free
};

// A word that acts with a period: from some state on, w, w², … comes back after `period` >= 2 steps and not before.
struct PeriodicWord {
  std::vector<std::uint32_t> word;      // w, shortest
  std::uint32_t period = 2;             // of some cycle of states under w
  std::vector<std::uint32_t> to, from;  // u, v: the answers to u wⁿ v are not constant for large n
  bool always = false;                  // the answers to u wⁿ v and u wⁿ⁺¹ v differ for every n
};

struct Algebra {
  std::uint32_t classes = 0;  // states of the least automaton
  std::uint32_t monoid = 0;   // elements
  bool aperiodic = false;     // no group in it but the trivial ones: x^k = x^(k+1) for some k
  bool commutative = false;
  bool r_trivial = false;  // the least automaton has no cycles but loops
  bool j_trivial = false;
  bool group = false;
  bool solvable = false;                        // every group in it is
  std::optional<std::uint32_t> derived_length;  // the largest of them; absent where one is not solvable
  bool neutral_letter = false;                  // some letter changes nothing
  std::optional<PeriodicWord> periodic;         // present iff not aperiodic
};

Result<Algebra> algebra_of(const Automaton& automaton, std::uint32_t most = kMaxMonoid);

}  // namespace rung
