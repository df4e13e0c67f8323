#include "rung/report/document.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "rung/report/ceilings.h"
#include "rung/report/horizons.h"
#include "rung/report/opening.h"
#include "rung/report/record_files.h"
#include "rung/report/stored_runs.h"
#include "rung/store/provenance.h"
#include "rung/theory/theorem.h"

namespace rung::report {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// Every "theorem": "id" below `node`.
void collect_theorems(const ordered_json& node, std::set<std::string>& into) {
  if (node.is_object())
    for (const auto& [name, value] : node.items()) {
      if (name == "theorem" && value.is_string()) into.insert(value.get<std::string>());
      collect_theorems(value, into);
    }
  if (node.is_array())
    for (const auto& child : node) collect_theorems(child, into);
}

ordered_json theorem_entries(const std::set<std::string>& ids) {
  ordered_json out = ordered_json::object();
  for (const Theorem& t : theorems()) {
    if (!ids.contains(std::string(t.id))) continue;
    out[std::string(t.id)] = {{"title", t.title},
                              {"statement", t.statement},
                              {"source", source_name(t.source)},
                              {"reference", t.reference},
                              {"status", status_name(t.status)},
                              {"file", t.file},
                              {"test", t.test}};
  }
  return out;
}

std::string program_version() {
  Record record;
  stamp(record);
  return record.version;
}

ordered_json absent(const char* what, const std::string& where, const char* command) {
  return {{"what", what}, {"where", where}, {"command", command}};
}

}  // namespace

std::vector<std::string> shipped_results() {
  std::error_code code;
  const fs::path here = fs::read_symlink("/proc/self/exe", code).parent_path();
  if (code) return {};
  // Installed, and in a build tree below the sources: build/ or build/PRESET/.
  return {(here / ".." / "share" / "rung" / "results").lexically_normal().string(),
          (here / ".." / "results").lexically_normal().string(),
          (here / ".." / ".." / "results").lexically_normal().string()};
}

Result<ordered_json> gather(const Sources& sources) {
  ordered_json missing = ordered_json::array();
  RUNG_TRY(ordered_json hierarchy, read_hierarchy(sources.hierarchy));
  if (hierarchy.is_null()) missing.push_back(absent("the hierarchy", sources.hierarchy, "rung hierarchy"));
  RUNG_TRY(ordered_json protocols, read_protocols(sources.hierarchy));
  ExperimentRecords records;
  for (const std::string& folder : sources.shipped) RUNG_CHECK(read_shipped(folder, records));
  RUNG_CHECK(read_own(sources.labs, records));
  if (records.results.empty())
    missing.push_back(absent("experiments", sources.labs, "rung lab constructions"));
  RUNG_TRY(ordered_json runs, read_runs(sources.store));
  if (runs.is_null()) missing.push_back(absent("runs", sources.store, "rung train linear --task eva --n 16"));
  ordered_json ceilings = ceiling_curves(records.results);
  ordered_json document = {{"schema", "rung.report/1"},
                           {"version", program_version()},
                           {"made", utc_now()},
                           {"live", sources.live},
                           {"hierarchy", std::move(hierarchy)},
                           {"lab", std::move(records.results)},
                           {"sweeps", std::move(records.sweeps)},
                           {"runs", std::move(runs)},
                           {"horizons", released_horizons()},
                           {"protocols", std::move(protocols)},
                           {"opening", opening_counts()},
                           {"precision", proved_precision()},
                           {"ceilings", std::move(ceilings)},
                           {"absent", std::move(missing)}};
  std::set<std::string> cited;
  collect_theorems(document, cited);
  document["theorems"] = theorem_entries(cited);
  return document;
}

}  // namespace rung::report
