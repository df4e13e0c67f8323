// The layouts that provably do what is needed at the least cost, what was ruled out, and by what. `rung design`
// prints it (docs/design.md).
//
//   DesignRequest request{.layers = 24, .mixers = {full, gdelta}, .context = 32768};
//   request.needs.push_back(*parse_need("seqcomp:L=4"));
//   RUNG_TRY(const Design design, search_design(request));
//
// Statements are those of rung/theory and mean what they mean there: worst-case inputs, the best weights, one
// file of weights for each need. A layout is on the front when the theory writes weights for every need and no
// other such layout costs less of one thing and no more of the others. Layouts that only a sketch (or a
// measured construction) supports are on it beside the proved ones where they cost less, and say so.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rung/base/words.h"
#include "rung/design/layout_search.h"
#include "rung/design/need.h"
#include "rung/spec/accounting.h"
#include "rung/spec/architecture.h"
#include "rung/theory/theorem.h"

namespace rung {

// What a layout costs. Bytes at the context, for one sequence; memory is cache and state together.
enum class CostKind { memory, cache, state, full, parameters };
Result<CostKind> parse_cost_kind(std::string_view text);
template <>
inline constexpr auto kWords<CostKind> = std::to_array<std::string_view>({"memory", "cache", "state", "full",
                                                                          "parameters"});
inline std::string_view cost_kind_name(CostKind kind) { return name_of(kind); }

struct LayoutCost {
  Integer cache_bytes = 0, state_bytes = 0;
  std::int64_t full = 0;                   // layers that can look back at every token
  std::optional<std::int64_t> parameters;  // absent where a mixer's are not counted
  Integer of(CostKind kind) const;         // parameters: 0 where they are absent
};

struct CostLimit {
  CostKind kind = CostKind::cache;
  Integer most = 0;
};

struct DesignRequest {
  std::int64_t layers = 0;
  std::vector<Mixer> mixers;  // different ones
  Dimensions dimensions;
  StorageBits bits;
  std::int64_t context = 0;
  std::vector<Need> needs;
  std::vector<CostKind> minimise{CostKind::memory};
  std::vector<CostLimit> budget;
  bool chain_of_thought = false;
  std::vector<std::string> assumes;  // what the request takes for granted, said with the answer
  LayoutLimits limits;
};

struct NeedVerdict {
  std::string need;
  Verdict verdict;
};

struct DesignedLayout {
  LayoutWord layers;  // the order shown
  LayoutCost cost;
  std::vector<NeedVerdict> needs;
  bool proved = true;                // every need; else some rests on a sketch
  std::vector<LayoutWord> suffices;  // any order that holds one of these as a subsequence does the needs
  std::int64_t orders = 0;           // layouts of the same composition; 0: more than 2^62
  std::int64_t alike = 0;            // other compositions with the same costs that do the needs as surely
};

// Layouts with at most so many layers of each mixer, which the theory writes no weights for.
struct ExcludedLayouts {
  DownSet set;
  LayoutWord example;                // one of them, the largest of the set, at the number of layers asked for
  LayoutCost cost;                   // of the example
  std::vector<NeedVerdict> failing;  // the needs that the example is not known to do
  // A theorem refutes a need for every layout of the set, whatever its order; else for the example at most.
  std::optional<NeedVerdict> impossible;
};

struct Design {
  DesignRequest request;
  std::vector<DesignedLayout> front;  // by the first cost, then the others
  std::vector<ExcludedLayouts> excluded;
  std::int64_t compositions = 0, questions = 0;
  // The front is empty: what all mixers together, in every order, lack.
  std::vector<NeedVerdict> lacking;
};

// ENSURES: exact (layout_search.h); one-line errors for requests that no theorem can be asked about.
Result<Design> search_design(const DesignRequest& request);

Stack layout_stack(const DesignRequest& request, const LayoutWord& word);
// "at most 3 full, no gdelta".
std::string down_set_text(const DesignRequest& request, const DownSet& set);

// Schema rung.design/2.
nlohmann::ordered_json design_document(const Design& design);

}  // namespace rung
