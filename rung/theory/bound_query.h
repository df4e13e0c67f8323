// A query: one architecture, at one context and precision, asked about one task or all of them; and its
// document, schema rung.bound/2 (docs/bound.md). `rung bound` and the live page ask through here, so they say
// the same.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "rung/released/architecture_choice.h"
#include "rung/tasks/task.h"
#include "rung/theory/measured_recall.h"
#include "rung/theory/pattern.h"
#include "rung/theory/theorem.h"

namespace rung {

struct BoundQuery {
  ArchitectureChoice architecture;
  std::string task = "all";
  TaskSizes sizes;
  QuestionForm form;                     // the tasks' options, and a variant
  std::optional<std::int64_t> sum_bits;  // of a partial softmax sum
  bool chain_of_thought = false, assume_exact = false;
  std::optional<std::int64_t>
      position_period;                 // of a position code that repeats; the only positions there are
  std::optional<std::string> theorem;  // ask this one alone, not for the strongest verdict
};

struct BoundReport {
  Setting setting;
  std::vector<Verdict> verdicts;           // one a task, in the order of task_words()
  std::optional<PatternSummary> pattern;   // seqcomp asked in its usual form, no sizes given
  std::optional<MeasuredRecall> measured;  // asked about recall (eva, index, all) of any size
  QuestionForm form;                       // what was asked for; options left out have their default
};

// What bounds read of an architecture beside the shapes of its layers (check_sizes_used).
std::string bound_observes(const ChosenArchitecture& chosen);

// REQUIRES: chosen is what query.architecture chose. ENSURES: one-line errors for unknown tasks, sizes out of
// range and prompts longer than a context that was given.
Result<BoundReport> answer_query(const BoundQuery& query, const ChosenArchitecture& chosen);

// The list of theorems, schema rung.bound-list/2.
nlohmann::ordered_json theorems_document();

nlohmann::ordered_json bound_document(const BoundReport& report);

}  // namespace rung
