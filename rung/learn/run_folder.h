// The folder of a training run: plan.json; checkpoint-K.safetensors while members run; member-K.safetensors, a
// weights file each, when they end; curves.csv; records.json, the ids of its records.
#pragma once

#include "rung/learn/ensemble.h"

namespace rung::learn {

class RunFolder {
 public:
  // Errors: a folder that holds a run already, or with `resume` none; one that cannot be made.
  static Result<RunFolder> open(const std::string& folder, const TrainingPlan& plan, bool resume);

  std::string path(const std::string& name) const;
  std::string member_path(std::int64_t member) const;
  std::string checkpoint_path(std::int64_t group) const;
  bool has(const std::string& path) const;

  // What an earlier run of this folder made of a member, where it finished it under the same plan.
  std::optional<MemberResult> finished(const MemberPlan& member) const;
  // What finished() reads back, as notes of the member's weights file.
  std::map<std::string, std::string> notes(const MemberResult& member) const;
  Result<void> write_curves(const std::vector<MemberResult>& members) const;

 private:
  RunFolder(std::string folder, const TrainingPlan& plan)
      : folder_(std::move(folder)), plan_(plan_text(plan)), tasks_(plan.tasks.size()), steps_(plan.steps) {}
  void remove_half_written() const;

  std::string folder_, plan_;
  std::size_t tasks_;
  std::int64_t steps_;
};

}  // namespace rung::learn
