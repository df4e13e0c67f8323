// Prompts that differ inside a range of positions and agree everywhere else, for any task: entries are
// replaced by rows that the task allows there.
#pragma once

#include <optional>

#include "rung/tasks/task.h"

namespace rung {

class VariedPrompts {
 public:
  // Varies the last entries of [begin, end), just enough of them for about 2^bits prompts where there are
  // that many. With `asked` the members' answers differ; nothing when no instance is found for which this is
  // so, or nothing can vary. Determinism: all arguments. The task outlives the prompts.
  static std::optional<VariedPrompts> find(const Task& task, std::int64_t begin, std::int64_t end,
                                           double bits, bool asked, std::uint64_t seed);

  // Member number `index`; a valid instance. Members repeat where there are few.
  Prompt member(std::uint64_t index) const;
  // All members agree at every position before this one, and from `end` on.
  std::int64_t first_varying() const { return first_; }

 private:
  using Row = std::vector<std::int64_t>;
  struct Entry {
    std::int64_t position = 0;
    std::vector<Row> rows;
  };
  VariedPrompts(const Task& task, std::uint64_t seed) : task_(&task), fields_(task.fields()), seed_(seed) {}
  void put(Prompt& prompt, std::int64_t position, const Row& row) const;
  std::vector<Row> rows_for(std::int64_t position) const;
  bool answers_differ() const;

  const Task* task_;
  std::vector<FieldSpec> fields_;
  std::uint64_t seed_;
  std::int64_t first_ = 0;
  Prompt base_;
  std::vector<Entry> entries_;
};

// The first `positions` positions of a prompt.
Prompt prefix_of(const Task& task, const Prompt& prompt, std::int64_t positions);

}  // namespace rung
