// An experiment, run: every configuration labelled by the bounds before anything is trained, then run, then
// every prediction decided.
//
// The folder: experiment.json (what is run; a folder belongs to one experiment, size and number of seeds);
// ID/, the training run of a configuration with its checkpoints; ID.json, its outcome, once it is finished;
// records.json, the ids of what the store holds of it; verdicts.json; results.json, the whole in the form
// that is kept (results.h), also of a run that was stopped. A run that was stopped or killed is resumed:
// finished configurations are not run again, members resume from their checkpoints, records are written once.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rung/lab/experiment.h"
#include "rung/learn/ensemble.h"
#include "rung/ranks/ranks.h"
#include "rung/store/store.h"

namespace rung::lab {

struct LabOptions {
  std::string folder;
  bool resume = false;
  Store* store = nullptr;
  Ranks* ranks = nullptr;              // those who share the work; rank 0 alone writes records and results
  std::vector<std::string> only = {};  // ids of configurations, with *; the others are left; empty: all
  int workers = 0;                     // of training on a CPU; 0: the cores of this machine
  std::function<bool()> stop = {};     // asked between steps
  std::function<void(const std::string& configuration, const learn::EnsembleProgress&)> progress = {};
  std::function<void(const Outcome&)> finished = {};  // after each configuration
};

struct LabResult {
  std::vector<Outcome> outcomes;  // in the order of the configurations; those not run have no scores
  std::vector<Finding> findings;  // a prediction each
  bool stopped = false;           // findings are then about what is there
  std::size_t left = 0;           // configurations that LabOptions::only left; likewise
  double seconds = 0;
};

// What the bounds say of each configuration; nothing is run. Errors: a configuration that cannot be made.
Result<std::vector<Outcome>> label_all(const Experiment& experiment);

// Errors: `only` names no configuration. REQUIRES no ranks, or ranks->leads().
Result<LabResult> run_experiment(const Experiment& experiment, const LabOptions& options);
// What the other ranks do meanwhile: configurations that rank 0 hands out, until it has no more. The folder
// is one that all ranks see; options.store is not used. REQUIRES options.ranks, !options.ranks->leads().
Result<void> help_experiment(const Experiment& experiment, const LabOptions& options);

// One prediction against the outcomes that it names.
Finding judge(const Prediction& prediction, const std::vector<Outcome>& outcomes);

}  // namespace rung::lab
