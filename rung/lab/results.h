// What an experiment found, as documents (rung/records/experiment_results.h).
#pragma once

#include "rung/lab/laboratory.h"

namespace rung::lab {

// Labels and predictions alone: nothing was run.
LabDocument labels_document(const Experiment& experiment, const std::vector<Outcome>& outcomes);
// The whole, with a verdict for each prediction.
LabDocument lab_document(const Experiment& experiment, const LabResult& result);
// lab_document, and where it comes from: version, host, device, date, command.
ExperimentResults results_document(const Experiment& experiment, const LabResult& result);

}  // namespace rung::lab
