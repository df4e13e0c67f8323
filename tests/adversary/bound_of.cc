#include "tests/adversary/bound_of.h"

#include "rung/theory/theorem.h"

namespace rung {

std::string outcome_of_theorem(const std::string& id, const Architecture& architecture,
                               const std::string& task, const TaskSizes& sizes, std::int64_t context,
                               std::optional<std::int64_t> sum_bits) {
  SettingOptions options;
  options.sum_bits = sum_bits;
  options.storage.state = static_cast<int>(
      architecture.dimensions.accumulator_bits.value_or(architecture.dimensions.precision.bits));
  options.context = context;
  const auto setting = make_setting(architecture, options);
  RUNG_REQUIRE(setting.ok(), "{}", setting.error().message);
  const auto question = make_question(task, sizes, context, false);
  RUNG_REQUIRE(question.ok(), "{}", question.error().message);
  for (const auto& verdict : consider(*setting, *question))
    if (verdict.theorem == id) return std::string(outcome_name(verdict.outcome));
  return {};
}

}  // namespace rung
