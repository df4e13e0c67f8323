// A prompt as a person gives it on the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "rung/tasks/task.h"

namespace rung::cli {

// `input` is one of
//   "3 0 2 1 | 1 0 | 0 | 1 | ="   tokens as `rung task` writes them, bars for the eye (tasks of one number a
//   position)
//   {"tokens": [...]}, {"fields": {"key": [...], ...}} or [3, 0, 2, 1]   a row of `rung task --format jsonl`,
//   or its tokens
//   @PATH or PATH                 a file with one of these; of a file of rows, row `index` (the first). An index
//   beside a prompt that is no file of rows is an error.
// ENSURES on success as many numbers as the task's prompt has; whether they are an instance is
// Task::validate's business.
Result<Prompt> read_prompt(const std::string& input, const Task& task, std::optional<std::int64_t> index);

}  // namespace rung::cli
