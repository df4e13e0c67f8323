// Instances as lines of a file: text for a person, JSON lines for a program (docs/tasks.md has the fields).
// The bytes depend on (task, variant, seed, count, form) alone: rows are formatted in parallel and handed
// over in order.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "rung/base/result.h"
#include "rung/tasks/task.h"

namespace rung {

enum class RowForm {
  text,      // "3 0 2 1 | 1 0 | 0 | 1 | = -> 1"
  jsonl,     // one JSON object: tokens or fields, answer, task, size, seed, variant, index
  question,  // jsonl, with `prompt` and `target` as strings: what a language model is asked
};

class InstanceRows {
 public:
  // REQUIRES task.supports(variant), and a task with language() when `language`; the task outlives the rows.
  InstanceRows(const Task& task, Variant variant, std::uint64_t seed, RowForm form, bool language);

  // Appends row `index` without a line end.
  void append(fmt::memory_buffer& out, std::uint64_t index) const;

  // Rows first .. first+count-1 in order, `separator` between two and nothing after the last; stops at the first
  // failing sink. `progress`, where given, is called now and then with the number of rows handed over.
  Result<void> write(std::uint64_t first, std::uint64_t count, std::string_view separator,
                     const std::function<Result<void>(std::string_view bytes)>& sink,
                     const std::function<void(std::uint64_t rows)>& progress = {}) const;

 private:
  void append_fields(fmt::memory_buffer& out, const Prompt& prompt) const;
  void append_answer(fmt::memory_buffer& out, const std::vector<std::int64_t>& answer) const;

  const Task& task_;
  Variant variant_;
  std::uint64_t seed_;
  RowForm form_;
  bool language_;
  std::vector<FieldSpec> fields_;
  std::size_t group_;      // numbers of one answer
  bool single_;            // one query position
  std::string head_;       // {"task":"eva","size":{"n":64},"variant":"uniform","seed":1,"index":
  std::string positions_;  // ,"answer_positions":[...] for several answers
};

}  // namespace rung
