// The flags by which every command names a task and its sizes: --n --m --L ... and the task's own words.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "rung/tasks/task.h"

namespace rung::cli {

// "a,b" -> a and b.
std::vector<std::string> comma_words(const std::string& text);

struct TaskFlags {
  std::map<std::string, std::optional<std::int64_t>> sizes;
  std::map<std::string, std::optional<std::string>> options;

  // Adds one flag per size and option of any task, for these forms of the command (Option::forms). REQUIRES
  // *this outlives the command.
  void declare(Command& command, const std::vector<std::string>& forms = {});
  bool any() const;  // whether any was given
  // These sizes with every combination of the sweeps: "n=16,32" and "L=1,2" make four. `area` begins a message.
  Result<std::vector<TaskFlags>> sweep(const std::vector<std::string>& sweeps, std::string_view area) const;
  Result<std::unique_ptr<Task>> make(const std::string& name) const;
  TaskSizes given_sizes() const;
  std::map<std::string, std::string> given_options() const;
};

}  // namespace rung::cli
