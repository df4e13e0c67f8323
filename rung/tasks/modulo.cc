// Modulo: ^ and n letters of [m] → their sum modulo m.
#include "rung/tasks/automaton_task.h"
#include "rung/tasks/modular_sum.h"

namespace rung {
namespace {

std::string tell_modulo(const Automaton& automaton, std::span<const std::int64_t> word) {
  std::string text = fmt::format("A clock has {} hours, 0 to {}, and shows 0. ", automaton.state_count(),
                                 automaton.state_count() - 1);
  for (const auto letter : word) text += fmt::format("{} hours pass. ", letter);
  return text + "What does the clock show?";
}

std::string tell_modulo_answer(const Automaton&, std::int64_t answer) { return std::to_string(answer); }

constexpr std::int64_t kMaxModulus = 1024;

}  // namespace

Automaton modular_sum(std::int64_t m) {
  RUNG_REQUIRE(m >= 1 && m <= kMaxTransitions / m, "m={}", m);
  Automaton automaton{.answers = m};
  for (std::int64_t sum = 0; sum < m; ++sum) {
    automaton.letters.push_back(std::to_string(sum));
    automaton.states.push_back(std::to_string(sum));
    automaton.out.push_back(sum);
    for (std::int64_t letter = 0; letter < m; ++letter)
      automaton.next.push_back(static_cast<std::uint32_t>((sum + letter) % m));
  }
  return automaton;
}

TaskWord modulo_word() {
  return {.name = "modulo",
          .summary = "^, then n letters of [m] -> their sum modulo m",
          .sizes = {letters_size(), {"m", "the modulus, and the number of letters", 3, 2, kMaxModulus}},
          .make =
              [](const TaskSizes& sizes, const TaskOptions& options) {
                const std::int64_t m = sizes.at("m");
                return new_automaton_task({.name = "modulo",
                                           .own_sizes = {{"m", m}},
                                           .contrast = another_letter,
                                           .tell = tell_modulo,
                                           .tell_answer = tell_modulo_answer},
                                          modular_sum(m), sizes, options);
              },
          .options = {read_option()}};
}

}  // namespace rung
