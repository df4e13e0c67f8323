#include "rung/report/stored_runs.h"

#include <filesystem>
#include <map>

#include "rung/base/json_fields.h"

namespace rung::report {
namespace {

// What the page shows of a member; the rest stays in the store.
struct MemberRow {
  const MemberRecord& member;
  std::size_t setting = 0;
  AccuracyCurve curve;
};

template <class Fields>
void describe(Fields& field, MemberRow& x) {
  const MemberRecord& member = x.member;
  field("id", member.id, "run", member.run, "state", member.state, "created", member.created);
  field.some("seed", member.seed);
  field("asked", member.asked, "setting", x.setting);
  field.some("task", member.task);
  if (!member.size.items().empty()) field("size", member.size);
  field.some("arch", member.arch);
  if (member.label) {
    field("label", member.label->letter, "ceiling", member.label->ceiling);
  }
  field.some("accuracy", member.accuracy, "loss", member.loss, "rate", member.rate, "steps", member.steps,
             "steps_done", member.steps_done, "experiment", member.experiment, "configuration",
             member.configuration, "curve", x.curve);
}

}  // namespace

Result<std::optional<StoredRuns>> read_runs(const std::string& path) {
  std::optional<StoredRuns> none;
  std::error_code code;
  if (path.empty() || !std::filesystem::exists(path, code)) return none;
  RUNG_TRY(const auto store, Store::open(path, Store::Access::read));
  RUNG_TRY(const auto records, store->query({.kind = "member"}));
  if (records.empty()) return none;
  StoredRuns out{path, records.size(), {}, {}};
  for (std::size_t i = 0; i < records.size() && i < kMemberLimit; ++i) {
    out.members.push_back(member_record(records[i]));
    out.asked.push_back(record_fields(records[i]).asked);
  }
  return std::optional(std::move(out));
}

nlohmann::ordered_json runs_json(const StoredRuns& runs) {
  nlohmann::ordered_json members = nlohmann::ordered_json::array();
  std::map<std::string, std::size_t> settings;
  const auto differ = differing_fields(runs.asked);
  for (std::size_t i = 0; i < runs.members.size(); ++i) {
    const MemberRecord& member = runs.members[i];
    members.push_back(
        to_fields(MemberRow{member, settings.try_emplace(member.setting, settings.size()).first->second,
                            rounded(thinned(first_accuracy(member.curve), kMemberCurvePoints))}));
    nlohmann::ordered_json fields = nlohmann::ordered_json::object();
    for (const std::string& name : differ)
      if (const auto found = runs.asked[i].find(name); found != runs.asked[i].end()) {
        if (found->second.number)
          fields[name] = *found->second.number;
        else
          fields[name] = found->second.text;
      }
    members.back()["fields"] = std::move(fields);
  }
  return {{"store", runs.store}, {"total", runs.total}, {"members", std::move(members)}};
}

}  // namespace rung::report
