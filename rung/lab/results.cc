#include "rung/lab/results.h"

#include "rung/base/command_line.h"
#include "rung/store/provenance.h"

namespace rung::lab {

LabDocument labels_document(const Experiment& experiment, const std::vector<Outcome>& outcomes) {
  LabDocument out{experiment.name, experiment.tests, experiment.size, experiment.seeds, outcomes};
  out.dry_run = true;
  for (const Prediction& prediction : experiment.predictions)
    out.verdicts.push_back({prediction.id,
                            prediction.statement,
                            prediction.kind,
                            prediction.scope,
                            prediction.configurations,
                            prediction.explains,
                            {},
                            {},
                            {}});
  return out;
}

LabDocument lab_document(const Experiment& experiment, const LabResult& result) {
  LabDocument out = labels_document(experiment, result.outcomes);
  out.dry_run = false;
  out.stopped = result.stopped || result.left > 0;
  out.seconds = result.seconds;
  out.verdicts.resize(result.findings.size());
  for (std::size_t i = 0; i < result.findings.size(); ++i) {
    out.verdicts[i].verdict = result.findings[i].decision;
    out.verdicts[i].reason = result.findings[i].reason;
    out.verdicts[i].decides = result.findings[i].decides;
  }
  return out;
}

ExperimentResults results_document(const Experiment& experiment, const LabResult& result) {
  Record here;
  here.kind = "run";
  here.state = RecordState::done;
  stamp(here);
  ExperimentResults out{.command = CommandLine({"rung", "lab", experiment.name})
                                       .option("size", experiment.size)
                                       .option("seeds", experiment.seeds)
                                       .text(),
                        .provenance = {here.version, here.libraries, here.host, {}, here.finished, 0},
                        .lab = lab_document(experiment, result)};
  for (const Outcome& outcome : result.outcomes) {
    out.provenance.seconds += outcome.seconds;
    if (out.provenance.device.empty()) out.provenance.device = outcome.device;
  }
  return out;
}

}  // namespace rung::lab
