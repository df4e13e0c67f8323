// How a file names a task: {"name": "eva", "size": {"n": 64}, "options": {"order": "easy"}}. A user's task has the name
// of its file, with its ending: parity.json is not the task parity.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "rung/tasks/task.h"

namespace rung {

struct TaskRecord {
  std::string name;
  TaskSizes sizes;
  std::map<std::string, std::string> options;
};

// One line; "options" only where some differ from their default.
std::string task_record_text(const Task& task);
// Nothing where the text is no object with a name. Sizes that are no integers and options that are no words
// are passed over; make_task checks the rest.
std::optional<TaskRecord> parse_task_record(std::string_view text);

}  // namespace rung
