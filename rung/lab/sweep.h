// The configurations of an experiment that are still to be run: one after the other on one rank, or handed
// out to all of them, the expensive ones first.
#pragma once

#include <functional>

#include "rung/lab/laboratory.h"

namespace rung::lab {

struct Sweep {
  const Experiment& experiment;
  const LabOptions& options;
  const std::vector<Outcome>& labels;        // of every configuration, as labelled() says
  std::vector<std::size_t> left;             // configurations to run
  std::function<LabNote(std::size_t)> note;  // of the records of a configuration
  std::function<Result<void>(std::size_t, Outcome)>
      keep;  // its outcome; one call at a time, on the caller's thread
};

// True where it was stopped before all were run. An error of one configuration ends the sweep.
Result<bool> run_sweep(const Sweep& sweep);

// By which the order is chosen: tokens that are trained on times layers, or what costs about as much. Only
// the order depends on it.
double expected_cost(const Configuration& configuration);

}  // namespace rung::lab
