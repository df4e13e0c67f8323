#include "rung/records/hierarchy_document.h"

#include <cmath>

#include "rung/base/json_fields.h"
#include "rung/base/json_text.h"
#include "rung/records/earlier_words.h"

namespace rung {

using nlohmann::ordered_json;

std::optional<double> NumberList::find(std::string_view name) const {
  for (const auto& [own, value] : entries)
    if (own == name) return value;
  return std::nullopt;
}

void NumberList::set(const std::string& name, std::optional<double> value) {
  for (auto& [own, kept] : entries)
    if (own == name) {
      kept = value;
      return;
    }
  entries.emplace_back(name, value);
}

void to_json(ordered_json& json, const NumberList& numbers) {
  json = ordered_json::object();
  for (const auto& [name, value] : numbers.entries) {
    if (value && *value == std::floor(*value) && std::abs(*value) < 0x1p53)
      json[name] = static_cast<std::int64_t>(*value);
    else
      json[name] = value ? ordered_json(*value) : ordered_json();
  }
}

bool read_fields(const ordered_json& json, NumberList& numbers) {
  if (!json.is_object()) return false;
  numbers.entries.clear();
  for (const auto& [name, value] : json.items()) {
    if (!value.is_number() && !value.is_null()) return false;
    numbers.entries.emplace_back(name, value.is_null() ? std::nullopt : std::optional(value.get<double>()));
  }
  return true;
}

template <class Fields>
void describe(Fields& field, Hypothesis& x) {
  field("text", x.text, "holds", x.holds, "numbers", x.numbers);
}

template <class Fields>
void describe(Fields& field, BoundEvidence& x) {
  field.need("state", x.state);
  field("arch", x.arch, "size", x.size, "theorem", x.theorem, "title", x.title, "statement", x.statement,
        "source", x.source, "reference", x.reference, "status", x.status, "numbers", x.numbers, "inequality",
        x.inequality, "hypotheses", x.hypotheses, "assumes", x.assumes, "argument", x.argument, "command",
        x.command);
}

template <class Fields>
void describe(Fields& field, AttentionPicture::Head& x) {
  field("layer", x.layer, "head", x.head, "weights", x.weights);
}

template <class Fields>
void describe(Fields& field, AttentionPicture& x) {
  field("size", x.size, "arch", x.arch, "tokens", x.tokens, "answer", x.answer, "layers", x.layers);
}

template <class Fields>
void describe(Fields& field, ConstructionEvidence::AllInputs& x) {
  field("holds", x.holds, "leak", x.leak, "gap", x.gap, "reason", x.reason);
}

template <class Fields>
void describe(Fields& field, ConstructionEvidence::Coordinates& x) {
  field("from", x.from, "to", x.to, "name", x.name, "content", x.content);
}

// What every piece of evidence begins with. True where that is all: nothing was asked for.
template <class Fields, class Piece>
bool describe_state(Fields& field, Piece& x) {
  field.need("state", x.state);
  field("reason", x.reason, "brief", x.brief);
  return !Fields::kReads && name_of(x.state) == "none" && x.arch.empty();
}

template <class Fields>
void describe(Fields& field, ConstructionEvidence& x) {
  if (describe_state(field, x)) return;
  field("name", x.name, "claim", x.claim, "reference", x.reference, "lemma", x.lemma, "arch", x.arch, "size",
        x.size, "width", x.width, "precision", x.precision, "precision_proved", x.precision_proved,
        "precision_smallest", x.precision_smallest, "mode", x.mode, "instances", x.instances, "errors",
        x.errors, "seconds", x.seconds, "all_inputs", x.all_inputs, "model", x.model, "coordinates",
        x.coordinates, "invariant", x.invariant, "attention", x.attention, "command", x.command);
}

template <class Fields>
void describe(Fields& field, CertificateEvidence::Checker& x) {
  field("command", x.command, "exit", x.exit, "seconds", x.seconds, "said", x.said);
}

template <class Fields>
void describe(Fields& field, CertificateEvidence::Message& x) {
  field("key", x.key, "value", x.value);
}

template <class Fields>
void describe(Fields& field, CertificateEvidence::Proof& x) {
  field("T", x.T, "x_0", x.x0, "y", x.y);
}

template <class Fields>
void describe(Fields& field, CertificateEvidence& x) {
  if (describe_state(field, x)) return;
  field("arch", x.arch, "size", x.size, "width", x.width, "precision", x.precision, "state_bits",
        x.state_bits, "method", x.method, "why", x.why, "evaluations", x.evaluations, "seconds", x.seconds,
        "model", x.model, "command", x.command);
  field.some("kind", x.kind, "label", x.label, "file", x.file, "first", x.first, "second", x.second, "differ",
             x.differ, "position", x.position, "answers", x.answers, "model_answers", x.model_answers,
             "equal", x.equal, "activation", x.activation, "cut", x.cut, "states", x.states, "block", x.block,
             "message", x.message, "selected", x.selected, "proof", x.proof);
  field("checker", x.checker);
}

template <class Fields>
void describe(Fields& field, TrainingEvidence::Origin& x) {
  field("file", x.file, "configuration", x.configuration, "provenance", x.provenance);
}

template <class Fields>
void describe(Fields& field, TrainingEvidence& x) {
  const bool bare = describe_state(field, x);
  field.some("retry", x.retry);
  if (bare) return;
  field("arch", x.arch, "task", x.task, "size", x.size, "accuracy", x.accuracy, "low", x.low, "high", x.high,
        "accuracies", x.accuracies, "seeds", x.seeds, "steps", x.steps, "label", x.label, "label_reason",
        x.label_reason, "ceiling", x.ceiling, "ceiling_reason", x.ceiling_reason, "curves", x.curves,
        "seconds", x.seconds, "record", x.record, "command", x.command);
}

template <class Fields>
void describe(Fields& field, HierarchyCell& x) {
  field.need("row", x.row);
  field.need("column", x.column);
  field("arch", x.arch, "task", x.task, "size", x.size, "state", x.state);
  field.some("title", x.title, "what", x.what);
  field("bound", x.bound, "further_bounds", x.further_bounds, "construction", x.construction, "certificate",
        x.certificate, "training", x.training);
  field.some("further_trainings", x.further_trainings);
}

template <class Fields>
void describe(Fields& field, HierarchyDocument::Machine& x) {
  field("host", x.host, "workers", x.workers);
}

template <class Fields>
void describe(Fields& field, HierarchyDocument::Column& x) {
  field.need("id", x.id);
  field("title", x.title, "task", x.task, "size", x.size, "prompt_tokens", x.prompt_tokens, "what", x.what);
}

template <class Fields>
void describe(Fields& field, HierarchyDocument::Row& x) {
  field.need("id", x.id);
  field("title", x.title, "arch", x.arch, "what", x.what);
}

template <class Fields>
void describe(Fields& field, HierarchyDocument::Highlight& x) {
  field("id", x.id, "title", x.title, "what", x.what, "cells", x.cells);
}

template <class Fields>
void describe(Fields& field, HierarchyDocument& x) {
  if constexpr (!Fields::kReads) field("schema", kHierarchySchema);
  field("version", x.version, "machine", x.machine, "seconds", x.seconds, "precision", x.precision, "columns",
        x.columns, "rows", x.rows, "cells", x.cells, "highlights", x.highlights);
}

template <class Fields>
void describe(Fields& field, KeptCell& x) {
  field.need("definition", x.definition);
  field.need("cell", x.cell);
}

ordered_json hierarchy_json(const HierarchyDocument& document) { return to_fields(document); }

Result<HierarchyDocument> parse_hierarchy(const std::string& text, const std::string& where) {
  RUNG_TRY(ordered_json json, parse_document(text, "[hierarchy] " + where));
  const std::string schema = schema_of(json);
  if (schema == kFirstHierarchySchema)
    translate_hierarchy(json);
  else if (schema != kHierarchySchema)
    return fail(ErrorCode::format, "[hierarchy] {}: schema {}; expected {}", where, rung::quoted(schema),
                kHierarchySchema);
  spell_forms(json);
  return from_fields<HierarchyDocument>(json, "[hierarchy] " + where);
}

std::string kept_cell_text(const KeptCell& cell) { return to_fields(cell).dump(1) + "\n"; }

Result<KeptCell> parse_kept_cell(const std::string& text, const std::string& where) {
  RUNG_TRY(const ordered_json json, parse_document(text, "[hierarchy] " + where));
  return from_fields<KeptCell>(json, "[hierarchy] " + where);
}

}  // namespace rung
