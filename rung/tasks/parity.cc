// Parity: ^ and n letters 0 or 1 → the number of ones modulo 2. The smallest task that needs a group.
#include "rung/tasks/automaton_task.h"
#include "rung/tasks/modular_sum.h"

namespace rung {
namespace {

std::string tell_parity(const Automaton&, std::span<const std::int64_t> word) {
  std::string text = "The lamp is off. ";
  for (const auto letter : word)
    text += letter == 1 ? "Somebody presses the switch. " : "Nobody presses the switch. ";
  return text + "Is the lamp on?";
}

std::string tell_parity_answer(const Automaton&, std::int64_t answer) { return answer == 1 ? "yes" : "no"; }

}  // namespace

TaskWord parity_word() {
  return {.name = "parity",
          .summary = "^, then n letters 0 or 1 -> the number of ones modulo 2",
          .sizes = {letters_size()},
          .make =
              [](const TaskSizes& sizes, const TaskOptions& options) {
                return new_automaton_task({.name = "parity",
                                           .contrast = another_letter,
                                           .tell = tell_parity,
                                           .tell_answer = tell_parity_answer},
                                          modular_sum(2), sizes, options);
              },
          .options = {read_option()}};
}

}  // namespace rung
