// The tree of all prompts of a task, folded from the leaves up until equal subtrees are one node. The nodes
// at depth t are the rows of the one-way communication matrix at cut t: what the first t tokens can still
// make a difference to.
//
// A node is the list of its continuations: (token, answer read at this token if one is, node after it). Two
// prefixes of t tokens are merged exactly if every continuation that is legal after one is legal after the
// other with the same answers from position t on. Exact: nodes are compared, never hashes.
//
// Where the legal continuations depend on the prefix (different keys, for instance), merged nodes overcount
// what a machine needs: two nodes must be told apart only if some common continuation has different answers.
// Nodes of equal `shape` (the same tree of legal continuations) that differ do have one. So the number of
// nodes of the most frequent shape is a certified lower bound, the number of all nodes an upper one, and with
// one shape both are the answer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "rung/base/result.h"
#include "rung/capacity/row_table.h"
#include "rung/ranks/ranks.h"
#include "rung/tasks/task.h"

namespace rung {

struct TreeLimits {
  std::int64_t prompts = 0;  // complete prompts looked at
  std::int64_t bytes = 0;    // held by the nodes, on each rank
  Ranks* ranks = nullptr;    // those who share the work; null: this process alone
};

// Nodes at one depth. REQUIRES nothing; lower <= upper, equal when the number is exact.
struct RowCount {
  std::int64_t position = 0;  // tokens read
  std::int64_t lower = 1;     // rows that are pairwise told apart by a common continuation
  std::int64_t upper = 1;     // different rows, illegal continuations included
};

struct FoldedTree {
  bool complete = false;       // false: a limit was reached and `cuts` is empty
  std::int64_t prompts = 0;    // complete prompts looked at
  std::vector<RowCount> cuts;  // positions 0 .. prompt_length
};

// The number of complete prompts along the first path: exact for tasks whose choices depend on the position
// alone, an estimate else. Saturates at 2^62.
std::int64_t estimated_prompts(const Task& task);

// Results do not depend on the number of workers or ranks; on a rank that does not lead there are none (it
// folds what rank 0 hands out). `progress` gets shares in [0, 1], from any worker.
// Errors (unsupported): a task that cannot be enumerated; an answer that depends on later tokens.
// REQUIRES estimated_prompts(task) <= limits.prompts and prompt_length() <= kLongestTree.
inline constexpr std::int64_t kLongestTree = 1024;
Result<FoldedTree> fold_prefix_tree(const Task& task, const TreeLimits& limits,
                                    const std::function<void(double)>& progress = {});

}  // namespace rung
