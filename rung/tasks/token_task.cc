#include "rung/tasks/token_task.h"

namespace rung {

Result<void> validate_shape(const Task& task, const Prompt& prompt) {
  const auto specs = task.fields();
  if (prompt.positions != task.prompt_length())
    return fail(ErrorCode::format, "[task] a {} prompt of {} positions; expected {}", task.name(),
                prompt.positions, task.prompt_length());
  if (prompt.fields.size() != specs.size())
    return fail(ErrorCode::format, "[task] a {} prompt of {} fields; expected {}", task.name(),
                prompt.fields.size(), specs.size());
  for (std::size_t f = 0; f < specs.size(); ++f) {
    const auto& spec = specs[f];
    const auto& values = prompt.fields[f];
    if (values.size() != static_cast<std::size_t>(prompt.positions * spec.length))
      return fail(ErrorCode::format, "[task] field {} of a {} prompt has {} numbers; expected {}", spec.name,
                  task.name(), values.size(), prompt.positions * spec.length);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i] < spec.low || values[i] - spec.low >= spec.size)
        return fail(ErrorCode::range, "[task] {} = {} at position {} of a {} prompt; expected {} to {}",
                    spec.name, values[i], i / static_cast<std::size_t>(spec.length), task.name(), spec.low,
                    spec.low + spec.size - 1);
  }
  return {};
}

Result<void> TokenTask::validate(const Prompt& prompt) const {
  RUNG_CHECK(validate_shape(*this, prompt));
  for (std::int64_t t = 0; t < prompt.positions; ++t) {
    const Range allowed = range(t);
    const std::int64_t token = prompt.token(t);
    if (token < allowed.low || token - allowed.low >= allowed.count)
      return fail(ErrorCode::range, "[task] token {} at position {} of a {} prompt; expected {} to {}", token,
                  t, name(), allowed.low, allowed.low + allowed.count - 1);
  }
  return {};
}

std::int64_t TokenTask::choices(const Prompt& prefix) const {
  RUNG_REQUIRE(prefix.positions < prompt_length(), "positions={}", prefix.positions);
  return range(prefix.positions).count;
}

void TokenTask::extend(Prompt& prefix, std::int64_t choice) const {
  const Range allowed = range(prefix.positions);
  RUNG_REQUIRE(choice >= 0 && choice < allowed.count, "choice={} of {}", choice, allowed.count);
  prefix.fields[0].push_back(allowed.low + choice);
  ++prefix.positions;
}

Instance TokenTask::token_instance(std::vector<std::int64_t> tokens, std::vector<std::int64_t> answer) {
  Instance instance;
  instance.prompt.positions = static_cast<std::int64_t>(tokens.size());
  instance.prompt.fields.emplace_back(std::move(tokens));
  instance.answer = std::move(answer);
  return instance;
}

}  // namespace rung
