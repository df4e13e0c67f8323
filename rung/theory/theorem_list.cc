// The explicit list: what docs/theorems.md says, and the groups of functions that evaluate it. A group is added by its
// file and its line here; an entry of the page without a function is quoted and never evaluated.
#include <map>

#include "rung/base/require.h"
#include "rung/theory/theorem_groups.h"
#include "rung/theory/theorem_page.h"

namespace rung {

std::span<const Theorem> theorems() {
  static const std::vector<Theorem> list = [] {
    auto page = read_theorem_page(kTheoremPage);
    RUNG_REQUIRE(page.ok(), "{}", page.error().message);
    std::map<std::string_view, Theorem*> entries;
    for (auto& entry : *page) entries[entry.id] = &entry;
    for (auto* group :
         {recurrent_table_theorems, recurrent_sum_theorems, recurrent_literature_theorems,
          recurrent_tracking_theorems, aperiodicity_theorems, tracking_constructions, causal_theorems,
          log_linear_theorems, sparse_theorems, selection_theorems, full_alone_theorems, pattern_theorems,
          published_theorems, lookup_constructions, seqcomp_constructions})
      for (auto& theorem : group()) {
        const auto found = entries.find(theorem.id);
        RUNG_REQUIRE(found != entries.end() && !found->second->evaluate, "{} is not once in docs/theorems.md",
                     theorem.id);
        Theorem& entry = *found->second;
        theorem.title = entry.title;
        theorem.statement = entry.statement;
        theorem.source = entry.source;
        theorem.reference = entry.reference;
        theorem.status = entry.status;
        theorem.formal = entry.formal;
        theorem.file = entry.file;
        theorem.test = entry.test;
        entry = std::move(theorem);
      }
    return std::move(*page);
  }();
  return list;
}

}  // namespace rung
