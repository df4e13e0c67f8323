#include <cmath>

#include "rung/base/command_line.h"
#include "rung/evaluation/evaluation.h"
#include "rung/evaluation/label.h"
#include "rung/hierarchy/evidence.h"
#include "rung/theory/theorem.h"

namespace rung {
namespace {

std::string shown(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e9) return fmt::format("{:.0f}", value);
  return fmt::format("{:.5g}", value);
}

std::string shown(double value, std::string_view noun) {
  return fmt::format("{} {}{}", shown(value), noun, value == 1 ? "" : "s");
}

std::string inequality_of(const Verdict& verdict) {
  if (!verdict.left || !verdict.right) return "";
  const double left = *verdict.left, right = *verdict.right;
  if (verdict.theorem.starts_with("aperiodicity"))
    return fmt::format("{}; from {} on no weights are right", shown(left, "letter"), shown(right));
  switch (verdict.outcome) {
    case Outcome::impossible:
      return fmt::format("{} needed > {} available", shown(left, "bit"), shown(right, "bit"));
    case Outcome::vacuous:
      return fmt::format("{} needed <= {} available", shown(left, "bit"), shown(right, "bit"));
    case Outcome::possible:
    case Outcome::open:
      break;
  }
  const bool named = verdict.parameters.contains("scarcest");
  std::string scarcest = named ? verdict.parameters["scarcest"].text() + ": " : "";
  std::erase(scarcest, '"');
  return fmt::format("{}{} available >= {} needed by the construction", scarcest, shown(left), shown(right));
}

// The line that asks rung bound the same.
std::string bound_command(const Setting& setting, const Task& task) {
  const Dimensions& d = setting.architecture.dimensions;
  CommandLine line({"rung", "bound", format_stack(setting.architecture.stack)});
  line.option("width", d.width).option("precision", format_precision(d.precision));
  if (setting.word.given_entries) line.option("acc-bits", setting.entry_bits);
  if (setting.sum_bits) line.option("sum-bits", *setting.sum_bits);
  if (d.position != PositionCode::table) line.option("position", position_name(d.position));
  if (!d.causal) line.flag("encoder");
  if (setting.chain_of_thought) line.flag("cot");
  return line.option("task", task.name())
      .options(sizes_of(task))
      .options(task.options())
      .flag("explain")
      .text();
}

NumberList numbers_of(const Verdict& verdict) {
  NumberList numbers{{{"left", verdict.left}, {"right", verdict.right}, {"margin", verdict.margin}}};
  numbers.set("horizon", verdict.horizon ? json_number(*verdict.horizon).number() : std::nullopt);
  for (const auto& [name, value] : verdict.parameters.numbers()) numbers.set(name, value);
  if (verdict.parameters.contains("construction"))
    for (const auto& [name, value] : verdict.parameters["construction"].numbers()) numbers.set(name, value);
  return numbers;
}

Result<BoundEvidence> evidence_of(const Setting& setting, const Task& task) {
  RUNG_TRY(const Question question,
           make_question(task.name(), sizes_of(task), setting.context, false, {.options = task.options()}));
  const Verdict verdict = decide(setting, question);
  BoundEvidence out;
  out.state = verdict.outcome;
  out.arch = format_spelled_stack(setting.architecture.stack);
  out.size = task.size();
  if (!verdict.theorem.empty()) {
    const Theorem& by = theorem(verdict.theorem);
    out.theorem = verdict.theorem;
    out.title = by.title;
    out.statement = by.statement;
    out.source = verdict.source;
    out.reference = verdict.reference;
    out.status = verdict.status;
  }
  out.numbers = numbers_of(verdict);
  out.inequality = inequality_of(verdict);
  out.hypotheses = verdict.hypotheses;
  out.assumes = assumes_text(verdict);
  out.argument = verdict.argument;
  out.command = bound_command(setting, task);
  return out;
}

}  // namespace

TaskSizes sizes_of(const Task& task) {
  TaskSizes sizes;
  for (const auto& [name, size] : task.size()) sizes[name] = size.value;
  return sizes;
}

Result<BoundEvidence> bound_evidence(const Weights& weights, const Task& task) {
  const std::int64_t positions = positions_needed(weights, task);
  RUNG_TRY(const auto machine, Machine::load(weights, {.positions = positions}));
  RUNG_TRY(const Setting setting, model_setting(weights, *machine, positions));
  return evidence_of(setting, task);
}

Result<BoundEvidence> bound_evidence(const AskedRecipe& asked, const Task& task) {
  Architecture architecture;
  RUNG_TRY(architecture.stack, parse_stack(asked.arch));
  architecture.dimensions.width = asked.width;
  architecture.dimensions.precision = {NumberFormat::fixed, asked.precision, 0};
  RUNG_TRY(const Setting setting, make_setting(architecture, {.context = task.prompt_length()}));
  return evidence_of(setting, task);
}

}  // namespace rung
