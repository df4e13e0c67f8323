// Records in files: the hierarchy's folder, the results of experiments, sweeps of precision. Curves are
// thinned, attention patterns rounded.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "rung/base/result.h"
#include "rung/records/experiment_results.h"
#include "rung/records/hierarchy_document.h"

namespace rung::report {

inline constexpr std::size_t kCurvePoints = 32;      // of one curve on the page
inline constexpr std::size_t kAttentionTokens = 64;  // larger patterns are left out: nobody can read them

// FOLDER/hierarchy.json, or nothing where there is none.
Result<std::optional<HierarchyDocument>> read_hierarchy(const std::string& folder);

// FOLDER/protocols/built.json and broken.json; those that are there. The page alone looks inside them.
struct Protocol {
  std::string kind;  // "built", "broken"
  nlohmann::ordered_json document;
};
Result<std::vector<Protocol>> read_protocols(const std::string& folder);
nlohmann::ordered_json protocols_json(const std::vector<Protocol>& protocols);

// A file of results (rung.results/2), or of a sweep of precisions (rung.build-sweep/1), which the page alone looks
// into. Files of other schemas are passed over.
struct ResultsEntry {
  std::string origin, file;  // "shipped" or "own"; its name
  ExperimentResults results;
};
struct SweepEntry {
  std::string origin, file;
  nlohmann::ordered_json document;
};
struct ExperimentRecords {
  std::vector<ResultsEntry> results;
  std::vector<SweepEntry> sweeps;
};
Result<void> read_shipped(const std::string& folder, ExperimentRecords& into);
Result<void> read_own(const std::string& folder, ExperimentRecords& into);
nlohmann::ordered_json entries_json(const std::vector<ResultsEntry>& entries);
nlohmann::ordered_json entries_json(const std::vector<SweepEntry>& entries);

}  // namespace rung::report
