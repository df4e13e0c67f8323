// One configuration: its label before it is run, and its outcome.
#pragma once

#include "rung/lab/laboratory.h"

namespace rung::lab {

// A model trained for p bits is labelled, and later scored, as the p-bit model that the exact machine runs;
// other trained models as fp32.
Result<Outcome> labelled(const Configuration& configuration);

struct RunOptions {
  std::string folder;  // of the training run
  LabNote note;        // of its records
  const LabOptions* lab = nullptr;
};
// Nothing where it was stopped. REQUIRES outcome == *labelled(configuration).
Result<std::optional<Outcome>> run_configuration(const Configuration& configuration, Outcome outcome,
                                                 const RunOptions& options);

}  // namespace rung::lab
