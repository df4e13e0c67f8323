#include "rung/report/stored_runs.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "rung/report/thinning.h"
#include "rung/store/setting.h"
#include "rung/store/store.h"

namespace rung::report {
namespace {

using nlohmann::ordered_json;

// Fields of a member's body that the page shows; the rest stays in the store.
constexpr const char* kBodyFields[] = {"task",       "size",    "arch",       "label",
                                       "accuracy",   "loss",    "rate",       "steps",
                                       "steps_done", "ceiling", "experiment", "configuration"};

// Settings by their keys, in order of appearance: the page needs only to tell them apart.
using SettingNumbers = std::map<std::string, std::size_t>;

ordered_json member_document(const Record& record, SettingNumbers& settings) {
  ordered_json out = {{"id", record.id},
                      {"run", record.parent},
                      {"state", state_name(record.state)},
                      {"created", record.created}};
  if (record.seed) out["seed"] = *record.seed;
  // A normalised body is JSON; should a store hold anything else, the member is shown without it.
  const auto body = nlohmann::json::parse(record.body, nullptr, false);
  if (!body.is_object()) return out;
  const RunSetting setting = run_setting(record.body);
  out["asked"] = setting.asked;
  out["setting"] = settings.try_emplace(setting.key, settings.size()).first->second;
  for (const char* field : kBodyFields)
    if (const auto found = body.find(field); found != body.end() && !found->is_null()) out[field] = *found;
  if (const auto curve = body.find("curve"); curve != body.end())
    out["curve"] = curve_document(thinned(read_curve(*curve), kMemberCurvePoints));
  return out;
}

}  // namespace

Result<ordered_json> read_runs(const std::string& path) {
  std::error_code code;
  if (path.empty() || !std::filesystem::exists(path, code)) return ordered_json(nullptr);
  RUNG_TRY(const auto store, Store::open(path, Store::Access::read));
  RUNG_TRY(const auto records, store->query({.kind = "member"}));
  if (records.empty()) return ordered_json(nullptr);
  ordered_json members = ordered_json::array();
  SettingNumbers settings;
  for (const Record& record : records) {
    if (members.size() == kMemberLimit) break;
    members.push_back(member_document(record, settings));
  }
  return ordered_json{{"store", path}, {"total", records.size()}, {"members", std::move(members)}};
}

}  // namespace rung::report
