// The hierarchy: every mechanism against every task of the paper, a table whose every cell just ran.
//
//   auto outcome = run_hierarchy(hierarchy_plan(), {.folder = "rung-runs/hierarchy", .checker = find_program("rung-check")});
//   hierarchy_table(outcome->document, {})                 // table.h
//
// A finished cell is a file; the same call later reuses it while its recipe and the version of rung are the
// same, and asks rung-check again whether its certificate holds. Determinism: all but seconds, and trained
// accuracies on another machine, depends on the plan.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rung/hierarchy/recipe.h"
#include "rung/records/hierarchy_document.h"
#include "rung/records/training_run.h"

namespace rung {

struct CellProgress {
  std::size_t done = 0, of = 0;
  std::string row, column;
  bool reused = false;
  double seconds = 0;
  std::string line;  // what the cell found, in short
};

struct HierarchyOptions {
  std::string folder;
  std::string checker;       // rung-check; empty: missing
  TrainFunction train = {};  // rung-learn; empty: missing
  std::vector<std::string> results =
      {};                              // folders of shipped records; those that are not there are passed over
  bool fresh = false;                  // reuse nothing
  bool untrained = false;              // leave training out
  double training_seconds = 60;        // of all trainings together, wall clock
  std::vector<std::string> only = {};  // "linear", "eva" or "linear/eva"; empty: all
  std::function<void(const CellProgress&)> progress = {};  // after every cell, one call at a time
  std::function<bool()> stop = {};                         // true: finish quickly, leaving what is done
};

struct HierarchyOutcome {
  HierarchyDocument document;                // as in folder/hierarchy.json
  std::size_t done = 0, reused = 0, of = 0;  // cells, those of highlights included
  bool stopped = false;
  std::vector<std::string>
      troubles;  // constructions that failed, certificates that were rejected: a line each
};

// Errors: a word of `only` that names nothing, a folder that cannot be written, a cell that could not be made
// at all.
Result<HierarchyOutcome> run_hierarchy(const HierarchyPlan& plan, const HierarchyOptions& options);

}  // namespace rung
