#include "rung/store/setting.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "rung/spec/architecture.h"

namespace rung {
namespace {

using Json = nlohmann::json;

// Fields of a body that say what was asked: of an evaluation, a certificate and a training plan.
constexpr const char* kSettingFields[] = {
    "task",      "size",       "options",     "variant",     "exhaustive", "arch",       "dimensions",
    "tasks",     "curriculum", "stage_steps", "support",     "advance",    "whole",      "deep",
    "embedding", "from",       "supervision", "queries",     "parts",      "steps",      "batch",
    "warmup",    "floor",      "clip",        "beta1",       "beta2",      "dropout",    "smoothing",
    "precision", "round_bits", "carry_bits",  "round_after", "stop",       "experiment", "configuration",
    "model",     "mode",       "method",      "patience",    "gain"};

void say_setting(std::string& text, const std::string& more) { text += (text.empty() ? "" : ", ") + more; }

std::string setting_word(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', true);
}

void say_task_options(std::string& text, const Json& holder) {
  if (const auto found = holder.find("options"); found != holder.end() && found->is_object())
    for (const auto& [name, value] : found->items())
      say_setting(text, fmt::format("{}={}", name, setting_word(value)));
}

}  // namespace

RunSetting run_setting(std::string_view body) {
  const Json fields = Json::parse(body, nullptr, false);
  if (!fields.is_object()) return {};
  RunSetting setting;
  Json asked = Json::object();
  for (const char* name : kSettingFields)
    if (const auto found = fields.find(name); found != fields.end()) asked[name] = *found;
  if (const auto arch = asked.find("arch"); arch != asked.end() && arch->is_string())
    *arch = spelled_line(arch->get<std::string>(), UnsaidForm::plain);
  setting.key = asked.dump(-1, ' ', true);
  say_task_options(setting.asked, fields);
  if (const auto tasks = fields.find("tasks"); tasks != fields.end() && tasks->is_array())
    for (const Json& task : *tasks)
      if (task.is_object()) say_task_options(setting.asked, task);
  if (const auto variant = fields.find("variant"); variant != fields.end() && *variant != "uniform")
    say_setting(setting.asked, setting_word(*variant));
  if (fields.value("exhaustive", Json()) == true) say_setting(setting.asked, "exhaustive");
  if (const auto parts = fields.find("parts"); parts != fields.end() && *parts == true)
    say_setting(setting.asked, "parts");
  if (const auto way = fields.find("supervision"); way != fields.end() && *way != "every-query")
    say_setting(setting.asked, setting_word(*way));
  if (const auto size = fields.find("dimensions"); size != fields.end() && size->is_object())
    if (const auto width = size->find("width"); width != size->end())
      say_setting(setting.asked, fmt::format("width={}", setting_word(*width)));
  return setting;
}

}  // namespace rung
