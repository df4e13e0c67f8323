#include "rung/serve/running_sweeps.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "rung/base/json_fields.h"
#include "rung/records/training_run.h"
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

std::optional<std::string> text_or_nothing(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

// A member as the page shows it: of several tasks the lowest accuracy.
struct LiveMember {
  const MemberRecord& member;
  AccuracyCurve curve;
};
template <class Fields>
void describe(Fields& field, LiveMember& x) {
  const MemberRecord& member = x.member;
  std::optional<double> accuracy = member.accuracy;
  std::optional<std::int64_t> step = member.steps_done;
  if (!x.curve.empty()) {
    if (!accuracy) accuracy = x.curve.back().second;
    if (!step) step = x.curve.back().first;
  }
  field("id", member.id, "member", member.member, "seed", member.seed, "rate", member.rate, "state",
        member.state, "step", step, "steps", member.steps, "accuracy", accuracy, "loss", member.loss, "news",
        text_or_nothing(member.news), "reason", text_or_nothing(member.reason), "curve", x.curve);
}

struct LiveRun {
  const TrainingRun& run;
};
template <class Fields>
void describe(Fields& field, LiveRun& x) {
  const TrainingRun& run = x.run;
  std::vector<OrderedJson> members;
  for (std::size_t i = 0; i < run.members.size() && i < kMembersShown; ++i)
    members.push_back(
        to_fields(LiveMember{run.members[i], thinned(lowest_accuracy(run.members[i].curve), kPointsShown)}));
  field("id", run.id, "state", run.state, "created", run.created, "finished", run.finished, "task", run.task,
        "size", run.size, "arch", run.arch, "label",
        run.label ? std::optional(run.label->letter) : std::nullopt, "device", run.device, "host", run.host,
        "steps", run.steps, "count", run.members.size(), "members", members);
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
        RUNG_TRY(const TrainingRun one, training_run(*store, run));
        document["runs"].push_back(to_fields(LiveRun{one}));
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
