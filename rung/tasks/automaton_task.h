// The task of an automaton: ^ and n letters → the answer of the state that they lead to, read at the last letter or,
// with read = all, at every one. `parity`, `modulo`, `group`, `flipflop` and a user's file are such tasks, and differ
// in their automaton alone.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "rung/tasks/automaton.h"
#include "rung/tasks/task_list.h"
#include "rung/tasks/token_task.h"

namespace rung {

inline constexpr std::int64_t kDefaultLetters = 8;                 // n
inline constexpr std::int64_t kMaxLetters = kMaxPromptLength - 1;  // n; with ^ a prompt of kMaxPromptLength

// What a task is beside its automaton.
struct AutomatonTaskForm {
  std::string name;
  SizeList own_sizes = {};  // beside n: {"m", 3}
  TaskOptions own_options = {};
  bool built_in = true;
  // A word whose answer another letter at one place changes: the letters with `place` given by the draw, and what
  // stands there instead. Null: there are no adversarial instances.
  using Letters = std::vector<std::int64_t>;
  std::int64_t (*contrast)(const Automaton&, Random&, Letters& word, std::size_t place) = nullptr;
  // The plain-language form of a word and of an answer; null: none.
  std::string (*tell)(const Automaton&, std::span<const std::int64_t> word) = nullptr;
  std::string (*tell_answer)(const Automaton&, std::int64_t answer) = nullptr;
};

class AutomatonTask final : public TokenTask {
 public:
  AutomatonTask(AutomatonTaskForm form, Automaton automaton, std::int64_t n, bool everywhere)
      : form_(std::move(form)), automaton_(std::move(automaton)), n_(n), everywhere_(everywhere) {}

  std::string_view name() const override { return form_.name; }
  bool built_in() const override { return form_.built_in; }
  SizeList size() const override;
  TaskOptions options() const override;
  AnswerSpec answer_spec() const override {
    return automaton_.accepts ? boolean_answer() : token_answer(automaton_.answers);
  }
  std::int64_t prompt_length() const override { return n_ + 1; }
  std::vector<std::int64_t> query_positions() const override;
  bool supports(Variant variant) const override;
  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override;
  std::vector<std::int64_t> answer(const Prompt& prompt) const override;
  std::string symbol(std::size_t, std::int64_t value) const override;
  std::optional<Language> language(const Instance& instance) const override;
  const Automaton* automaton() const override { return &automaton_; }

 protected:
  std::int64_t vocabulary() const override { return start_sign() + 1; }
  Range range(std::int64_t position) const override;

 private:
  std::int64_t start_sign() const { return static_cast<std::int64_t>(automaton_.letters.size()); }

  AutomatonTaskForm form_;
  Automaton automaton_;
  std::int64_t n_;
  bool everywhere_;
};

// n and `read`, as every automaton task has them.
TaskWord::Size letters_size();
TaskWord::Option read_option();
Result<std::unique_ptr<Task>> new_automaton_task(AutomatonTaskForm form, Automaton automaton,
                                                 const TaskSizes& sizes, const TaskOptions& options);

// Another letter at the place, which changes the state for good: for automata whose letters act as a group and differ.
std::int64_t another_letter(const Automaton& automaton, Random& random, AutomatonTaskForm::Letters& word,
                            std::size_t place);

// The automaton of an automaton task, and of `dyck` and `counting` (with a fixed k) in the same form: ^, then
// brackets or symbols, read at the last; `counting` counts the symbol 0. Errors: a task that no automaton follows.
Result<Automaton> task_automaton(const Task& task);

}  // namespace rung
