// What a task file needs to describe its line in the list of task_list.cc.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "rung/tasks/task.h"

namespace rung {

using TaskOptions = std::map<std::string, std::string>;

// What TaskWord::make returns on success: new_task<EvaTask>(n).
template <class T, class... Args>
Result<std::unique_ptr<Task>> new_task(Args&&... args) {
  return std::unique_ptr<Task>(std::make_unique<T>(std::forward<Args>(args)...));
}

// The size, or `fallback` where it was left open.
inline std::int64_t size_or(const TaskSizes& sizes, const std::string& name, std::int64_t fallback) {
  const auto found = sizes.find(name);
  return found == sizes.end() ? fallback : found->second;
}

}  // namespace rung
