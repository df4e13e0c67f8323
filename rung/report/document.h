// The data of the report, gathered from what is there: schema rung.report/2 (docs/report.md).
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "rung/base/result.h"
#include "rung/report/ceilings.h"
#include "rung/report/horizons.h"
#include "rung/report/opening.h"
#include "rung/report/record_files.h"
#include "rung/report/stored_runs.h"

namespace rung::report {

struct Sources {
  std::string hierarchy;  // the folder of `rung hierarchy`; may be absent
  std::string labs;       // the folder whose NAME/results.json are the user's own experiments; may be absent
  std::vector<std::string>
      shipped;        // folders of records that came with the program; those that are there are read
  std::string store;  // of runs; may be absent
  bool live = false;  // with every theorem and task: an explorer may meet them all
};

// Where the records that came with this program may be, seen from its own place.
std::vector<std::string> shipped_results();
inline constexpr const char* kLabs = "rung-runs/lab";  // where `rung lab` writes unless told otherwise

// What is not there, and the command that makes it.
struct Missing {
  std::string what, where, command;
};

struct Document {
  std::string version, made;
  bool live = false;
  std::optional<HierarchyDocument> hierarchy;
  ExperimentRecords experiments;
  std::optional<StoredRuns> runs;
  std::vector<ModelHorizons> horizons;
  std::vector<Protocol> protocols;
  Opening opening;
  std::vector<ProvedPrecision> precision;
  std::map<std::string, CeilingCurve> ceilings;  // by the reason of a ceiling
  std::vector<Missing> absent;
  std::vector<std::string> theorems;  // ids of those that are cited above
};

// What is there and cannot be read is an error that names the file.
Result<Document> gather(const Sources& sources);

nlohmann::ordered_json document_json(const Document& document);
// In one line; bytes that are no UTF-8, which a path or a record may hold, have a mark in their place.
std::string document_text(const Document& document);

}  // namespace rung::report
