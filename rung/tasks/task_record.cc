#include "rung/tasks/task_record.h"

#include <nlohmann/json.hpp>

#include "rung/base/json_text.h"

namespace rung {

std::string task_record_text(const Task& task) {
  nlohmann::ordered_json json;
  const std::string_view ending = task.built_in() ? "" : task.automaton() ? ".json" : ".jsonl";
  json["name"] = std::string(task.name()) + std::string(ending);
  json["size"] = task.size();
  if (const auto options = task.options(); !options.empty()) json["options"] = options;
  return json.dump();
}

std::optional<TaskRecord> parse_task_record(std::string_view text) {
  const auto parsed = parse_json(text, "task");
  if (!parsed || !parsed->is_object() || !parsed->contains("name") || !parsed->at("name").is_string())
    return std::nullopt;
  TaskRecord record{.name = parsed->at("name").get<std::string>()};
  if (parsed->contains("size") && parsed->at("size").is_object())
    for (const auto& [name, value] : parsed->at("size").items())
      if (value.is_number_integer()) record.sizes[name] = value.get<std::int64_t>();
  if (parsed->contains("options") && parsed->at("options").is_object())
    for (const auto& [name, value] : parsed->at("options").items())
      if (value.is_string()) record.options[name] = value.get<std::string>();
  return record;
}

}  // namespace rung
