#include "rung/report/record_files.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "rung/base/json_text.h"
#include "rung/records/earlier_words.h"

namespace rung::report {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

void lighten(std::vector<AccuracyCurve>& curves) {
  for (AccuracyCurve& curve : curves) curve = rounded(thinned(curve, kCurvePoints));
}

// A cell as the page wants it.
void lighten(HierarchyCell& cell) {
  lighten(cell.training.curves);
  auto& attention = cell.construction.attention;
  if (attention && attention->tokens.size() > kAttentionTokens) attention.reset();
  if (attention)
    for (auto& head : attention->layers)
      for (auto& row : head.weights)
        for (double& weight : row) weight = std::round(weight * 1e3) / 1e3;
}

Result<void> take(const std::string& path, const char* origin, ExperimentRecords& into) {
  const std::string file = fs::path(path).filename().string();
  RUNG_TRY(const std::string text, read_text_file(path, "report"));
  RUNG_TRY(auto results, parse_results(text, path));
  if (results) {
    for (ConfigurationOutcome& outcome : results->lab.configurations)
      for (MemberCurve& curve : outcome.curves) curve.points = rounded(thinned(curve.points, kCurvePoints));
    into.results.push_back({origin, file, std::move(*results)});
    return {};
  }
  RUNG_TRY(ordered_json document, parse_document(text, "[report] " + path));
  spell_forms(document);
  if (schema_of(document) == "rung.build-sweep/1") into.sweeps.push_back({origin, file, std::move(document)});
  return {};
}

// In the order of their names: the page does not depend on the file system.
std::vector<fs::path> sorted(const std::string& folder) {
  std::vector<fs::path> out;
  std::error_code code;
  for (fs::directory_iterator at(folder, code), end; !code && at != end; at.increment(code))
    out.push_back(at->path());
  std::sort(out.begin(), out.end());
  return out;
}

ordered_json entry_json(const std::string& origin, const std::string& file, const ordered_json& document) {
  ordered_json out = {{"origin", origin}, {"file", file}};
  out.update(document);
  return out;
}

}  // namespace

Result<std::optional<HierarchyDocument>> read_hierarchy(const std::string& folder) {
  const fs::path path = fs::path(folder) / "hierarchy.json";
  std::error_code code;
  if (!fs::exists(path, code)) return std::optional<HierarchyDocument>();
  RUNG_TRY(const std::string text, read_text_file(path.string(), "report"));
  RUNG_TRY(HierarchyDocument document, parse_hierarchy(text, path.string()));
  for (HierarchyCell& cell : document.cells) lighten(cell);
  for (auto& highlight : document.highlights)
    for (HierarchyCell& cell : highlight.cells) lighten(cell);
  return std::optional(std::move(document));
}

Result<std::vector<Protocol>> read_protocols(const std::string& folder) {
  std::vector<Protocol> out;
  for (const char* kind : {"built", "broken"}) {
    const fs::path path = fs::path(folder) / "protocols" / (std::string(kind) + ".json");
    std::error_code code;
    if (!fs::exists(path, code)) continue;
    RUNG_TRY(const std::string text, read_text_file(path.string(), "report"));
    RUNG_TRY(ordered_json document, parse_document(text, "[report] " + path.string()));
    if (!schema_of(document).starts_with("rung.protocol"))
      return fail(ErrorCode::format, "[report] {}: expected a document of rung protocol", path.string());
    spell_forms(document);
    out.push_back({kind, std::move(document)});
  }
  return out;
}

ordered_json protocols_json(const std::vector<Protocol>& protocols) {
  ordered_json out = ordered_json::array();
  for (const Protocol& one : protocols) out.push_back({{"kind", one.kind}, {"document", one.document}});
  return out;
}

Result<void> read_shipped(const std::string& folder, ExperimentRecords& into) {
  for (const fs::path& path : sorted(folder))
    if (path.extension() == ".json") RUNG_CHECK(take(path.string(), "shipped", into));
  return {};
}

Result<void> read_own(const std::string& folder, ExperimentRecords& into) {
  for (const fs::path& path : sorted(folder)) {
    const fs::path results = path / "results.json";
    std::error_code code;
    if (fs::exists(results, code)) RUNG_CHECK(take(results.string(), "own", into));
  }
  return {};
}

ordered_json entries_json(const std::vector<ResultsEntry>& entries) {
  ordered_json out = ordered_json::array();
  for (const auto& entry : entries)
    out.push_back(entry_json(entry.origin, entry.file, results_json(entry.results)));
  return out;
}

ordered_json entries_json(const std::vector<SweepEntry>& entries) {
  ordered_json out = ordered_json::array();
  for (const auto& entry : entries) out.push_back(entry_json(entry.origin, entry.file, entry.document));
  return out;
}

}  // namespace rung::report
