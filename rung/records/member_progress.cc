#include "rung/records/member_progress.h"

#include <algorithm>

#include "rung/base/json_fields.h"

namespace rung {

template <class Fields>
void describe(Fields& field, MemberProgress& x) {
  field("index", x.plan.index);
  int state = static_cast<int>(x.state);
  field.need("state", state);
  if constexpr (Fields::kReads) {
    if (state < 0 || state > static_cast<int>(RecordState::failed))
      return field.refuse(fmt::format("member {}", x.plan.index), fmt::format("no state {}", state));
    x.state = static_cast<RecordState>(state);
  }
  field.need("reason", x.reason);
  field.need("curve", x.curve);
  field.need("reached", x.reached);
  field.need("steps", x.steps);
  field("stage", x.stage);
}

template <class Fields>
void describe(Fields& field, TrainingProgress& x) {
  field.need("step", x.step);
  field.need("summed", x.summed);
  field.need("members", x.members);
}

template <class Fields>
void describe(Fields& field, MemberResult& x) {
  field.need("state", x.state);
  field("seed", x.plan.seed, "rate", x.plan.rate, "decay", x.plan.decay, "scale", x.plan.scale);
  field.need("steps", x.steps);
  field.need("right", x.right);
  field.need("answers", x.of);
  field.need("curve", x.curve);
  field.some("reason", x.reason, "carried_bits", x.carried_bits);
}

double MemberResult::accuracy() const {
  double lowest = of.empty() ? 0 : 1;
  for (std::size_t i = 0; i < of.size(); ++i)
    lowest = std::min(lowest,
                      static_cast<double>(right[i]) / static_cast<double>(std::max<std::uint64_t>(1, of[i])));
  return lowest;
}

std::string progress_text(const TrainingProgress& progress) { return to_fields(progress).dump(); }

Result<TrainingProgress> read_progress(const std::string& text, std::size_t members, std::size_t tasks,
                                       std::int64_t steps) {
  RUNG_TRY(TrainingProgress progress, from_text<TrainingProgress>(text));
  if (progress.members.size() != members)
    return fail(ErrorCode::format, "{} members; {} expected", progress.members.size(), members);
  if (progress.step < 0 || progress.step > steps || progress.summed < 0 || progress.summed > progress.step)
    return fail(ErrorCode::format, "at step {} with {} summed; at most {} steps expected", progress.step,
                progress.summed, steps);
  for (const MemberProgress& member : progress.members)
    if (member.steps < 0 || member.steps > progress.step || !is_curve_of(member.curve, tasks, progress.step))
      return fail(ErrorCode::format, "member {} has no curve of {} tasks up to step {}", member.plan.index,
                  tasks, progress.step);
  return progress;
}

std::string member_result_text(const MemberResult& member) { return to_fields(member).dump(); }

std::optional<MemberResult> read_member_result(const std::string& text, std::size_t tasks,
                                               std::int64_t steps) {
  auto member = from_text<MemberResult>(text);
  if (!member || (member->state != RecordState::done && member->state != RecordState::failed))
    return std::nullopt;
  // A member that failed has no answers; one that is done has them of every task.
  const bool done = member->state == RecordState::done;
  if (member->of.size() != (done ? tasks : 0) || member->right.size() != member->of.size() ||
      (done && member->curve.empty()) || !is_curve_of(member->curve, tasks, steps))
    return std::nullopt;
  for (std::size_t which = 0; which < member->of.size(); ++which)
    if (member->of[which] == 0 || member->right[which] > member->of[which]) return std::nullopt;
  return std::move(*member);
}

}  // namespace rung
