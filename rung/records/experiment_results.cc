#include "rung/records/experiment_results.h"

#include "rung/base/json_fields.h"
#include "rung/records/earlier_words.h"

namespace rung {

using nlohmann::ordered_json;

template <class Fields>
void describe(Fields& field, SeedScore& x) {
  field.need("seed", x.seed);
  field("rate", x.rate);
  field.need("right", x.right);
  field.need("answers", x.of);
  if constexpr (!Fields::kReads) field("accuracy", x.accuracy());
  field("exhaustive", x.exhaustive);
  field.some("carried_bits", x.carried_bits);
}

template <class Fields>
void describe(Fields& field, CostPoint& x) {
  field("layers", x.layers, "bits", x.bits, "lg_evaluations", x.lg_evaluations, "seconds", x.seconds, "found",
        x.found);
}

template <class Fields>
void describe(Fields& field, WrittenPrecision& x) {
  field("used", x.used);
  field.some("proved", x.proved, "measured", x.measured);
}

template <class Fields>
void describe(Fields& field, StateCapacity& x) {
  field("n", x.n, "alphabet", x.alphabet, "elements", x.elements, "one_level", x.one_level, "table_bits",
        x.table_bits, "mean_bits", x.mean_bits, "accuracy_bound", x.accuracy_bound, "kept_bits", x.kept_bits);
  if constexpr (!Fields::kReads) field("bits_per_element", x.per_element());
}

template <class Fields>
void describe(Fields& field, Separation& x) {
  field("needed_bits", x.needed, "fetched", x.fetched, "bits", x.bits, "carried_bits", x.carried,
        "state_bits", x.state, "table_bits", x.table);
  if constexpr (!Fields::kReads) field("separated", x.separated());
}

template <class Fields>
void describe(Fields& field, MemberCurve& x) {
  field("seed", x.seed, "rate", x.rate, "chosen", x.chosen, "curve", x.points);
}

template <class Fields>
void describe(Fields& field, ConfigurationOutcome& x) {
  field.need("id", x.id);
  field("origin", x.origin, "arch", x.subject.arch, "task", x.subject.task, "size", x.subject.size);
  std::optional<LabelClass> letter;  // a search has none
  if (x.origin != Origin::attack) letter = x.label.letter;
  field("label", letter);
  if (Fields::kReads && letter) x.label.letter = *letter;
  field("label_reason", x.label.reason, "ceiling", x.label.ceiling, "ceiling_reason", x.label.ceiling_reason,
        "scores", x.scores);
  field.some("accuracy", x.accuracy, "interval", x.interval, "costs", x.costs, "capacity", x.capacity,
             "precision", x.precision, "separation", x.separation);
  field("device", x.device, "note", x.note, "trouble", x.trouble, "record", x.record, "seconds", x.seconds);
}

template <class Fields>
void describe(Fields& field, PredictionVerdict& x) {
  field.need("id", x.id);
  field("statement", x.statement, "kind", x.kind, "scope", x.scope, "configurations", x.configurations);
  field.some("explains", x.explains);
  if (!Fields::kReads && !x.verdict) return;
  field("verdict", x.verdict, "reason", x.reason, "decides", x.decides);
}

template <class Fields>
void describe(Fields& field, LabDocument& x) {
  if constexpr (!Fields::kReads) field("schema", kLabSchema);
  field("experiment", x.experiment, "tests", x.tests, "size", x.size, "seeds", x.seeds, "configurations",
        x.configurations);
  field.some("dry_run", x.dry_run);
  if (!x.dry_run) {
    field("stopped", x.stopped, "seconds", x.seconds);
  }
  field(x.dry_run ? "predictions" : "verdicts", x.verdicts);
  field.some("folder", x.folder);
}

namespace {

// A curve with the configuration that it belongs to.
struct CurveRow {
  MemberCurve curve;
  std::string configuration, task;
};

template <class Fields>
void describe(Fields& field, CurveRow& x) {
  describe(field, x.curve);
  field("configuration", x.configuration, "task", x.task);
}

}  // namespace

template <class Fields>
void describe(Fields& field, ExperimentResults& x) {
  if constexpr (!Fields::kReads) field("schema", kResultsSchema);
  field("command", x.command, "provenance", x.provenance, "lab", x.lab);
  std::vector<CurveRow> rows;
  if constexpr (!Fields::kReads)
    for (const ConfigurationOutcome& outcome : x.lab.configurations)
      for (const MemberCurve& curve : outcome.curves)
        rows.push_back({curve, outcome.id, outcome.subject.task});
  field("curves", rows);
  if constexpr (Fields::kReads)
    for (const CurveRow& row : rows)
      for (ConfigurationOutcome& outcome : x.lab.configurations)
        if (outcome.id == row.configuration) outcome.curves.push_back(row.curve);
}

ordered_json lab_json(const LabDocument& document) { return to_fields(document); }
ordered_json results_json(const ExperimentResults& results) { return to_fields(results); }
ordered_json outcome_json(const ConfigurationOutcome& outcome) { return to_fields(outcome); }
ordered_json note_json(const LabNote& note) { return to_fields(note); }
ordered_json verdict_json(const PredictionVerdict& verdict) { return to_fields(verdict); }

Result<std::optional<ExperimentResults>> parse_results(const std::string& text, const std::string& where) {
  RUNG_TRY(ordered_json json, parse_document(text, "[results] " + where));
  const std::string schema = schema_of(json);
  if (schema == kFirstResultsSchema)
    translate_results(json);
  else if (schema != kResultsSchema)
    return std::optional<ExperimentResults>();
  spell_forms(json);
  RUNG_TRY(ExperimentResults results, from_fields<ExperimentResults>(json, "[results] " + where));
  return std::optional(std::move(results));
}

std::string outcome_text(const ConfigurationOutcome& outcome) {
  ordered_json json = to_fields(outcome);
  json["curves"] = to_fields(outcome.curves);
  return json.dump(1) + "\n";
}

Result<ConfigurationOutcome> parse_outcome(const std::string& text, const std::string& where) {
  RUNG_TRY(ordered_json json, parse_document(text, "[lab] " + where));
  // Of a run that 0.1.0 began: the class of a search.
  if (const auto label = json.find("label"); label != json.end() && *label == "-") *label = nullptr;
  spell_forms(json);
  RUNG_TRY(ConfigurationOutcome out, from_fields<ConfigurationOutcome>(json, "[lab] " + where));
  std::optional<Error> error;
  FieldReader reader(json, "[lab] " + where, error);
  reader.need("scores", out.scores);
  reader("curves", out.curves);
  if (error) return *error;
  return out;
}

}  // namespace rung
