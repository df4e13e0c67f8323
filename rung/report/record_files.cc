#include "rung/report/record_files.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "rung/base/json_text.h"
#include "rung/report/thinning.h"

namespace rung::report {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// Through parse_json for its limits; the order of a file's fields is kept nowhere else.
Result<nlohmann::json> read_document(const std::string& path) {
  RUNG_TRY(const std::string text, read_text_file(path, "report"));
  auto document = parse_json(text, "report");
  if (!document) return fail(ErrorCode::format, "[report] {}: {}", path, document.error().message);
  if (!document->is_object()) return fail(ErrorCode::format, "[report] {}: expected a JSON object", path);
  return document;
}

std::string schema_of(const nlohmann::json& document) {
  const auto found = document.find("schema");
  return found != document.end() && found->is_string() ? found->get<std::string>() : "";
}

void thin(nlohmann::json& holder, const char* field) {
  const auto found = holder.find(field);
  if (found == holder.end() || !found->is_array()) return;
  *found = curve_document(thinned(read_curve(*found), kCurvePoints));
}

void round_numbers(nlohmann::json& node) {
  if (node.is_number_float()) node = std::round(node.get<double>() * 1e3) / 1e3;
  if (node.is_array())
    for (auto& child : node) round_numbers(child);
}

// A cell as the page wants it. Fields of other shapes than the format's are left to the page, which shows
// what it knows.
void lighten_cell(nlohmann::json& cell) {
  if (!cell.is_object()) return;
  if (const auto training = cell.find("training"); training != cell.end() && training->is_object()) {
    thin(*training, "curve");
    if (const auto curves = training->find("curves"); curves != training->end() && curves->is_array())
      for (auto& curve : *curves) curve = curve_document(thinned(read_curve(curve), kCurvePoints));
  }
  const auto construction = cell.find("construction");
  if (construction == cell.end() || !construction->is_object()) return;
  const auto attention = construction->find("attention");
  if (attention == construction->end() || !attention->is_object()) return;
  const auto tokens = attention->find("tokens");
  if (tokens == attention->end() || !tokens->is_array() || tokens->size() > kAttentionTokens) {
    construction->erase("attention");
    return;
  }
  if (const auto layers = attention->find("layers"); layers != attention->end() && layers->is_array())
    for (auto& layer : *layers)
      if (layer.is_object() && layer.contains("weights")) round_numbers(layer["weights"]);
}

void lighten_cells(nlohmann::json& holder) {
  const auto cells = holder.find("cells");
  if (cells == holder.end() || !cells->is_array()) return;
  for (auto& cell : *cells) lighten_cell(cell);
}

Result<void> take(const std::string& path, const char* origin, ExperimentRecords& into) {
  RUNG_TRY(nlohmann::json document, read_document(path));
  const std::string schema = schema_of(document);
  const bool results = schema == "rung.results/1", sweep = schema == "rung.build-sweep/1";
  if (!results && !sweep) return {};
  if (results) {
    if (const auto curves = document.find("curves"); curves != document.end() && curves->is_array())
      for (auto& curve : *curves)
        if (curve.is_object()) thin(curve, "curve");
  }
  ordered_json record = {{"origin", origin}, {"file", fs::path(path).filename().string()}};
  record.update(ordered_json(std::move(document)));
  (results ? into.results : into.sweeps).push_back(std::move(record));
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

}  // namespace

Result<ordered_json> read_hierarchy(const std::string& folder) {
  const fs::path path = fs::path(folder) / "hierarchy.json";
  std::error_code code;
  if (!fs::exists(path, code)) return ordered_json(nullptr);
  RUNG_TRY(nlohmann::json document, read_document(path.string()));
  if (schema_of(document) != "rung.hierarchy/1")
    return fail(ErrorCode::format, "[report] {}: expected schema rung.hierarchy/1", path.string());
  lighten_cells(document);
  if (const auto highlights = document.find("highlights");
      highlights != document.end() && highlights->is_array())
    for (auto& highlight : *highlights)
      if (highlight.is_object()) lighten_cells(highlight);
  return ordered_json(std::move(document));
}

Result<ordered_json> read_protocols(const std::string& folder) {
  ordered_json out = ordered_json::array();
  for (const char* kind : {"built", "broken"}) {
    const fs::path path = fs::path(folder) / "protocols" / (std::string(kind) + ".json");
    std::error_code code;
    if (!fs::exists(path, code)) continue;
    RUNG_TRY(nlohmann::json document, read_document(path.string()));
    if (!schema_of(document).starts_with("rung.protocol"))
      return fail(ErrorCode::format, "[report] {}: expected a document of rung protocol", path.string());
    out.push_back({{"kind", kind}, {"document", std::move(document)}});
  }
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

}  // namespace rung::report
