// The explicit list: a group of theorems is added by its file and its line here.
#include "rung/theory/theorem_groups.h"

namespace rung {

std::span<const Theorem> theorems() {
  static const std::vector<Theorem> list = [] {
    std::vector<Theorem> all;
    for (auto* group :
         {recurrent_table_theorems, recurrent_sum_theorems, recurrent_literature_theorems,
          recurrent_tracking_theorems, aperiodicity_theorems, tracking_constructions, causal_theorems,
          log_linear_theorems, sparse_theorems, selection_theorems, full_alone_theorems, pattern_theorems,
          published_theorems, lookup_constructions, seqcomp_constructions, thought_theorems, cited_theorems})
      for (auto& theorem : group()) {
        theorem.formal = formal_theorem(theorem.id);
        if (!theorem.formal.empty()) theorem.status = Status::checked;
        all.push_back(std::move(theorem));
      }
    return all;
  }();
  return list;
}

}  // namespace rung
