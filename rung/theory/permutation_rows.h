// An automaton whose letters permute its states as rows of numbers that exchanges move: the plan behind
// the construction by the delta rule (rung/constructions/automaton_delta.cc), and what it costs.
//
// The points are blocks of states that every letter maps to blocks, as few as still tell all states
// apart: for S_n given by its products, the n points on which it acts. A letter is a permutation of the
// points, and a product of exchanges. The row that begins is (0, 1, …, n−1); where the states are not
// told apart by the rows that letters make of it, the points are the states and the row is e_q.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "rung/tasks/automaton.h"

namespace rung {

inline constexpr std::uint32_t kMostPermutedStates = 4096;  // that a construction is written for

using Permutation = std::vector<std::uint32_t>;  // where each point goes
// Pairs (i, j) whose exchanges, one after the other, move every entry to where the permutation says.
std::vector<std::pair<std::uint32_t, std::uint32_t>> transpositions(Permutation goes);

struct PermutationPlan {
  std::uint32_t points = 0;
  std::size_t steps = 0;
  std::vector<Permutation> letters;
  std::vector<std::uint32_t> start;              // the row that ^ writes
  std::vector<std::vector<std::uint32_t>> rows;  // by state; empty where no word comes
  std::vector<std::int64_t> reading;             // what a point's entry counts in the number that is read

  std::int64_t number(const std::vector<std::uint32_t>& row) const;  // what the row is read as
};

// Whether the letter permutes the states.
bool letter_permutes(const Automaton& automaton, std::uint32_t letter);

// The fewest exchanges a letter, then the fewest points. REQUIRES letters that permute, at most
// kMostPermutedStates states.
PermutationPlan permutation_plan(const Automaton& automaton);

struct PermutationWidths {
  int entry = 2, read = 2,
      query = 2;         // bits of a row's entry, of the number that it is read as, of a reading weight
  bool one_row = false;  // every answer belongs to one row: the nearest number is the answer
};
PermutationWidths permutation_widths(const Automaton& automaton, const PermutationPlan& plan);

}  // namespace rung
