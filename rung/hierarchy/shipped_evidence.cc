#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "rung/hierarchy/evidence.h"
#include "rung/spec/mixers.h"

namespace rung {
namespace {

using nlohmann::ordered_json;

// The rows answer at once, and read the prompt in the hard order: records of other ways to do the task are no
// evidence for them.
constexpr std::string_view kThoughtExperiment = "cot", kEasyOrder = "easy-";

// The row that a stack belongs to; empty: none of them.
std::string row_of(const std::string& arch) {
  const auto stack = parse_stack(arch);
  if (!stack) return {};
  std::set<MixerKind> kinds;
  for (const Mixer& mixer : stack->layers)
    if (mixer.kind != MixerKind::none && mixer.kind != MixerKind::identity) kinds.insert(mixer.kind);
  if (kinds.contains(MixerKind::heads)) return "headwise";
  if (kinds.size() == 2 && kinds.contains(MixerKind::full) && kinds.contains(MixerKind::linear))
    return "hybrid";
  if (kinds.size() != 1) return {};
  static constexpr std::string_view kRows[] = {"full", "linear", "delta", "mamba2", "loglinear", "sparse"};
  const std::string_view name = mixer_descriptor(*kinds.begin()).name;
  return std::find(std::begin(kRows), std::end(kRows), name) == std::end(kRows) ? "" : std::string(name);
}

// The column's number of functions, where the task has one; other sizes may differ, and the cell says so.
bool same_levels(const ordered_json& size, const TaskSizes& wanted) {
  const auto levels = wanted.find("L");
  return levels == wanted.end() || (size.contains("L") && size["L"] == levels->second);
}

bool better(const ordered_json& a, const ordered_json& b) {
  return a["accuracy"].get<double>() > b["accuracy"].get<double>();
}

ordered_json evidence_of(const ordered_json& document, const ordered_json& configuration,
                         const std::string& file) {
  ordered_json json;
  json["state"] = "shipped";
  json["reason"] = "";
  json["brief"] = "";
  for (const char* field : {"arch", "task", "size", "accuracy"}) json[field] = configuration[field];
  const auto& interval = configuration.contains("interval") ? configuration["interval"] : ordered_json();
  json["low"] = interval.is_object() && interval.contains("low") ? interval["low"]
                : interval.is_array() && interval.size() == 2    ? interval[0]
                                                                 : ordered_json();
  json["high"] = interval.is_object() && interval.contains("high") ? interval["high"]
                 : interval.is_array() && interval.size() == 2     ? interval[1]
                                                                   : ordered_json();
  json["seeds"] = configuration.contains("scores") && configuration["scores"].is_array()
                      ? configuration["scores"].size()
                      : 0;
  for (const char* field : {"label", "label_reason", "ceiling", "ceiling_reason"})
    json[field] = configuration.contains(field) ? configuration[field] : ordered_json();
  json["curve"] = ordered_json::array();
  json["curves"] = ordered_json::array();
  if (document.contains("curves") && document["curves"].is_array())
    for (const auto& curve : document["curves"])
      if (curve.is_object() && curve.contains("curve") &&
          curve.value("configuration", ordered_json()) == configuration["id"] && curve.value("chosen", true))
        json["curves"].push_back(curve["curve"]);
  if (!json["curves"].empty()) json["curve"] = json["curves"][0];
  json["record"] = {{"file", file}, {"configuration", configuration["id"]}};
  if (document.contains("provenance")) json["record"]["provenance"] = document["provenance"];
  json["command"] = document.value("command", "");
  return json;
}

}  // namespace

std::optional<ordered_json> shipped_evidence(const std::string& row, const std::string& task,
                                             const TaskSizes& size, const EvidenceContext& context) {
  std::vector<std::filesystem::path> files;
  for (const auto& folder : context.results) {
    std::error_code code;
    for (std::filesystem::directory_iterator at(folder, code), end; !code && at != end; at.increment(code))
      if (at->path().extension() == ".json") files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  std::optional<ordered_json> best;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    const ordered_json document = ordered_json::parse(in, nullptr, false);
    try {  // records are read as they are: one that lacks something shows nothing
      if (!document.is_object() || document.value("schema", "") != "rung.results/1") continue;
      if (document.at("lab").value("experiment", "") == kThoughtExperiment) continue;
      for (const auto& configuration : document.at("lab").at("configurations")) {
        if (configuration.value("id", "").starts_with(kEasyOrder)) continue;
        if (configuration.value("origin", "") != "trained" || configuration.value("task", "") != task ||
            !configuration.at("accuracy").is_number() ||
            row_of(configuration.at("arch").get<std::string>()) != row ||
            !same_levels(configuration.at("size"), size))
          continue;
        ordered_json found = evidence_of(document, configuration, file.filename().string());
        if (!best || better(found, *best)) best = std::move(found);
      }
    } catch (const ordered_json::exception&) {
      continue;
    }
  }
  return best;
}

}  // namespace rung
