// Flip-flop (Liu et al. 2306.00946, without its reads): ^ and n letters, hold or write a value of [k] → the last value
// written, 0 where none was. Token ids: hold is 0, write v is v + 1. Adversarial: one write, then holds to the end; the
// pair writes two values.
#include "rung/tasks/automaton_task.h"
#include "rung/tasks/sampling.h"

namespace rung {
namespace {

constexpr std::int64_t kMaxFlipflopValues = 1024, kHold = 0;

Automaton flipflop_automaton(std::int64_t k) {
  Automaton automaton{.answers = k};
  automaton.letters.push_back("hold");
  for (std::int64_t value = 0; value < k; ++value) {
    automaton.letters.push_back(fmt::format("w{}", value));
    automaton.states.push_back(std::to_string(value));
    automaton.out.push_back(value);
    automaton.next.push_back(static_cast<std::uint32_t>(value));
    for (std::int64_t written = 0; written < k; ++written)
      automaton.next.push_back(static_cast<std::uint32_t>(written));
  }
  return automaton;
}

std::int64_t another_write(const Automaton& automaton, Random& random, AutomatonTaskForm::Letters& word,
                           std::size_t place) {
  const auto values = static_cast<std::int64_t>(automaton.state_count());
  const std::int64_t written = draw(random, Variant::uniform, values);
  word[place] = 1 + written;
  std::fill(word.begin() + static_cast<std::ptrdiff_t>(place) + 1, word.end(), kHold);
  return 1 + other_than(random, written, values);
}

std::string tell_flipflop(const Automaton&, std::span<const std::int64_t> word) {
  std::string text = "The slate reads 0. ";
  for (const auto letter : word)
    text += letter == kHold ? "Nobody touches it. "
                            : fmt::format("Somebody wipes it and writes {}. ", letter - 1);
  return text + "What does the slate read?";
}

std::string tell_flipflop_answer(const Automaton&, std::int64_t answer) { return std::to_string(answer); }

}  // namespace

TaskWord flipflop_word() {
  return {.name = "flipflop",
          .summary = "^, then n letters, hold or write a value of [k] -> the last value written",
          .sizes = {letters_size(), {"k", "values", 2, 2, kMaxFlipflopValues}},
          .make =
              [](const TaskSizes& sizes, const TaskOptions& options) {
                const std::int64_t k = sizes.at("k");
                return new_automaton_task({.name = "flipflop",
                                           .own_sizes = {{"k", k}},
                                           .contrast = another_write,
                                           .tell = tell_flipflop,
                                           .tell_answer = tell_flipflop_answer},
                                          flipflop_automaton(k), sizes, options);
              },
          .options = {read_option()}};
}

}  // namespace rung
