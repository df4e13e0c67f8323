// The four kinds of evidence of a cell, each one JSON object (docs/hierarchy.md has every field). Whatever a
// recipe does not ask for is {"state": "none", "reason": ..., "brief": ...}; whatever the outside world
// refuses is an error of the whole cell.
#pragma once

#include <nlohmann/json.hpp>

#include "rung/hierarchy/recipe.h"

namespace rung {

// What a cell is made with.
struct EvidenceContext {
  std::string folder;                // models/, certificates/ and training/ are below it
  std::string checker, trainer;      // rung-check and rung-learn; empty: missing
  std::vector<std::string> results;  // the folders of shipped records
  double training_seconds = 15;      // of one training
  double attack_seconds = 30;        // of one search
  std::function<bool()> stop = {};   // asked often; true: end early
};

// The models of a cell: random weights that the attack is given, and the built ones.
struct CellModels {
  std::shared_ptr<const Task> task;
  std::optional<Weights> broken, built;
};

nlohmann::ordered_json absent(const Absence& absence);

// What theory says of this very file's architecture and widths on the task.
Result<nlohmann::ordered_json> bound_evidence(const Weights& weights, const Task& task);
// The same of an architecture without weights.
Result<nlohmann::ordered_json> bound_evidence(const AskedRecipe& asked, const Task& task);

// Builds, verifies and writes the model; `built` receives the weights when it passed.
Result<nlohmann::ordered_json> construction_evidence(const ConstructionRecipe& recipe, const TaskSizes& size,
                                                     const std::string& name, const EvidenceContext& context,
                                                     std::optional<Weights>& built);

// Attacks random weights, writes model and certificate, and has them checked. The state is VERIFIED when
// rung-check's exit code is 0, and never otherwise.
Result<nlohmann::ordered_json> certificate_evidence(const AttackRecipe& recipe,
                                                    std::shared_ptr<const Task> task, const std::string& name,
                                                    const EvidenceContext& context,
                                                    std::optional<Weights>& broken);
// Runs rung-check on the files that the evidence names and sets `state`, `checker` and, where it did not end
// with 0, `reason`.
Result<void> check_certificate(nlohmann::ordered_json& evidence, const EvidenceContext& context);

// Trains by a child process within the context's seconds.
Result<nlohmann::ordered_json> training_evidence(const TrainingRecipe& recipe, const Task& task,
                                                 const std::string& name, const EvidenceContext& context);
// Of the shipped records (rung.results/1) the best accuracy that a trained stack of the row's kind reached on
// the task (seqcomp: with as many functions), or nothing.
std::optional<nlohmann::ordered_json> shipped_evidence(const std::string& row, const std::string& task,
                                                       const TaskSizes& size, const EvidenceContext& context);

// "--n 16 --M 33": the task's sizes as flags.
std::vector<std::string> size_flags(const TaskSizes& sizes);
TaskSizes sizes_of(const Task& task);

}  // namespace rung
