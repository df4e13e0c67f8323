// What a training keeps of its members beside their numbers: how far each came, in a checkpoint, and how each ended, in
// the notes of its weights file. Both are read again when a run is resumed, and a person may have written them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rung/base/result.h"
#include "rung/records/curve.h"
#include "rung/records/training_plan.h"
#include "rung/store/record.h"

namespace rung {

struct MemberProgress {
  MemberPlan plan;
  RecordState state = RecordState::running;  // running, done or failed
  std::string reason;                        // of failure
  std::vector<CurvePoint> curve;
  std::size_t stage = 0;  // of the plan's support
  int reached = 0;        // evaluations in a row at or above the accuracy to stop at
  std::int64_t steps = 0;
};

struct TrainingProgress {
  std::int64_t step = 0, summed = 0;
  std::vector<MemberProgress> members;
};

struct MemberResult {
  MemberPlan plan;
  RecordState state = RecordState::stopped;  // done, failed or stopped
  std::string reason;
  std::vector<CurvePoint> curve;
  std::vector<std::uint64_t> right, of;  // final answers, a task each
  std::optional<int> carried_bits;       // where it was measured
  std::string file;                      // the weights, where it is done
  std::int64_t steps = 0;
  double accuracy() const;  // of the task that it does worst; 0 without a final score
};

// As a checkpoint has it. Errors: no such document, other numbers of members, steps or tasks than the training has, curves
// that no training leaves; the caller adds the file's name. Of each plan only the index is kept.
std::string progress_text(const TrainingProgress& progress);
Result<TrainingProgress> read_progress(const std::string& text, std::size_t members, std::size_t tasks,
                                       std::int64_t steps);

// As the notes of a weights file have it. Nothing for a text that no member of a training with so many tasks and steps
// can have left when it ended. The file's name is not in it, nor the index.
std::string member_result_text(const MemberResult& member);
std::optional<MemberResult> read_member_result(const std::string& text, std::size_t tasks,
                                               std::int64_t steps);

}  // namespace rung
