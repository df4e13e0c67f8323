#include "cli/model_task.h"

namespace rung::cli {

Result<std::unique_ptr<Task>> model_task(const Weights& weights, const std::string& model,
                                         const std::optional<std::string>& named, const TaskFlags& flags,
                                         std::string_view area) {
  TaskSizes sizes;
  std::map<std::string, std::string> options;
  std::string name;
  const auto& own = weights.task;
  const bool described = own.is_object() && own.contains("name") && own["name"].is_string();
  if (described && (!named || own["name"] == *named)) {
    name = own["name"].get<std::string>();
    if (own.contains("size") && own["size"].is_object())
      for (const auto& [key, value] : own["size"].items())
        if (value.is_number_integer()) sizes[key] = value.get<std::int64_t>();
    if (own.contains("options") && own["options"].is_object())
      for (const auto& [key, value] : own["options"].items())
        if (value.is_string()) options[key] = value.get<std::string>();
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
