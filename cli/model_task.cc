#include "cli/model_task.h"

#include <filesystem>

#include "rung/tasks/task_record.h"
#include "rung/tasks/user_task.h"

namespace rung::cli {

Result<std::unique_ptr<Task>> model_task(const Weights& weights, const std::string& model,
                                         const std::optional<std::string>& named, const TaskFlags& flags,
                                         std::string_view area) {
  TaskSizes sizes;
  std::map<std::string, std::string> options;
  std::string name;
  const auto own = parse_task_record(weights.task);
  const bool of_file = own && is_user_task(own->name);
  if (of_file && !named)
    return fail(ErrorCode::missing, "[{}] {} was made for the task of a file, {}; say --task FILE", area,
                model, own->name);
  const auto said = [&] { return of_file ? std::filesystem::path(*named).filename().string() : *named; };
  if (own && (!named || own->name == said())) {
    name = own->name;
    sizes = own->sizes;
    options = own->options;
  }
  if (named) name = *named;
  if (name.empty())
    return fail(ErrorCode::missing, "[{}] {} names no task; say --task and its sizes", area, model);
  const auto given = flags.given_sizes();
  if (!given.empty()) sizes = given;  // sizes derived from the old ones must not linger
  for (const auto& [key, value] : flags.given_options()) options[key] = value;
  return make_task(name, sizes, options);
}

}  // namespace rung::cli
