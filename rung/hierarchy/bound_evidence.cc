#include <algorithm>
#include <cmath>

#include "rung/evaluation/evaluation.h"
#include "rung/evaluation/label.h"
#include "rung/hierarchy/child_process.h"
#include "rung/hierarchy/evidence.h"
#include "rung/theory/theorem.h"

namespace rung {
namespace {

std::string_view state_of(const Verdict& verdict) {
  switch (verdict.outcome) {
    case Outcome::impossible:
      return "impossible";
    case Outcome::possible:
      return "possible";
    case Outcome::vacuous_here:
      return "silent";
    case Outcome::open:
      return verdict.theorem.empty() || verdict.elsewhere ? "inapplicable" : "silent";
  }
  return "inapplicable";
}

std::string shown(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e9) return fmt::format("{:.0f}", value);
  return fmt::format("{:.5g}", value);
}

std::string inequality_of(const Verdict& verdict) {
  if (!verdict.left || !verdict.right) return "";
  const std::string left = shown(*verdict.left), right = shown(*verdict.right);
  switch (verdict.outcome) {
    case Outcome::impossible:
      return fmt::format("{} bits needed > {} bits there are", left, right);
    case Outcome::vacuous_here:
      return fmt::format("{} bits needed <= {} bits there are", left, right);
    default:
      break;
  }
  const bool named = verdict.parameters.contains("scarcest");
  std::string scarcest = named ? verdict.parameters["scarcest"].text() + ": " : "";
  std::erase(scarcest, '"');
  return fmt::format("{}{} there are >= {} that the construction asks for", scarcest, left, right);
}

// The line that asks rung bound the same.
std::string command_of(const Setting& setting, const Task& task) {
  const Dimensions& d = setting.architecture.dimensions;
  std::vector<std::string> words{"rung",
                                 "bound",
                                 format_stack(setting.architecture.stack),
                                 "--width",
                                 std::to_string(d.width),
                                 "--precision",
                                 format_precision(d.precision)};
  if (setting.word.given_entries)
    words.insert(words.end(), {"--acc-bits", std::to_string(setting.entry_bits)});
  if (setting.sum_bits) words.insert(words.end(), {"--sum-bits", std::to_string(*setting.sum_bits)});
  if (!d.causal) words.push_back("--encoder");
  if (setting.chain_of_thought) words.push_back("--cot");
  words.insert(words.end(), {"--task", std::string(task.name())});
  for (auto& flag : size_flags(sizes_of(task))) words.push_back(std::move(flag));
  for (const auto& [name, value] : task.options()) words.insert(words.end(), {"--" + name, value});
  words.push_back("--explain");
  return shell_line(words);
}

}  // namespace

TaskSizes sizes_of(const Task& task) {
  TaskSizes sizes;
  for (const auto& [name, size] : task.size()) sizes[name] = size.value;
  return sizes;
}

std::vector<std::string> size_flags(const TaskSizes& sizes) {
  std::vector<std::string> flags;
  for (const auto& [name, value] : sizes) {
    flags.push_back("--" + name);
    flags.push_back(std::to_string(value));
  }
  return flags;
}

nlohmann::ordered_json absent(const Absence& absence) {
  return {{"state", "none"}, {"reason", absence.reason}, {"brief", absence.brief}};
}

namespace {

Result<nlohmann::ordered_json> evidence_of(const Setting& setting, const Task& task) {
  RUNG_TRY(const Question question,
           make_question(task.name(), sizes_of(task), setting.context, false, {.options = task.options()}));
  const Verdict verdict = decide(setting, question);
  nlohmann::ordered_json full = verdict_json(verdict), json;
  json["state"] = state_of(verdict);
  json["arch"] = format_stack(setting.architecture.stack);
  json["size"] = task.size();
  json["theorem"] = verdict.theorem;
  json["tag"] = verdict.theorem.empty() ? "" : status_name(verdict.status);
  json["title"] = verdict.theorem.empty() ? "" : theorem(verdict.theorem).title;
  json["statement"] = verdict.theorem.empty() ? "" : theorem(verdict.theorem).statement;
  json["source"] = verdict.source;
  json["reference"] = verdict.theorem.empty() ? "" : theorem(verdict.theorem).reference;
  json["numbers"] = {{"left", full["left"]},
                     {"right", full["right"]},
                     {"margin", full["margin"]},
                     {"horizon", full["horizon"]}};
  for (const auto& [name, value] : full["parameters"].items()) {
    if (value.is_number()) json["numbers"][name] = value;
    if (name != "construction") continue;
    for (const auto& [own, number] : value.items())
      if (number.is_number()) json["numbers"][own] = number;
  }
  json["inequality"] = inequality_of(verdict);
  json["hypotheses"] = full["hypotheses"];
  json["assumes"] = full["assumes"];
  json["argument"] = verdict.argument;
  json["command"] = command_of(setting, task);
  return json;
}

}  // namespace

Result<nlohmann::ordered_json> bound_evidence(const Weights& weights, const Task& task) {
  const std::int64_t positions = positions_needed(weights, task);
  RUNG_TRY(const auto machine, Machine::load(weights, {.positions = positions}));
  RUNG_TRY(const Setting setting, model_setting(weights, *machine, positions));
  return evidence_of(setting, task);
}

Result<nlohmann::ordered_json> bound_evidence(const AskedRecipe& asked, const Task& task) {
  Architecture architecture;
  RUNG_TRY(architecture.stack, parse_stack(asked.arch));
  architecture.dimensions.width = asked.width;
  architecture.dimensions.precision = {NumberFormat::fixed, asked.precision, 0};
  RUNG_TRY(const Setting setting, make_setting(architecture, {.context = task.prompt_length()}));
  return evidence_of(setting, task);
}

}  // namespace rung
