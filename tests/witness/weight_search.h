// Exhaustive search over the weights of a cell: an action for every pair of position and token (or for
// every token, without a position code), readout free. Solved iff readings with different answers
// differ in state, token, or (with a position code) position.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/witness/cells.h"
#include "tests/witness/task_tree.h"

namespace rung {

enum class Searched {
  solved,     // these weights do
  exhausted,  // no weights do
  gave_up,    // more work than allowed
};

struct SearchResult {
  Searched outcome = Searched::gave_up;
  std::vector<std::vector<int>> actions;  // solved: [position][token]
  std::int64_t tried = 0;
};

struct SearchOptions {
  std::int64_t budget = 100'000;  // actions tried
  bool positions = true;          // weights may depend on the position
  std::uint64_t seed = 1;         // of the order in which actions are tried
};

// Branches over positions and tokens; a branch ends where one state stands for two conflicting prefixes.
SearchResult search_weights(const TaskTree& tree, const Cell& cell, const SearchOptions& options);

// The largest numbers that a solution's states hold, over all prompts: for the width of softmax sums.
std::int64_t largest_entry(const TaskTree& tree, const Cell& cell,
                           const std::vector<std::vector<int>>& actions);

// The solution on the exact machine: whether the states that it reaches, read from the machine itself, tell
// apart what must be told apart. REQUIRES cell.channels() not empty.
Result<bool> machine_agrees(const TaskTree& tree, const Cell& cell,
                            const std::vector<std::vector<int>>& actions, bool positions);

}  // namespace rung
