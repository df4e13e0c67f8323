#include "rung/lab/results.h"

#include <nlohmann/json.hpp>

#include "rung/store/provenance.h"

namespace rung::lab {

using nlohmann::ordered_json;

ordered_json prediction_json(const Prediction& prediction) {
  return {{"id", prediction.id},
          {"statement", prediction.statement},
          {"kind", kind_name(prediction.kind)},
          {"scope", scope_name(prediction.scope)},
          {"configurations", prediction.configurations}};
}

ordered_json labels_document(const Experiment& experiment, const std::vector<Outcome>& outcomes) {
  ordered_json rows = ordered_json::array();
  for (const Outcome& outcome : outcomes) rows.push_back(outcome_json(outcome));
  return {{"schema", "rung.lab/1"},  {"experiment", experiment.name}, {"tests", experiment.tests},
          {"size", experiment.size}, {"seeds", experiment.seeds},     {"configurations", rows}};
}

ordered_json lab_document(const Experiment& experiment, const LabResult& result) {
  ordered_json document = labels_document(experiment, result.outcomes);
  document.update({{"stopped", result.stopped}, {"seconds", result.seconds}});
  document["verdicts"] = ordered_json::array();
  for (std::size_t i = 0; i < result.findings.size(); ++i) {
    ordered_json row = prediction_json(experiment.predictions[i]);
    row.update({{"verdict", decision_name(result.findings[i].decision)},
                {"reason", result.findings[i].reason},
                {"decides", result.findings[i].decides}});
    document["verdicts"].push_back(row);
  }
  return document;
}

ordered_json results_document(const Experiment& experiment, const LabResult& result) {
  Record here;
  here.kind = "run";
  here.state = RecordState::done;
  stamp(here);
  double seconds = 0;
  std::string device;
  ordered_json curves = ordered_json::array();
  for (const Outcome& outcome : result.outcomes) {
    seconds += outcome.seconds;
    if (device.empty()) device = outcome.device;
    for (ordered_json& curve : curves_json(outcome)) {
      curve["configuration"] = outcome.id;
      curve["task"] = outcome.subject.task;
      curves.push_back(std::move(curve));
    }
  }
  return {{"schema", "rung.results/1"},
          {"command", fmt::format("rung lab {} --size {} --seeds {}", experiment.name, experiment.size,
                                  experiment.seeds)},
          {"provenance",
           {{"version", here.version},
            {"libraries", here.libraries},
            {"machine", here.host},
            {"device", device},
            {"date", here.finished},
            {"seconds", seconds}}},
          {"lab", lab_document(experiment, result)},
          {"curves", curves}};
}

}  // namespace rung::lab
