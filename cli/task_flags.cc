#include "cli/task_flags.h"

#include <algorithm>

namespace rung::cli {

void TaskFlags::declare(Command& command, const std::vector<std::string>& forms) {
  // A size that means something else to this command keeps the command's meaning.
  auto taken = [&](const std::string& flag) {
    return std::any_of(command.options.begin(), command.options.end(),
                       [&](const Option& option) { return option.names == flag; });
  };
  for (const auto& word : task_words()) {
    for (const auto& size : word.sizes) {
      const auto [place, added] = sizes.try_emplace(std::string(size.name));
      if (const std::string flag = fmt::format("--{}", size.name); added && !taken(flag))
        command.options.push_back({.names = flag,
                                   .help = std::string(size.help),
                                   .target = &place->second,
                                   .group = "Sizes (rung task --list: which task has which)",
                                   .forms = forms});
    }
    for (const auto& option : word.options) {
      const auto [place, added] = options.try_emplace(std::string(option.name));
      if (const std::string flag = fmt::format("--{}", option.name); added && !taken(flag))
        command.options.push_back(
            {.names = flag, .help = std::string(option.help), .target = &place->second, .forms = forms});
    }
  }
}

bool TaskFlags::any() const { return !given_sizes().empty() || !given_options().empty(); }

TaskSizes TaskFlags::given_sizes() const {
  TaskSizes given;
  for (const auto& [name, value] : sizes)
    if (value) given[name] = *value;
  return given;
}

std::map<std::string, std::string> TaskFlags::given_options() const {
  std::map<std::string, std::string> given;
  for (const auto& [name, value] : options)
    if (value) given[name] = *value;
  return given;
}

Result<std::unique_ptr<Task>> TaskFlags::make(const std::string& name) const {
  return make_task(name, given_sizes(), given_options());
}

}  // namespace rung::cli
