#include "cli/task_flags.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "rung/base/nearest_word.h"
#include "rung/base/size_text.h"

namespace rung::cli {

namespace {

constexpr std::size_t kMostSweptSizes = 4096;

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

std::vector<std::string> comma_words(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    words.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return words;
}

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
        command.options.push_back(
            {flag, size_help(size.name), &place->second, {.group = "Sizes, by task", .forms = forms}});
    }
    for (const auto& option : word.options) {
      const auto [place, added] = options.try_emplace(std::string(option.name));
      if (const std::string flag = fmt::format("--{}", option.name); added && !taken(flag))
        command.options.push_back({flag, std::string(option.help), &place->second, {.forms = forms}});
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

Result<std::vector<TaskFlags>> TaskFlags::sweep(const std::vector<std::string>& sweeps,
                                                std::string_view area) const {
  std::vector<TaskFlags> all{*this};
  for (const auto& sweep : sweeps) {
    const std::size_t equals = sweep.find('=');
    if (equals == 0 || equals == std::string::npos)
      return fail(ErrorCode::parse, "[{}] --sweep {}; expected a size and its values, n=16,32,64", area,
                  rung::quoted(sweep));
    const std::string name = sweep.substr(0, equals);
    if (given_sizes().contains(name))
      return fail(ErrorCode::parse, "[{}] --{} is not used beside --sweep {}", area, name, sweep);
    std::vector<TaskFlags> next;
    for (const auto& word : comma_words(sweep.substr(equals + 1))) {
      const auto value = parse_size(word);
      if (!value)
        return fail(ErrorCode::parse, "[{}] --sweep {}: {} is not a whole number", area, rung::quoted(sweep),
                    rung::quoted(word));
      for (const auto& one : all) {
        next.push_back(one);
        next.back().sizes[name] = *value;
      }
      if (next.size() > kMostSweptSizes)
        return fail(ErrorCode::resource, "[{}] the sweep has more than {} sizes", area, kMostSweptSizes);
    }
    all = std::move(next);
  }
  return all;
}

Result<std::unique_ptr<Task>> TaskFlags::make(const std::string& name) const {
  return make_task(name, given_sizes(), given_options());
}

}  // namespace rung::cli
