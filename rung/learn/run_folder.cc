#include "rung/learn/run_folder.h"

#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "rung/base/staged_file.h"
#include "rung/records/earlier_words.h"

namespace rung::learn {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::string RunFolder::path(const std::string& name) const { return (fs::path(folder_) / name).string(); }
std::string RunFolder::member_path(std::int64_t member) const {
  return path(fmt::format("member-{}.safetensors", member));
}
std::string RunFolder::checkpoint_path(std::int64_t group) const {
  return path(fmt::format("checkpoint-{}.safetensors", group));
}
bool RunFolder::has(const std::string& path) const {
  std::error_code code;
  return fs::exists(path, code);
}

Result<RunFolder> RunFolder::open(const std::string& folder, const TrainingPlan& plan, bool resume) {
  RunFolder out(folder, plan);
  const std::string plan_file = out.path("plan.json");
  const bool existed = out.has(plan_file);
  if (existed && !resume)
    return fail(ErrorCode::io, "[train] {} holds a run already; rung train `resume` {} resumes it", folder,
                folder);
  if (!existed && resume) return fail(ErrorCode::io, "[train] {}: no plan.json, so no run to resume", folder);
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) return fail(ErrorCode::io, "[train] cannot make the folder {}: {}", folder, code.message());
  if (existed) {
    out.remove_half_written();
    return out;
  }
  RUNG_TRY(StagedFile file, StagedFile::open(plan_file, false));
  RUNG_CHECK(file.write(out.plan_ + "\n"));
  RUNG_CHECK(file.commit());
  return out;
}

// What a killed program was writing (staged_file.h): NAME.part-PID-..., of a process that is no more.
void RunFolder::remove_half_written() const {
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, code)) {
    const std::string name = entry.path().filename().string();
    const std::size_t mark = name.rfind(".part-");
    if (mark == std::string::npos) continue;
    const long process = std::strtol(name.c_str() + mark + 6, nullptr, 10);
    if (process == getpid() || (process > 0 && ::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH))
      fs::remove(entry.path(), code);
  }
}

std::optional<MemberResult> RunFolder::finished(const MemberPlan& plan) const {
  const std::string file = member_path(plan.index);
  if (!has(file)) return std::nullopt;
  const auto weights = read_weights(file);
  if (!weights || !weights->notes.contains("training") || !weights->notes.contains("plan") ||
      translate_plan(weights->notes.at("plan")) != plan_)
    return std::nullopt;
  auto read = read_member_result(weights->notes.at("training"), tasks_, steps_);
  if (!read) return std::nullopt;
  MemberResult member = std::move(*read);
  member.plan = plan;
  member.file = file;
  return member;
}

std::map<std::string, std::string> RunFolder::notes(const MemberResult& member) const {
  return {{"training", member_result_text(member)}, {"plan", plan_}};
}

Result<void> RunFolder::write_curves(const std::vector<MemberResult>& members) const {
  std::string text = "member,seed,rate,decay,scale,step,stage,loss";
  for (std::size_t which = 0; which < tasks_; ++which) text += fmt::format(",accuracy_{}", which);
  text += "\n";
  for (const MemberResult& member : members)
    for (const CurvePoint& row : member.curve) {
      text += fmt::format("{},{},{},{},{},{},{},{}", member.plan.index, member.plan.seed, member.plan.rate,
                          member.plan.decay, member.plan.scale, row.step, row.stage, row.loss);
      for (const double accuracy : row.accuracy) text += fmt::format(",{}", accuracy);
      text += "\n";
    }
  RUNG_TRY(StagedFile file, StagedFile::open(path("curves.csv"), true));
  RUNG_CHECK(file.write(text));
  return file.commit();
}

}  // namespace rung::learn
