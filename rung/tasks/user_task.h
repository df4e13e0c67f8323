// A user's own task, read from a file, without recompiling. docs/tasks.md documents both forms:
//   table.jsonl   {"tokens":[3,0,2,1],"answer":1} a line; all prompts of the same length
//   machine.json
//   {"alphabet":[...],"states":[...],"start":...,"transitions":{...},"accepting":[...]}
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "rung/tasks/task_list.h"

namespace rung {

// True for a NAME that means a file: it contains '/' or ends in .json or .jsonl.
bool is_user_task(std::string_view name);

// ENSURES: memory in proportion to the file's size, whatever its numbers claim; one-line errors with the line
// or field.
Result<std::unique_ptr<Task>> read_user_task(const std::string& path, const TaskSizes& sizes,
                                             const TaskOptions& options);

// The two readers, given the file's text. `name` is what instances are called.
Result<std::unique_ptr<Task>> read_table_task(std::string name, std::string_view text);
Result<std::unique_ptr<Task>> read_automaton_task(std::string name, std::string_view text,
                                                  const TaskSizes& sizes, const TaskOptions& options = {});

}  // namespace rung
