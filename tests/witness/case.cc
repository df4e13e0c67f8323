#include "tests/witness/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace rung {

std::string WitnessCase::line() const {
  std::string text = fmt::format("rung bound '{}'", architecture.line);
  const auto number = [&](const char* flag, const std::optional<std::int64_t>& value) {
    if (value) text += fmt::format(" --{} {}", flag, *value);
  };
  const auto word = [&](const char* flag, const std::optional<std::string>& value) {
    if (value) text += fmt::format(" --{} {}", flag, *value);
  };
  number("width", architecture.width);
  number("heads", architecture.heads);
  number("kv-heads", architecture.kv_heads);
  number("head-dim", architecture.head_dim);
  number("value-dim", architecture.value_dim);
  number("state", architecture.state);
  number("context", architecture.context);
  number("acc-bits", architecture.acc_bits);
  number("sum-bits", sum_bits);
  word("mlp", architecture.mlp);
  word("norm", architecture.norm);
  word("position", architecture.position);
  word("precision", architecture.precision);
  if (architecture.encoder) text += " --encoder";
  if (chain_of_thought) text += " --cot";
  if (assume_exact) text += " --assume-exact";
  text += " --task " + task;
  for (const auto& [name, value] : sizes) text += fmt::format(" --{} {}", name, value);
  for (const auto& [name, value] : options) text += fmt::format(" --{} {}", name, value);
  if (variant) text += fmt::format(" --variant {}", variant_name(*variant));
  return text;
}

const Verdict* Answered::says(Outcome outcome, bool proved) const {
  for (const auto& verdict : verdicts)
    if (verdict.outcome == outcome && (!proved || is_proved(verdict.status))) return &verdict;
  return nullptr;
}

Result<Answered> ask(const WitnessCase& given) {
  RUNG_TRY(const ChosenArchitecture chosen, given.architecture.choose_line());
  SettingOptions options;
  options.context = given.architecture.context;
  options.sum_bits = given.sum_bits;
  options.chain_of_thought = given.chain_of_thought;
  options.assume_exact = given.assume_exact;
  options.storage = chosen.bits;
  Answered answered;
  RUNG_TRY(answered.setting, make_setting(chosen.architecture, options));
  RUNG_TRY(answered.question, make_question(given.task, given.sizes, answered.setting.context, false,
                                            {.options = given.options, .variant = given.variant}));
  if (answered.question.prompt > answered.setting.context && options.context)
    return fail(ErrorCode::range, "[bound] the prompt is longer than the context");
  answered.verdicts = consider(answered.setting, answered.question);
  return answered;
}

std::string Tally::report() const {
  constexpr std::size_t kShown = 12;
  std::string text = fmt::format("{} of {} comparisons disagree", found.size(), compared);
  for (std::size_t i = 0; i < std::min(kShown, found.size()); ++i)
    text += fmt::format("\n  {}\n    {}", found[i].line, found[i].what);
  return text;
}

std::int64_t witness_scale() {
  const char* given = std::getenv("RUNG_WITNESS_SCALE");
  return given ? std::max<std::int64_t>(1, std::atoll(given)) : 1;
}

}  // namespace rung
