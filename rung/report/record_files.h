// Records in files: the hierarchy's folder, the results of experiments, sweeps of precision. Curves are
// thinned, attention patterns rounded.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "rung/base/result.h"

namespace rung::report {

inline constexpr std::size_t kCurvePoints = 32;      // of one curve on the page
inline constexpr std::size_t kAttentionTokens = 64;  // larger patterns are left out: nobody can read them

// The document of FOLDER/hierarchy.json, or null where there is none.
Result<nlohmann::ordered_json> read_hierarchy(const std::string& folder);
// FOLDER/protocols/built.json and broken.json: [{"kind", "document"}]; those that are there.
Result<nlohmann::ordered_json> read_protocols(const std::string& folder);

// One document of schema rung.results/1 or rung.build-sweep/1 a file; files of other schemas are passed over.
// `origin`: "shipped" or "own"; it and the file's name travel with each.
struct ExperimentRecords {
  std::vector<nlohmann::ordered_json> results, sweeps;
};
Result<void> read_shipped(const std::string& folder, ExperimentRecords& into);
Result<void> read_own(const std::string& folder, ExperimentRecords& into);

}  // namespace rung::report
