#include <algorithm>
#include <filesystem>
#include <fstream>

#include "rung/base/parallel.h"
#include "rung/evaluation/interval.h"
#include "rung/hierarchy/child_process.h"
#include "rung/hierarchy/evidence.h"

namespace rung {
namespace {

constexpr double kEnough = 0.995;   // a member that reaches this twice in a row has learned the task
constexpr int kEvaluateEvery = 50;  // steps between points of the curve

using nlohmann::ordered_json;

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The last accuracy of a member: the final one, or that of its last point where it was stopped.
std::optional<double> accuracy_of(const ordered_json& member) {
  if (member.value("state", "") == "done" && member.contains("accuracy") && member["accuracy"].is_number())
    return member["accuracy"].get<double>();
  const auto& curve = member.at("curve");
  if (curve.empty()) return std::nullopt;
  return curve.back().at("accuracy").at(0).get<double>();
}

ordered_json curve_of(const ordered_json& member) {
  ordered_json points = ordered_json::array();
  for (const auto& point : member.at("curve"))
    points.push_back({point.at("step"), point.at("accuracy").at(0)});
  return points;
}

}  // namespace

Result<ordered_json> training_evidence(const TrainingRecipe& recipe, const Task& task,
                                       const std::string& name, const EvidenceContext& context) {
  if (context.trainer.empty())
    return absent({"rung-learn is missing: this rung was built without libtorch.", "no libtorch"});
  const std::string folder = "training/" + name, out = context.folder + "/" + folder;
  std::error_code ignored;
  std::filesystem::remove_all(out, ignored);  // of a run that was stopped
  std::vector<std::string> asked{"train", recipe.arch, "--task", std::string(task.name())};
  for (auto& flag : size_flags(sizes_of(task))) asked.push_back(std::move(flag));
  asked.insert(asked.end(),
               {"--width", std::to_string(recipe.width), "--steps", std::to_string(recipe.steps), "--batch",
                std::to_string(recipe.batch), "--seeds", std::to_string(recipe.seeds), "--lr",
                fmt::format("{}", recipe.rate), "--eval-every", std::to_string(kEvaluateEvery), "--stop-at",
                fmt::format("{}", kEnough), "--device", "cpu"});
  std::vector<std::string> words{context.trainer}, told{"rung"};
  words.insert(words.end(), asked.begin(), asked.end());
  told.insert(told.end(), asked.begin(), asked.end());
  words.insert(words.end(), {"--workers", std::to_string(worker_count()), "--no-store", "--quiet", "--json",
                             "--out", out});
  const std::string output = out + ".json", errors = out + ".errors";
  RUNG_TRY(const ChildRun run, run_child(words, {.output = output,
                                                 .errors = errors,
                                                 .seconds = context.training_seconds,
                                                 .stop = context.stop}));
  const ordered_json said = ordered_json::parse(text_of(output), nullptr, false);
  std::string complaint = text_of(errors);
  complaint = complaint.substr(0, complaint.find('\n'));
  std::filesystem::remove(output, ignored);
  std::filesystem::remove(errors, ignored);
  if (said.is_discarded() || !said.contains("members") || said["members"].empty()) {
    ordered_json failed =
        run.interrupted
            ? absent(
                  {fmt::format(
                       "The trainer was stopped after {:.0f} s, its share of a minute, before it had begun.",
                       run.seconds),
                   "out of time"})
            : absent({fmt::format("The trainer ended with {} after {:.0f} s: {}", run.exit, run.seconds,
                                  complaint),
                      "the trainer failed"});
    failed["retry"] = true;
    return failed;
  }

  std::vector<double> reached;
  std::uint64_t right = 0, answers = 0;
  std::size_t answered = 0;
  ordered_json curves = ordered_json::array();
  for (const auto& member : said["members"]) {
    curves.push_back(curve_of(member));
    if (const auto accuracy = accuracy_of(member)) reached.push_back(*accuracy);
    if (member.contains("right") && member["right"].is_array() && !member["right"].empty()) {
      right += member["right"][0].get<std::uint64_t>();
      answers += member["answers"][0].get<std::uint64_t>();
      ++answered;
    }
  }
  if (reached.empty()) {
    ordered_json early = absent(
        {fmt::format(
             "The trainer was stopped after {:.0f} s, its share of a minute, before its first evaluation.",
             run.seconds),
         "out of time"});
    early["retry"] = true;
    return early;
  }
  double sum = 0;
  for (const double accuracy : reached) sum += accuracy;
  const double accuracy = sum / static_cast<double>(reached.size());
  const auto interval = wilson_interval(right, answers);
  ordered_json json;
  json["state"] = "trained";
  json["reason"] = said.value("stopped", false)
                       ? fmt::format("stopped after {:.0f} s, its share of a minute", run.seconds)
                       : "";
  json["brief"] = "";
  json["arch"] = recipe.arch;
  json["task"] = task.name();
  json["size"] = task.size();
  json["accuracy"] = accuracy;
  // The last answers of a part of the seeds say nothing about the mean of all of them.
  const bool all_answered = answered == reached.size();
  json["low"] = all_answered ? interval.low : *std::min_element(reached.begin(), reached.end());
  json["high"] = all_answered ? interval.high : *std::max_element(reached.begin(), reached.end());
  json["accuracies"] = reached;
  json["seeds"] = reached.size();
  json["steps"] = recipe.steps;
  json["label"] = said.value("label", "");
  json["label_reason"] = said.value("label_reason", "");
  json["ceiling"] =
      said.contains("ceiling") && said["ceiling"].is_number() ? said["ceiling"] : ordered_json(1.0);
  json["ceiling_reason"] = said.value("ceiling_reason", "");
  json["curve"] = curves[0];
  json["curves"] = curves;
  json["seconds"] = run.seconds;
  if (said.value("stopped", false)) json["retry"] = true;
  json["record"] = nullptr;
  json["command"] = shell_line(told);
  return json;
}

}  // namespace rung
