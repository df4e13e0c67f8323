#include "rung/learn/run_records.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "rung/base/json_fields.h"
#include "rung/base/json_text.h"
#include "rung/base/staged_file.h"
#include "rung/learn/quiet_torch.h"
#include "rung/records/training_run.h"
#include "rung/store/provenance.h"

namespace rung::learn {
namespace {

using nlohmann::json;

struct RecordIds {
  std::string run;
  std::vector<std::string> members;
};

template <class Fields>
void describe(Fields& field, RecordIds& x) {
  field.need("run", x.run);
  field.need("members", x.members);
}

}  // namespace

json RunRecords::body() const {
  json body = json::parse(plan_text(prepared_.plan));
  body.erase("schema");
  const Lesson& lesson = *prepared_.lesson;
  std::vector<std::string> names;
  for (std::size_t which = 0; which < lesson.tasks(); ++which)
    names.emplace_back(lesson.task(lesson.stages() - 1, which).name());
  body["task"] = fmt::format("{}", fmt::join(names, "+"));
  body["size"] = json::object();
  if (names.size() == 1)
    for (const auto& [name, value] : lesson.task(lesson.stages() - 1, 0).size())
      body["size"][name] = value.value;
  body["folder"] = std::filesystem::absolute(folder_).string();
  body["parameters"] = prepared_.forecast.parameters;
  if (const auto& unfused = prepared_.forecast.unfused; !unfused.empty()) body["unfused"] = unfused;
  body.update(json::parse(body_));
  return body;
}

Result<void> RunRecords::open(const RunFolder& folder, const std::vector<MemberPlan>& plans) {
  if (!store_) return {};
  const std::string file = folder.path("records.json");
  std::optional<RecordIds> known;
  if (folder.has(file)) {
    RUNG_TRY(const std::string text, read_text_file(file, "train"));
    const auto ids = from_text<RecordIds>(text);
    if (!ids) return fail(ErrorCode::format, "[train] {}: {}", rung::quoted(file), ids.error().message);
    if (ids->members.size() == plans.size()) known = *ids;
  }
  if (known) {
    run_ = known->run, members_ = known->members;
    RUNG_TRY(const auto found, store_->find(run_));
    if (found) return store_->update({{run_, RecordState::running, "{}"}});
  } else {
    // The ids first, then the records: killed between the two, a resumed run does not write them twice.
    run_ = fresh_id();
    members_.resize(plans.size());
    for (std::string& id : members_) id = fresh_id();
    RUNG_TRY(StagedFile staged, StagedFile::open(file, true));
    RUNG_CHECK(staged.write(to_fields(RecordIds{run_, members_}).dump() + "\n"));
    RUNG_CHECK(staged.commit());
  }
  Record run;
  run.id = run_;
  run.kind = "run";
  run.device = prepared_.forecast.device;
  run.libraries = torch_libraries();
  json shared = body();
  run.body = shared.dump();
  std::vector<Record> records{run};
  for (const char* listed : {"seeds", "rates", "decays", "scales"}) shared.erase(listed);
  for (const MemberPlan& plan : plans) {
    Record& record = records.emplace_back(run);
    record.id = members_[static_cast<std::size_t>(plan.index)];
    record.kind = "member";
    record.parent = run_;
    record.seed = static_cast<std::int64_t>(plan.seed);
    shared.update(
        {{"member", plan.index}, {"rate", plan.rate}, {"decay", plan.decay}, {"scale", plan.scale}});
    record.body = shared.dump();
  }
  RUNG_CHECK(store_->append(std::move(records)));
  return {};
}

void RunRecords::tell(const std::vector<News>& news) {
  if (!store_) return;
  std::vector<RecordUpdate> updates;
  for (const News& member : news) {
    MemberRecord now{.steps_done = member.steps, .news = utc_now(), .curve = *member.curve};
    if (!now.curve.empty()) now.loss = now.curve.back().loss;
    updates.push_back(
        {members_[static_cast<std::size_t>(member.member)], RecordState::running, outcome_body(now)});
  }
  static_cast<void>(store_->update(std::move(updates)).ok());
}

Result<void> RunRecords::close_member(const MemberResult& member, const std::optional<Error>& error) {
  if (!store_) return {};
  MemberRecord ended{
      .right = member.right,
      .answers = member.of,
      .carried_bits = member.carried_bits,
      .note = member.state == RecordState::stopped ? "" : ending_note(prepared_.plan, member.curve),
      .reason = member.state == RecordState::stopped && error ? error->message : member.reason,
      .curve = member.curve};
  // A member that was not reached keeps what an earlier run recorded of it.
  if (member.steps > 0) ended.steps_done = member.steps;
  if (!member.curve.empty()) ended.loss = member.curve.back().loss;
  if (!member.of.empty()) ended.accuracy = member.accuracy(), ended.file = member.file;
  return store_->finish(id(member), member.state, outcome_body(ended));
}

Result<void> RunRecords::close(const EnsembleResult& result, const std::optional<Error>& error) {
  if (!store_) return {};
  double best = 0;
  std::int64_t done = 0, failed = 0;
  for (const MemberResult& member : result.members) {
    if (member.state == RecordState::stopped) {
      RUNG_TRY(const auto found, store_->find(id(member)));
      const bool ended = found && (found->state == RecordState::done || found->state == RecordState::failed);
      if (!ended) RUNG_CHECK(close_member(member, error));
    }
    done += member.state == RecordState::done;
    failed += member.state == RecordState::failed;
    best = std::max(best, member.accuracy());
  }
  json body{{"seconds", result.seconds},
            {"tokens_per_second", result.tokens_per_second},
            {"peak_bytes", result.peak_bytes},
            {"predicted_bytes", result.predicted_bytes},
            {"members_done", done},
            {"members_failed", failed},
            {"accuracy", best}};
  if (error) body["reason"] = error->message;
  return store_->finish(run_,
                        result.stopped || error   ? RecordState::stopped
                        : done == 0 && failed > 0 ? RecordState::failed
                                                  : RecordState::done,
                        body.dump());
}

}  // namespace rung::learn
