#include "rung/report/horizons.h"

#include <algorithm>
#include <string>
#include <vector>

#include "rung/base/json_fields.h"
#include "rung/base/parallel.h"
#include "rung/released/released.h"
#include "rung/theory/pattern.h"
#include "rung/theory/theorem.h"

namespace rung::report {
namespace {

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
TaskHorizon task_horizon(const std::vector<Verdict>& verdicts) {
  const Verdict& strongest = verdicts.front();
  const Verdict* first = nullptr;
  for (const Verdict& verdict : verdicts) {
    if (!verdict.horizon || verdict.outcome == Outcome::possible) continue;
    if (!first || *verdict.horizon < *first->horizon) first = &verdict;
  }
  const Verdict& named = first ? *first : strongest;
  return {strongest.task, strongest.outcome, named.theorem, named.status,
          first ? json_number(*first->horizon) : Parameter()};
}

CompositionHorizon composition_horizon(const Setting& setting) {
  const PatternSummary summary = summarise_pattern(setting);
  CompositionHorizon out{summary.solvable, summary.impossible, {}};
  const auto& first = summary.impossible ? summary.impossible_by : summary.vacuous_by;
  if (first && first->horizon)
    out.certified = {json_number(*first->horizon),
                     first->parameters.contains("L") ? first->parameters["L"] : Parameter(), first->theorem,
                     first->status};
  return out;
}

std::optional<ModelHorizons> model_horizons(const EmbeddedConfig& file) {
  const bool partial = file.name.ends_with(kPartial);
  const auto model = read_config(file.text, {.partial = partial, .assume_defaults = true});
  if (!model) return {};  // refused for a reason that docs/released.md names
  const auto layers = resolve(model->architecture);
  if (!layers) return {};
  SettingOptions options;
  options.assume_exact = true;
  options.storage = model->bits;
  options.assumes = model->storage_assumptions();
  options.count = [&](const StorageBits& bits) { return account_released(*model, *layers, bits); };
  const auto setting = make_setting(model->architecture, options);
  if (!setting) return {};
  ModelHorizons out{.model = model_name(file.name),
                    .partial = partial,
                    .word = setting->word.folded,
                    .layers = setting->layers.size(),
                    .full = setting->word.full_letters(),
                    .state_bits = json_number(setting->word.total().after(setting->context)),
                    .composition = composition_horizon(*setting)};
  if (std::find(model->unknown.begin(), model->unknown.end(), "context") == model->unknown.end())
    out.context = setting->context;
  for (const std::string_view task : kTasks) {
    const auto question = make_question(task, {}, setting->context, true);
    if (!question) continue;
    if (const auto verdicts = consider(*setting, *question); !verdicts.empty())
      out.tasks.push_back(task_horizon(verdicts));
  }
  return out;
}

}  // namespace

template <class Fields>
void describe(Fields& field, TaskHorizon& x) {
  field("task", x.task, "verdict", x.verdict, "theorem", x.theorem, "status", x.status, "horizon", x.horizon);
}

template <class Fields>
void describe(Fields& field, CompositionHorizon::Certified& x) {
  field("tokens", x.tokens, "theorem", x.theorem, "status", x.status, "L", x.L);
}

template <class Fields>
void describe(Fields& field, CompositionHorizon& x) {
  field("solvable", x.solvable, "impossible", x.impossible, "certified", x.certified);
}

template <class Fields>
void describe(Fields& field, ModelHorizons& x) {
  field("model", x.model, "partial", x.partial, "word", x.word, "layers", x.layers, "full", x.full,
        "state_bits", x.state_bits, "context", x.context, "tasks", x.tasks, "composition", x.composition);
}

std::vector<ModelHorizons> released_horizons(std::span<const EmbeddedConfig> configs) {
  std::vector<const EmbeddedConfig*> models;
  for (const EmbeddedConfig& file : configs)
    if (!file.name.ends_with(kClassDefaults)) models.push_back(&file);
  std::vector<std::optional<ModelHorizons>> entries(models.size());
  parallel_for(static_cast<std::int64_t>(models.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      entries[static_cast<std::size_t>(i)] = model_horizons(*models[static_cast<std::size_t>(i)]);
  });
  std::vector<ModelHorizons> out;
  for (auto& entry : entries)
    if (entry) out.push_back(std::move(*entry));
  return out;
}

const std::vector<ModelHorizons>& released_horizons() {
  static const std::vector<ModelHorizons> once = released_horizons(kReleasedConfigs);
  return once;
}

nlohmann::ordered_json horizons_json(const std::vector<ModelHorizons>& models) { return to_fields(models); }

}  // namespace rung::report
