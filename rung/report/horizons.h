// Horizons of released models: from which context on a task is certified impossible, whatever the weights.
//
// The configurations travel with the program (embedded_file.h); nothing is read from disk. Softmax layers are
// read as exact integers of the model's own width (mode X), as `rung bound` does when it assumes exact sums; files
// that quote only some fields get the defaults of their class.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rung/released/embedded_config.h"
#include "rung/theory/theorem.h"

namespace rung::report {

struct TaskHorizon {
  std::string task;
  Outcome verdict = Outcome::open;  // at the model's own context
  std::string theorem;              // of the first that certifies, or of the verdict
  Status status = Status::proved;
  Parameter horizon;  // tokens, or nothing
};

struct CompositionHorizon {
  struct Certified {
    Parameter tokens, L;
    std::string theorem;
    Status status = Status::proved;
  };
  std::optional<int> solvable, impossible;  // the largest and the smallest L at the model's own context
  std::optional<Certified> certified;       // from how many tokens on some L is impossible
};

struct ModelHorizons {
  std::string model;
  bool partial = false;
  std::string word;
  std::size_t layers = 0, full = 0;
  Parameter state_bits;
  std::optional<std::int64_t> context;  // nothing: the file does not say
  std::vector<TaskHorizon> tasks;
  CompositionHorizon composition;
};

// One entry a model that can be read, in the order of the files.
std::vector<ModelHorizons> released_horizons(std::span<const EmbeddedConfig> configs);
// The same for the configurations that the program carries, worked out once.
const std::vector<ModelHorizons>& released_horizons();

nlohmann::ordered_json horizons_json(const std::vector<ModelHorizons>& models);

}  // namespace rung::report
