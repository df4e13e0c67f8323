// What an experiment found, as documents: `rung.lab/1`, which `rung lab --json` prints, and `rung.results/1`,
// the compact file that is kept and shown beside others (docs/lab.md has both).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "rung/lab/laboratory.h"

namespace rung::lab {

nlohmann::ordered_json prediction_json(const Prediction& prediction);
// Schema, experiment and configurations alone.
nlohmann::ordered_json labels_document(const Experiment& experiment, const std::vector<Outcome>& outcomes);
// The whole, with a verdict for each prediction.
nlohmann::ordered_json lab_document(const Experiment& experiment, const LabResult& result);
// lab_document, the curves, and where they come from: version, host, device, date, command.
nlohmann::ordered_json results_document(const Experiment& experiment, const LabResult& result);

}  // namespace rung::lab
