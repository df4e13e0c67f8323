// What each cell of the hierarchy is made from: an explicit table, data and no control flow (recipe_list.cc).
//
// A row is a mechanism, a column a task at a nominal size. A cell asks four questions, each with an answer or
// the reason why there is none: what does theory say at this size, which weights does a proof write down,
// which two inputs can a model not tell apart, what does training reach. Evidence taken at another size or of
// another arrangement of the row's layers says so.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rung/constructions/construction.h"
#include "rung/constructions/idle_parts.h"

namespace rung {

struct HierarchyColumn {
  std::string id, title, task;
  TaskSizes size;
  std::string what;  // one plain sentence
};

struct HierarchyRow {
  std::string id, title, arch, what;
};

// Why a question has no answer.
struct Absence {
  std::string reason;  // a sentence
  std::string brief;   // for the table: at most kBriefColumns columns
};
inline constexpr std::size_t kBriefColumns = 25;

struct ConstructionRecipe {
  ConstructionRequest request;  // without sizes: the column's
  std::int64_t samples = 256;   // instances of each kind, where not all are run
  std::string shown = {};       // for the table, where the arrangement is not the row's own: "3 layers"
  std::optional<IdlePart> beside = {};  // the construction inside a hybrid
  TaskSizes pictured = {};              // a size small enough to show where its heads look; empty: its own
};

// Random weights of an architecture, which an adversary is given.
struct AttackRecipe {
  std::string arch;
  std::int64_t width = 4;
  int precision = 6;
  std::string shown = {};
  TaskSizes size = {};                        // empty: the column's
  std::optional<PositionCode> position = {};  // absent: none for an automaton task, else a table
};

struct AskedRecipe {
  std::string arch;
  std::int64_t width = 32;
  int precision = 4;
};

struct TrainingRecipe {
  std::string arch;
  std::int64_t width = 32, steps = 400, batch = 64, seeds = 2;
  double rate = 5e-3;
};

struct CellRecipe {
  std::string row, column;
  std::optional<ConstructionRecipe> construction;
  Absence no_construction = {};
  std::optional<AttackRecipe> attack;
  Absence no_certificate = {};
  std::optional<TrainingRecipe> training = {};
  Absence no_training = {};
  // Which model the cell's first bound is about; the other one's stands beside it.
  bool bound_of_broken = true;
  // An architecture that theory is asked about in place of the built model's, where the theorem's own
  // constants ask for a little more than the weights need.
  std::optional<AskedRecipe> asked = {};
};

struct HighlightRecipe {
  std::string id, title, what;
  std::vector<CellRecipe> cells;
};

// The whole of what `rung hierarchy` shows.
struct HierarchyPlan {
  std::vector<HierarchyColumn> columns;  // the table's, and those of highlights alone
  std::vector<HierarchyRow> rows;        // likewise
  std::vector<CellRecipe> cells;         // every row of the table on every column of it
  std::vector<HighlightRecipe> highlights;

  const HierarchyColumn& column(const std::string& id) const;  // REQUIRES a known id
  const HierarchyRow& row(const std::string& id) const;
  bool in_table(const std::string& row) const;  // some cell of `cells` has it
};
const HierarchyPlan& hierarchy_plan();

// The definition of a cell as text: equal texts, equal evidence. Includes the column's task and size.
std::string recipe_text(const HierarchyPlan& plan, const CellRecipe& recipe);

}  // namespace rung
