// The four kinds of evidence of a cell (rung/records/hierarchy_document.h), each made here. Whatever a recipe does
// not ask for has state none and its reason; whatever the outside world refuses is an error of the whole cell.
#pragma once

#include <functional>

#include "rung/hierarchy/recipe.h"
#include "rung/records/hierarchy_document.h"
#include "rung/records/training_run.h"

namespace rung {

// What a cell is made with.
struct EvidenceContext {
  std::string folder;                // models/, certificates/ and training/ are below it
  std::string checker;               // rung-check; empty: missing
  TrainFunction train = {};          // empty: missing
  std::vector<std::string> results;  // the folders of shipped records
  double training_seconds = 15;      // of one training
  double attack_seconds = 30;        // of one search
  std::function<bool()> stop = {};   // asked often; true: end early
};

// A piece of evidence that is not there.
template <class Piece>
Piece absent(const Absence& absence) {
  Piece piece;
  piece.reason = absence.reason;
  piece.brief = absence.brief;
  return piece;
}

// What theory says of this very file's architecture and widths on the task.
Result<BoundEvidence> bound_evidence(const Weights& weights, const Task& task);
// The same of an architecture without weights.
Result<BoundEvidence> bound_evidence(const AskedRecipe& asked, const Task& task);

// Builds, verifies and writes the model; `built` receives the weights when it passed.
Result<ConstructionEvidence> construction_evidence(const ConstructionRecipe& recipe, const TaskSizes& size,
                                                   const std::string& name, const EvidenceContext& context,
                                                   std::optional<Weights>& built);

// Attacks random weights, writes model and certificate, and has them checked. The state is `verified` when
// rung-check's exit code is 0 and never otherwise, `refuted` when it rejects.
Result<CertificateEvidence> certificate_evidence(const AttackRecipe& recipe, std::shared_ptr<const Task> task,
                                                 const std::string& name, const EvidenceContext& context,
                                                 std::optional<Weights>& broken);
// Runs rung-check on the files that the evidence names and sets `state`, `checker` and, where it did not end
// with 0, `reason`.
Result<void> check_certificate(CertificateEvidence& evidence, const EvidenceContext& context);

// Trains within the context's seconds.
Result<TrainingEvidence> training_evidence(const TrainingRecipe& recipe, const Task& task,
                                           const std::string& name, const EvidenceContext& context);
// The shipped records (rung.results/2) of trained stacks of the row's kind on the task (seqcomp: with as many functions).
struct ShippedEvidence {
  std::optional<TrainingEvidence> best;  // in accuracy; nothing: there is none
  // Of the experiment `cells`, in its order: the row at several sizes of its state, without curves.
  std::vector<TrainingEvidence> states;
};
ShippedEvidence shipped_evidence(const std::string& row, const std::string& task, const TaskSizes& size,
                                 const EvidenceContext& context);

TaskSizes sizes_of(const Task& task);

}  // namespace rung
