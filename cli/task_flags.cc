#include "cli/task_flags.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace rung::cli {

namespace {

// What a size means to each task, tasks that mean the same together: "values (two-sum); keys (mqar)".
std::string size_help(std::string_view name) {
  if (name.size() > 1 && name.back() > '1' && name.back() <= '9') {  // n2, n3, ...: one meaning, said once
    const std::string first = std::string(name.substr(0, name.size() - 1)) + "1";
    for (const TaskWord& word : task_words())
      for (const TaskWord::Size& size : word.sizes)
        if (size.name == first) return "as --" + first;
  }
  std::vector<std::pair<std::string_view, std::vector<std::string_view>>> meanings;
  for (const TaskWord& word : task_words())
    for (const TaskWord::Size& size : word.sizes) {
      if (size.name != name) continue;
      auto known = std::find_if(meanings.begin(), meanings.end(),
                                [&](const auto& one) { return one.first == size.help; });
      if (known == meanings.end()) known = meanings.insert(meanings.end(), {size.help, {}});
      known->second.push_back(word.name);
    }
  std::string out;
  for (const auto& [help, tasks] : meanings)
    out += fmt::format("{}{} ({})", out.empty() ? "" : "; ", help, fmt::join(tasks, ", "));
  return out;
}

}  // namespace

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
                                   .help = size_help(size.name),
                                   .target = &place->second,
                                   .group = "Sizes, by task",
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
