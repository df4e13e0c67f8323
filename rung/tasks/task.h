// A task: prompts, their answers, and how to make them. One file a task, one line in the list (task_list.cc).
//
//   auto task = make_task("seqcomp", {{"L", 2}, {"m", 2}, {"n1", 2}});
//   Instance i = (*task)->generate(Variant::uniform, /*seed=*/1, /*index=*/0);
//   (*task)->answer(i.prompt) == i.answer;      // the reference answer is recomputed from the prompt alone
//
// Determinism: generate depends on (sizes, variant, seed, index) only. All prompts of one Task object have
// the same length and the same query positions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rung/base/random.h"
#include "rung/base/result.h"
#include "rung/spec/prompt.h"
#include "rung/tasks/size_list.h"

namespace rung {

enum class Variant { uniform, permutation, zipf, adversarial };
Result<Variant> parse_variant(std::string_view text);
std::string_view variant_name(Variant variant);

struct Automaton;  // automaton.h
class GapLaw;      // gap_law.h

// The answer at a query position where a prompt asks nothing; whatever a model says there counts for nothing. It is the
// label that PyTorch's losses pass over.
inline constexpr std::int64_t kNotAsked = -100;

struct Instance {
  Prompt prompt;
  std::vector<std::int64_t> answer;  // one number per query position (vector answers: `size` numbers each)
  bool operator==(const Instance&) const = default;
};

class Task {
 public:
  virtual ~Task() = default;

  virtual std::string_view name() const = 0;
  virtual SizeList size() const = 0;  // {"n": 64}: sizes with defaults filled in
  virtual std::vector<FieldSpec> fields() const = 0;
  virtual AnswerSpec answer_spec() const = 0;
  virtual std::int64_t prompt_length() const = 0;                 // T, tokens
  virtual std::vector<std::int64_t> query_positions() const = 0;  // where answers are read, increasing
  // At how many of them every prompt asks; where that is not all, answers say kNotAsked at the others.
  virtual std::int64_t asked() const { return static_cast<std::int64_t>(query_positions().size()); }
  virtual bool supports(Variant variant) const = 0;
  // The words that differ from their default: {"order", "easy"}. make_task(name(), size(), options()) is this
  // task again.
  virtual std::map<std::string, std::string> options() const { return {}; }
  // False for a task that a user's file defines: its name is the file's, and may be that of another task.
  virtual bool built_in() const { return true; }
  // Whether a certificate can name this form of the task: the checker knows it, and so do the searches.
  virtual bool certifiable() const { return built_in(); }
  // The automaton that a model has to follow, where the task is one (automaton_task.h); null elsewhere.
  virtual const Automaton* automaton() const { return nullptr; }
  // The law that the places of its questions are drawn by (gapped_mqar.h); null elsewhere.
  virtual const GapLaw* gap_law() const { return nullptr; }

  // REQUIRES supports(variant). Adversarial instances come in pairs: 2k and 2k+1 are one draw in its two
  // polarities, as close to each other as the task allows and with different answers.
  virtual Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const = 0;
  // Recomputed from the prompt alone, slowly and plainly. REQUIRES a complete, valid prompt.
  virtual std::vector<std::int64_t> answer(const Prompt& prompt) const = 0;
  // One line on what is wrong with a prompt that is no instance of the task, or nothing.
  virtual Result<void> validate(const Prompt& prompt) const = 0;

  // The tree of all prompts, position by position: how many values the position after `prefix` can take (the
  // same canonical order on every machine), and the prefix extended by one of them. Complete prompts have
  // positions == prompt_length(). choices == 0 on an incomplete prefix: not enumerable (real-valued tasks).
  virtual std::int64_t choices(const Prompt& prefix) const = 0;
  virtual void extend(Prompt& prefix, std::int64_t choice) const = 0;
  // Takes the last position off again.
  void retract(Prompt& prefix) const;
  Prompt empty_prompt() const;

  // The tokens that a chain of thought writes after the prompt (the last one is the answer), where the task
  // has one.
  virtual std::optional<std::vector<std::int64_t>> chain_of_thought(const Prompt& prompt) const;

  // A person's view: text of one prompt, of one answer; language() is the plain-language form where the task
  // has one.
  virtual std::string text(const Prompt& prompt) const;
  virtual std::string answer_text(std::span<const std::int64_t> answer) const;
  // How text() writes one value of one field: a number, unless the vocabulary has a sign for it.
  virtual std::string symbol(std::size_t field, std::int64_t value) const;
  struct Language {
    std::string prompt, answer;
  };
  virtual std::optional<Language> language(const Instance& instance) const;
};

// Size parameters by name, as the command line gives them: n m n1 n2 L M q k depth ...
using TaskSizes = std::map<std::string, std::int64_t>;

struct TaskWord {
  std::string_view name;  // "two-sum"
  std::string_view summary;
  struct Size {
    std::string_view name, help;
    std::optional<std::int64_t> default_value;  // absent: required, or derived from the others
    std::int64_t low = 1, high = 1;
  };
  std::vector<Size> sizes;
  // REQUIRES: sizes within their ranges with default values filled in, options among those below.
  Result<std::unique_ptr<Task>> (*make)(const TaskSizes& sizes,
                                        const std::map<std::string, std::string>& options);
  struct Option {
    std::string_view name, help;
    std::vector<std::string_view> words;  // the first is the default
    bool open = false;                    // these are examples: make() reads other words too
  };
  std::vector<Option> options = {};
};
std::span<const TaskWord> task_words();

inline constexpr std::int64_t kMaxPromptLength = std::int64_t{1} << 31;  // tokens
inline constexpr std::int64_t kMaxAlphabet = std::int64_t{1} << 60;      // values of one field

// ENSURES: sizes checked (unknown names, ranges, prompt length at most 2^31); one-line errors with the
// nearest word. NAME may be a path to a user's task file (user_task.h). Options are words: {"order","easy"}.
Result<std::unique_ptr<Task>> make_task(std::string_view name, const TaskSizes& sizes,
                                        const std::map<std::string, std::string>& options = {});

// The task's line in the list, or an error with the nearest word.
Result<const TaskWord*> find_task_word(std::string_view name);

// Every instance of the task in the canonical order while `visit` returns true. Returns how many were
// visited.
std::uint64_t enumerate(const Task& task, const std::function<bool(const Instance&)>& visit);

}  // namespace rung
