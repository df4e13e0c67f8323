#include "rung/serve/running_sweeps.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rung/base/json_text.h"
#include "rung/store/provenance.h"
#include "rung/store/store.h"

namespace rung::serve {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kFinishedShown = 8;   // runs that have ended, the latest
constexpr std::size_t kMembersShown = 400;  // of a run
constexpr std::size_t kPointsShown = 64;    // of a curve

// What changes when anybody writes: size and time of the store and of its log.
std::string files_version(const std::string& path) {
  std::string version;
  for (const std::string& name : {path, path + "-wal"}) {
    struct stat found {};
    if (::stat(name.c_str(), &found) == 0)
      version += fmt::format("{:x}.{:x}.{:x}.{:x}-", found.st_ino, found.st_size, found.st_mtim.tv_sec,
                             found.st_mtim.tv_nsec);
    else
      version += "0-";
  }
  return version;
}

OrderedJson field(const nlohmann::json& body, const char* name) {
  const auto found = body.find(name);
  return found != body.end() && (found->is_number() || found->is_string()) ? OrderedJson(*found)
                                                                           : OrderedJson();
}

// [[step, accuracy], ...]: of several tasks the lowest, no more than kPointsShown points, the last among
// them.
OrderedJson curve_of(const nlohmann::json& body) {
  OrderedJson curve = OrderedJson::array();
  const auto found = body.find("curve");
  if (found == body.end() || !found->is_array()) return curve;
  const std::size_t size = found->size(), stride = (size + kPointsShown - 1) / kPointsShown;
  for (std::size_t i = 0; i < size; ++i) {
    if (i + 1 != size && i % stride != 0) continue;
    const auto& point = (*found)[i];
    if (!point.is_object() || !point.contains("step") || !point["step"].is_number()) continue;
    double lowest = 1;
    bool any = false;
    if (const auto accuracy = point.find("accuracy"); accuracy != point.end() && accuracy->is_array())
      for (const auto& value : *accuracy)
        if (value.is_number()) lowest = std::min(lowest, value.get<double>()), any = true;
    if (any) curve.push_back({point["step"].get<std::int64_t>(), lowest});
  }
  return curve;
}

OrderedJson member_document(const Record& record) {
  const auto parsed = parse_json(record.body, "store");
  const nlohmann::json body = parsed && parsed->is_object() ? *parsed : nlohmann::json::object();
  OrderedJson curve = curve_of(body);
  OrderedJson accuracy = field(body, "accuracy"), step = field(body, "steps_done");
  if (accuracy.is_null() && !curve.empty()) accuracy = curve.back()[1];
  if (step.is_null() && !curve.empty()) step = curve.back()[0];
  return {{"id", record.id},
          {"member", field(body, "member")},
          {"seed", record.seed ? OrderedJson(*record.seed) : OrderedJson()},
          {"rate", field(body, "rate")},
          {"state", state_name(record.state)},
          {"step", step},
          {"steps", field(body, "steps")},
          {"accuracy", accuracy},
          {"loss", field(body, "loss")},
          {"news", field(body, "news")},
          {"reason", field(body, "reason")},
          {"curve", std::move(curve)}};
}

Result<OrderedJson> run_document(Store& store, const Record& run) {
  const auto parsed = parse_json(run.body, "store");
  const nlohmann::json body = parsed && parsed->is_object() ? *parsed : nlohmann::json::object();
  RUNG_TRY(auto members,
           store.query({.kind = "member", .parent = run.id, .sort = "created", .descending = false}));
  OrderedJson document = {
      {"id", run.id},
      {"state", state_name(run.state)},
      {"created", run.created},
      {"finished", run.finished},
      {"task", field(body, "task")},
      {"size",
       body.contains("size") && body["size"].is_object() ? OrderedJson(body["size"]) : OrderedJson::object()},
      {"arch", field(body, "arch")},
      {"label", field(body, "label")},
      {"device", run.device},
      {"host", run.host},
      {"steps", field(body, "steps")},
      {"count", members.size()},
      {"members", OrderedJson::array()}};
  if (members.size() > kMembersShown) members.resize(kMembersShown);
  for (const Record& member : members) document["members"].push_back(member_document(member));
  return document;
}

}  // namespace

Result<std::string> RunningSweeps::document(const std::string& seen) {
  const std::lock_guard lock(guard_);
  const std::string version = files_version(path_);
  if (version != version_ || text_.empty()) {
    OrderedJson document = {{"schema", "rung.live/1"},
                            {"version", version},
                            {"made", utc_now()},
                            {"store", path_},
                            {"runs", OrderedJson::array()}};
    struct stat found {};
    if (::stat(path_.c_str(), &found) == 0) {
      RUNG_TRY(const auto store, Store::open(path_, Store::Access::read));
      RUNG_TRY(const auto runs, store->query({.kind = "run"}));
      std::size_t ended = 0;
      for (const Record& run : runs) {
        if (run.state != RecordState::running && ended++ >= kFinishedShown) continue;
        RUNG_TRY(OrderedJson one, run_document(*store, run));
        document["runs"].push_back(std::move(one));
      }
    }
    text_ = document.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
    version_ = version;
  }
  if (seen == version_)
    return OrderedJson{{"schema", "rung.live/1"}, {"version", version_}, {"unchanged", true}}.dump() + "\n";
  return text_;
}

}  // namespace rung::serve
