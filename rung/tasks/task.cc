#include "rung/tasks/task.h"

#include <algorithm>
#include <array>

#include "rung/base/nearest_word.h"
#include "rung/base/words.h"

namespace rung {

template <>
inline constexpr auto kWords<Variant> = std::to_array<std::string_view>({"uniform", "permutation", "zipf",
                                                                         "adversarial"});

Result<Variant> parse_variant(std::string_view text) {
  return parse_word<Variant>(text, "[task] unknown variant");
}
std::string_view variant_name(Variant variant) { return name_of(variant); }

Prompt Task::empty_prompt() const {
  return Prompt{0, std::vector<std::vector<std::int64_t>>(fields().size())};
}

void Task::retract(Prompt& prefix) const {
  RUNG_REQUIRE(prefix.positions >= 1, "positions={}", prefix.positions);
  for (auto& field : prefix.fields)
    field.resize(field.size() - field.size() / static_cast<std::size_t>(prefix.positions));
  --prefix.positions;
}

std::optional<std::vector<std::int64_t>> Task::chain_of_thought(const Prompt&) const { return std::nullopt; }

std::optional<Task::Language> Task::language(const Instance&) const { return std::nullopt; }

std::string Task::symbol(std::size_t, std::int64_t value) const { return std::to_string(value); }

std::string Task::text(const Prompt& prompt) const {
  std::string out;
  for (std::size_t t = 0; t < static_cast<std::size_t>(prompt.positions); ++t) {
    if (t > 0) out += ' ';
    for (std::size_t f = 0; f < prompt.fields.size(); ++f) {
      if (f > 0) out += ':';
      const std::size_t length = prompt.fields[f].size() / static_cast<std::size_t>(prompt.positions);
      for (std::size_t c = 0; c < length; ++c) {
        if (c > 0) out += ',';
        out += symbol(f, prompt.fields[f][t * length + c]);
      }
    }
  }
  return out;
}

std::string Task::answer_text(std::span<const std::int64_t> answer) const {
  const AnswerSpec spec = answer_spec();
  const std::size_t group = spec.kind == AnswerSpec::Kind::vector ? static_cast<std::size_t>(spec.size) : 1;
  std::string out;
  for (std::size_t i = 0; i < answer.size(); ++i) {
    if (i > 0) out += i % group == 0 ? ' ' : ',';
    out += std::to_string(answer[i]);
  }
  return out;
}

std::uint64_t enumerate(const Task& task, const std::function<bool(const Instance&)>& visit) {
  const std::int64_t length = task.prompt_length();
  Instance instance{task.empty_prompt(), {}};
  Prompt& prefix = instance.prompt;
  // left[t]: the choices at position t that are still to be taken, as (next, count).
  std::vector<std::pair<std::int64_t, std::int64_t>> left;
  std::uint64_t visited = 0;
  const auto open_position = [&] {
    const std::int64_t count = task.choices(prefix);
    RUNG_REQUIRE(count >= 1, "{} cannot be enumerated (position {})", task.name(), prefix.positions);
    left.emplace_back(0, count);
  };
  open_position();
  while (!left.empty()) {
    auto& [next, count] = left.back();
    if (prefix.positions == static_cast<std::int64_t>(left.size())) task.retract(prefix);
    if (next == count) {
      left.pop_back();
      continue;
    }
    task.extend(prefix, next++);
    if (prefix.positions < length) {
      open_position();
      continue;
    }
    instance.answer = task.answer(prefix);
    ++visited;
    if (!visit(instance)) return visited;
  }
  return visited;
}

}  // namespace rung
