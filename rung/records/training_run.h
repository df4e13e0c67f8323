// A training run as the store keeps it: the run, its members, and what came of them (docs/runs.md, docs/train.md). Who
// trains writes these records, who asks reads them here; rung and rung-learn share nothing else.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "rung/records/curve.h"
#include "rung/records/training_plan.h"
#include "rung/store/store.h"
#include "rung/tasks/size_list.h"
#include "rung/theory/outcome.h"

namespace rung {

// A member's record, without what its plan says beside the task and the architecture. Fields that a store of somebody
// else leaves out are empty.
struct MemberRecord {
  std::string id, run;
  RecordState state = RecordState::running;
  std::string created;
  std::optional<std::int64_t> seed;
  std::string asked;       // what is out of the ordinary (store/setting.h)
  std::string setting;     // equal for members that differ in nothing but what a sweep varies
  std::string task, arch;  // of the body, as is all that follows
  SizeList size;
  std::int64_t member = 0;
  std::optional<double> rate, accuracy, loss;
  std::optional<std::int64_t> steps, steps_done;
  std::optional<Label> label;
  std::string experiment, configuration;      // of `rung lab`
  std::vector<std::uint64_t> right, answers;  // of the last evaluation, a task each
  std::optional<int> carried_bits;            // written, and not read back
  std::string file, note, reason, news;
  std::vector<CurvePoint> curve;
};

// What a training adds to the body: fields from `accuracy` on; of empty ones note and reason alone.
std::string outcome_body(const MemberRecord& record);

// The fields of a label in a body.
nlohmann::ordered_json label_json(const Label& label);

// A body that is of another shape leaves its fields empty.
MemberRecord member_record(const Record& record);

struct TrainingRun {
  std::string id;
  RecordState state = RecordState::running;
  std::string created, finished, device, host;
  std::string task, arch;
  SizeList size;
  std::optional<std::int64_t> steps;
  std::optional<Label> label;
  std::vector<MemberRecord> members;  // in the order in which they were made
};

Result<TrainingRun> training_run(Store& store, const Record& run);

// How one who has no libtorch has something trained.
struct TrainingOrder {
  TrainingPlan plan;
  std::string folder;               // of the run; must not exist
  double seconds = 15;              // then it is stopped, and what is there is kept
  std::function<bool()> stop = {};  // likewise
};
struct TrainingReply {
  std::optional<TrainingRun> run;  // nothing where it ended before it had begun
  double seconds = 0;
  bool interrupted = false;
  std::string complaint;  // one line, where it failed
};
using TrainFunction = std::function<Result<TrainingReply>(const TrainingOrder& order)>;

}  // namespace rung
