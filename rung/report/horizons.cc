#include "rung/report/horizons.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rung/base/parallel.h"
#include "rung/released/released.h"
#include "rung/theory/pattern.h"
#include "rung/theory/theorem.h"

namespace rung::report {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kTasks[] = {"eva", "two-sum", "seqcomp"};
constexpr std::string_view kClassDefaults = "-defaults.json";  // descriptions of a class, no released model
constexpr std::string_view kPartial = ".partial.json";

std::string model_name(std::string_view file) {
  const bool partial = file.ends_with(kPartial);
  return std::string(
      file.substr(0, file.size() - (partial ? kPartial.size() : std::string_view(".json").size())));
}

// The verdict at the model's own context, and where the first impossibility theorem turns: a task may be
// possible here and impossible later. A bound over n says n, and the prompt is about as long.
ordered_json task_entry(const std::vector<Verdict>& verdicts) {
  const Verdict& strongest = verdicts.front();
  const Verdict* bite = nullptr;
  for (const Verdict& verdict : verdicts) {
    if (!verdict.horizon || verdict.outcome == Outcome::possible) continue;
    if (!bite || *verdict.horizon < *bite->horizon) bite = &verdict;
  }
  const Verdict& named = bite ? *bite : strongest;
  return {{"task", strongest.task},
          {"verdict", outcome_name(strongest.outcome)},
          {"theorem", named.theorem},
          {"status", status_name(named.status)},
          {"horizon", bite ? ordered_json(json_number(*bite->horizon)) : nullptr}};
}

ordered_json composition_entry(const Setting& setting) {
  const PatternSummary summary = summarise_pattern(setting);
  ordered_json bite = nullptr;
  const auto& first = summary.impossible ? summary.impossible_by : summary.first_bite;
  if (first && first->horizon) {
    bite = {{"tokens", json_number(*first->horizon)},
            {"theorem", first->theorem},
            {"status", status_name(first->status)}};
    if (first->parameters.contains("L")) bite["L"] = first->parameters["L"];
  }
  return {{"solvable", summary.solvable ? ordered_json(*summary.solvable) : nullptr},
          {"impossible", summary.impossible ? ordered_json(*summary.impossible) : nullptr},
          {"first_bite", std::move(bite)}};
}

ordered_json model_entry(const EmbeddedConfig& file) {
  const bool partial = file.name.ends_with(kPartial);
  const auto model = read_config(file.text, {.partial = partial, .assume_defaults = true});
  if (!model) return nullptr;  // refused for a reason that docs/released.md names
  const auto layers = resolve(model->architecture);
  if (!layers) return nullptr;
  SettingOptions options;
  options.assume_exact = true;
  options.storage = model->bits;
  options.assumes = model->storage_assumptions();
  options.count = [&](const StorageBits& bits) { return account_released(*model, *layers, bits); };
  const auto setting = make_setting(model->architecture, options);
  if (!setting) return nullptr;
  ordered_json tasks = ordered_json::array();
  for (const std::string_view task : kTasks) {
    const auto question = make_question(task, {}, setting->context, true);
    if (!question) continue;
    if (const auto verdicts = consider(*setting, *question); !verdicts.empty())
      tasks.push_back(task_entry(verdicts));
  }
  const bool stated =
      std::find(model->unknown.begin(), model->unknown.end(), "context") == model->unknown.end();
  return {{"model", model_name(file.name)},
          {"partial", partial},
          {"word", setting->word.folded},
          {"layers", setting->layers.size()},
          {"full", setting->word.full_letters()},
          {"state_bits", json_number(setting->word.total().after(setting->context))},
          {"context", stated ? ordered_json(setting->context) : nullptr},
          {"tasks", std::move(tasks)},
          {"composition", composition_entry(*setting)}};
}

}  // namespace

ordered_json released_horizons(std::span<const EmbeddedConfig> configs) {
  std::vector<const EmbeddedConfig*> models;
  for (const EmbeddedConfig& file : configs)
    if (!file.name.ends_with(kClassDefaults)) models.push_back(&file);
  std::vector<ordered_json> entries(models.size());
  parallel_for(static_cast<std::int64_t>(models.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      entries[static_cast<std::size_t>(i)] = model_entry(*models[static_cast<std::size_t>(i)]);
  });
  ordered_json out = ordered_json::array();
  for (ordered_json& entry : entries)
    if (!entry.is_null()) out.push_back(std::move(entry));
  return out;
}

const ordered_json& released_horizons() {
  static const ordered_json once = released_horizons(kReleasedConfigs);
  return once;
}

}  // namespace rung::report
