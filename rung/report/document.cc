#include "rung/report/document.h"

#include <filesystem>
#include <set>

#include "rung/base/command_line.h"
#include "rung/base/json_fields.h"
#include "rung/base/program_path.h"
#include "rung/store/provenance.h"
#include "rung/tasks/task.h"
#include "rung/theory/theorem.h"

namespace rung::report {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

void cite(std::set<std::string>& into, const HierarchyCell& cell) {
  into.insert(cell.bound.theorem);
  for (const BoundEvidence& bound : cell.further_bounds) into.insert(bound.theorem);
}

std::vector<std::string> cited_theorems(const Document& document) {
  std::set<std::string> cited;
  if (const auto& hierarchy = document.hierarchy) {
    for (const HierarchyCell& cell : hierarchy->cells) cite(cited, cell);
    for (const auto& highlight : hierarchy->highlights)
      for (const HierarchyCell& cell : highlight.cells) cite(cited, cell);
  }
  for (const ModelHorizons& model : document.horizons) {
    for (const TaskHorizon& task : model.tasks) cited.insert(task.theorem);
    if (model.composition.certified) cited.insert(model.composition.certified->theorem);
  }
  cited.insert(document.opening.impossible.verdict.theorem);
  cited.insert(document.opening.possible.verdict.theorem);
  std::vector<std::string> out;
  for (const Theorem& theorem : theorems())
    if (document.live || cited.contains(std::string(theorem.id))) out.emplace_back(theorem.id);
  return out;
}

ordered_json theorem_entries(const std::vector<std::string>& ids) {
  ordered_json out = ordered_json::object();
  for (const std::string& id : ids) {
    const Theorem& t = theorem(id);
    out[id] = {{"title", t.title},
               {"statement", t.statement},
               {"source", source_name(t.source)},
               {"reference", t.reference},
               {"status", status_name(t.status)},
               {"formal", t.formal},
               {"file", t.file},
               {"test", t.test}};
  }
  return out;
}

template <class Word, class Meaning>
ordered_json words_with(Meaning meaning) {
  ordered_json out = ordered_json::object();
  for (std::size_t i = 0; i < kWords<Word>.size(); ++i)
    out[std::string(kWords<Word>[i])] = meaning(static_cast<Word>(i));
  return out;
}

std::string program_version() {
  Record record;
  stamp(record);
  return record.version;
}

}  // namespace

template <class Fields>
void describe(Fields& field, Missing& x) {
  field("what", x.what, "where", x.where, "command", x.command);
}

std::vector<std::string> shipped_results() {
  const fs::path here = program_folder();
  if (here.empty()) return {};
  // Installed, and in a build tree below the sources: build/ or build/PRESET/.
  return {(here / ".." / "share" / "rung" / "results").lexically_normal().string(),
          (here / ".." / "results").lexically_normal().string(),
          (here / ".." / ".." / "results").lexically_normal().string()};
}

Result<Document> gather(const Sources& sources) {
  Document out{.version = program_version(), .made = utc_now(), .live = sources.live};
  RUNG_TRY(out.hierarchy, read_hierarchy(sources.hierarchy));
  if (!out.hierarchy) out.absent.push_back({"the hierarchy", sources.hierarchy, "rung hierarchy"});
  RUNG_TRY(out.protocols, read_protocols(sources.hierarchy));
  for (const std::string& folder : sources.shipped) RUNG_CHECK(read_shipped(folder, out.experiments));
  RUNG_CHECK(read_own(sources.labs, out.experiments));
  if (out.experiments.results.empty())
    out.absent.push_back({"experiments", sources.labs, "rung lab constructions"});
  RUNG_TRY(out.runs, read_runs(sources.store));
  if (!out.runs)
    out.absent.push_back(
        {"runs", sources.store,
         CommandLine({"rung", "train", "linear"}).option("task", "eva").option("n", 16).text()});
  out.horizons = released_horizons();
  out.opening = opening_counts();
  out.precision = proved_precision();
  out.ceilings = ceiling_curves(out.experiments.results);
  out.theorems = cited_theorems(out);
  return out;
}

ordered_json document_json(const Document& document) {
  ordered_json json = {
      {"schema", "rung.report/2"},
      {"version", document.version},
      {"made", document.made},
      {"live", document.live},
      {"hierarchy", document.hierarchy ? hierarchy_json(*document.hierarchy) : ordered_json()},
      {"lab", entries_json(document.experiments.results)},
      {"sweeps", entries_json(document.experiments.sweeps)},
      {"runs", document.runs ? runs_json(*document.runs) : ordered_json()},
      {"horizons", horizons_json(document.horizons)},
      {"protocols", protocols_json(document.protocols)},
      {"opening", opening_json(document.opening)},
      {"precision", {{"rows", precision_json(document.precision)}}},
      {"ceilings", to_fields(document.ceilings)},
      {"absent", to_fields(document.absent)},
      {"theorems", theorem_entries(document.theorems)},
      {"words",
       {{"bound", words_with<Outcome>(outcome_meaning)},
        {"evidence", words_with<Evidence>(evidence_meaning)},
        {"prediction", words_with<Decision>(decision_meaning)},
        {"label", words_with<LabelClass>(label_meaning)}}}};
  if (document.live)
    for (const TaskWord& word : task_words()) json["tasks"][std::string(word.name)] = word.summary;
  return json;
}

std::string document_text(const Document& document) {
  return document_json(document).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace rung::report
