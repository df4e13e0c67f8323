// What came of one configuration of an experiment: the label that the bounds gave it beforehand, and what was
// measured.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "rung/evaluation/interval.h"
#include "rung/evaluation/label.h"
#include "rung/lab/state_capacity.h"

namespace rung::lab {

// The best learning rate of one seed: chosen by the last evaluation during training, scored on fresh
// instances.
struct SeedScore {
  std::uint64_t seed = 1;
  double rate = 0;
  std::uint64_t right = 0, of = 0;  // answers
  bool exhaustive = false;          // every instance of the task at this size was run
  double accuracy() const { return of ? static_cast<double>(right) / static_cast<double>(of) : 0; }
  bool operator==(const SeedScore&) const = default;
};

// One point of an attack's cost.
struct CostPoint {
  std::int64_t layers = 1, bits = 0;  // bits a layer
  double lg_evaluations = 0, seconds = 0;
  bool found = false;
  bool operator==(const CostPoint&) const = default;
};

enum class Origin {
  trained,  // weights that gradient descent found
  written,  // weights that a proof writes down
  attack,   // no weights of its own: what a search costs
};

struct Outcome {
  std::string id;
  Origin origin = Origin::trained;
  Label label;
  std::vector<SeedScore> scores;  // empty: nothing was measured; `trouble` says why
  std::vector<CostPoint> costs;   // of an attack
  std::optional<StateCapacity> capacity;
  std::string note, trouble;  // one line each
  std::string record;         // id of the run's record
  double seconds = 0;

  double mean() const;                            // over the seeds; 0 without scores
  std::optional<ShareInterval> interval() const;  // over the seeds; nothing for fewer than two
};

nlohmann::ordered_json outcome_json(const Outcome& outcome);
// The inverse, for a finished configuration that is not run again. Errors: a file that is none.
Result<Outcome> parse_outcome(const std::string& text, const std::string& where);

}  // namespace rung::lab
