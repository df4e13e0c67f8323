// An experiment: what it tests, its configurations at each size, and its predictions, as a file declares them
// before anything is run (docs/lab.md is the format document). The experiments of the repository are part of
// the program; any other comes from a TOML or JSON file of the same form.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rung/constructions/construction.h"
#include "rung/lab/verdict.h"
#include "rung/records/training_plan.h"

namespace rung::lab {

// A construction at the precision that its lemma proves, less `below` bits.
struct WrittenModel {
  ConstructionRequest request;
  int below = 0;
  bool smallest = false;            // and the smallest precision that passes is searched for
  std::int64_t budget = 2'000'000;  // instances up to which all are run
};

// One line of an attack's cost: random models whose states forget nothing, at these bits a layer.
struct AttackLine {
  std::string mixer;  // as retentive_target has it (rung/adversary/scaling.h)
  std::int64_t layers = 1, n = 0;
  std::vector<std::int64_t> bits;  // a layer; ascending
};

// The cost series of one attack (rung/adversary/scaling.h), or one line of it that the file chooses.
struct AttackSeries {
  std::string method;
  double seconds = 30, seconds_per_point = 10;
  std::optional<AttackLine> line;
};

struct Configuration {
  std::string id;
  std::variant<TrainingPlan, WrittenModel, AttackSeries> what;
};

struct Experiment {
  std::string name, tests;  // tests: one sentence
  std::string size;         // "small" or "gpu"
  std::int64_t seeds = 1;
  std::vector<Configuration> configurations;
  std::vector<Prediction> predictions;
  std::string document;  // the whole of it as JSON, with the size and the seeds: equal documents are equal
                         // experiments
};

inline constexpr std::int64_t kMostSeeds = 1000;

// The experiments of the repository, in the order of docs/lab.md.
struct ExperimentWord {
  std::string name, tests;
  std::vector<std::string> sizes;
};
std::vector<ExperimentWord> experiment_words();

// Errors name the field and, of unknown words, the nearest. seeds 0: as many as the file says.
Result<Experiment> find_experiment(const std::string& name, const std::string& size, std::int64_t seeds);
Result<Experiment> read_experiment(const std::string& path, const std::string& size, std::int64_t seeds);
Result<Experiment> parse_experiment(const std::string& json, const std::string& where,
                                    const std::string& size, std::int64_t seeds);

}  // namespace rung::lab
