// A training run: all members of a plan, on this machine, into a folder and the store.
//
// On a CPU the members run as one-thread workers pinned to cores, each with its own checkpoint; on a GPU they
// are one batched program. A member's curve does not depend on the others: bit for bit on a CPU, within
// rounding on a GPU.
//
// The folder: plan.json; checkpoint-K.safetensors while members run; member-K.safetensors, a weights file
// each, when they end; curves.csv. Finished members are never trained again: a stopped or killed run is resumed
// from its checkpoints.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rung/records/member_progress.h"
#include "rung/spec/weights.h"
#include "rung/store/store.h"

namespace rung::learn {

// What a finished member had not done: with a support "stayed at the first of 3 stages", "at stage 2 of 3"; with patience
// "still learning at the last step". Empty where there is nothing to say.
std::string ending_note(const TrainingPlan& plan, const std::vector<CurvePoint>& curve);

struct EnsembleResult {
  std::string run;  // id of the record; empty without a store
  std::vector<MemberResult> members;
  bool stopped = false;
  double seconds = 0, tokens_per_second = 0;
  std::string device;
  std::int64_t predicted_bytes = 0, peak_bytes = 0;
};

struct EnsembleProgress {
  std::int64_t members = 0, members_done = 0;
  std::int64_t steps_done = 0,
               steps_total = 0;  // over all members; an early stop makes the total an upper bound
  double loss = 0, accuracy = 0, tokens_per_second = 0, seconds = 0;
  double stage = 0;         // of the support, from 0: the mean of the members that report
  std::int64_t stages = 1;  // of the support
};

struct EnsembleOptions {
  std::string folder;
  bool resume = false;
  Store* store = nullptr;
  std::function<bool()> stop = {};                             // asked between steps
  std::function<void(const EnsembleProgress&)> progress = {};  // a few times a second, one call at a time
  std::map<std::string, std::string> notes = {};               // added to every weights file
  std::string body = "{}";                                     // JSON fields added to every record: the label
};

// What a plan needs and where it would run, before anything is made.
struct Forecast {
  std::string device;
  std::int64_t parameters = 0;             // of one member
  std::int64_t members = 0, together = 0;  // members, and how many of them run at once
  std::int64_t bytes = 0, available = 0;   // predicted peak; what the machine has
  std::int64_t longest = 0;                // tokens of a prompt
  std::vector<std::string> unfused =
      {};  // released forms that no kernel computes there: position by position
};
// A plan made ready to run on this machine (prepared_plan.h): checked, its model made, one step measured.
struct PreparedPlan;
// `workers`: of a CPU; 0: its cores (worker_count()). Errors: whatever is wrong with the plan; a run that cannot fit.
Result<std::shared_ptr<const PreparedPlan>> prepare(const TrainingPlan& plan, int workers = 0);
const Forecast& forecast_of(const PreparedPlan& prepared);

// The model before its first step, for what is asked of the architecture and its sizes alone. Of a plan: nothing is
// measured.
Result<Weights> untrained_weights(const PreparedPlan& prepared);
Result<Weights> untrained_weights(const TrainingPlan& plan);

Result<EnsembleResult> train(const PreparedPlan& prepared, const EnsembleOptions& options);

}  // namespace rung::learn
