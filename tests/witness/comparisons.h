// The theory against each of its witnesses. Every function draws cases from a seed, asks the theory that it
// is given, and tallies what was compared (cases on which the theory said something that the witness can
// refute) and what disagreed.
#pragma once

#include "tests/witness/case.h"
#include "tests/witness/cells.h"
#include "tests/witness/task_tree.h"
#include "tests/witness/weight_search.h"

namespace rung {

struct Drawing {
  std::uint64_t seed = 1;
  std::int64_t cases = 1000;
};

// Recurrent stacks against Nerode classes: no `impossible` where the state has a value for every class at
// every cut, no proved `possible` where it has fewer than there are classes told apart.
Tally compare_with_capacity(const Theory& theory, const std::vector<TinyTask>& tasks, const Drawing& drawing);

// `possible`, proved, against files: one that `rung build` makes answers every prompt and fits. And no
// `impossible` where one fits.
Tally compare_with_build(const Theory& theory, const std::vector<TinyTask>& tasks, const Drawing& drawing);

// A cell whose weights were searched on a task.
struct SearchedCell {
  std::shared_ptr<const Cell> cell;
  const TinyTask* task = nullptr;
  bool positions = true;
  SearchResult result;
};
std::vector<SearchedCell> search_cells(const std::vector<TinyTask>& tasks, std::int64_t budget);
// No `impossible` for a cell that some weights of it solve, nor for anything larger; no proved `possible`
// where all weights were tried and none does.
Tally compare_with_search(const Theory& theory, const std::vector<SearchedCell>& searched,
                          const Drawing& drawing);

// Files that answer every prompt, read back (some of them from disk) and run by the evaluation: no
// `impossible` for their architecture, nor for anything larger. `folder` is where files are written.
Tally compare_with_eval(const Theory& theory, const std::vector<TinyTask>& tasks, const std::string& folder,
                        const Drawing& drawing);

// More heads, width, layers, bits or state never turn `possible` into `impossible`; a longer prompt never
// the reverse. And no proved `impossible` beside a proved `possible`.
Tally compare_with_itself(const Theory& theory, const std::vector<TinyTask>& tasks, const Drawing& drawing);

}  // namespace rung
