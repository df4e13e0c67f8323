#include "rung/constructions/precision_search.h"
#include "rung/exact/attention_pattern.h"
#include "rung/hierarchy/child_process.h"
#include "rung/hierarchy/evidence.h"
#include "rung/protocol/transcript_json.h"

namespace rung {
namespace {

std::string command_of(const ConstructionRequest& request, const std::optional<IdlePart>& beside,
                       const std::string& out) {
  std::vector<std::string> words{"rung", "build", request.name};
  for (auto& flag : size_flags(request.sizes)) words.push_back(std::move(flag));
  for (const auto& [name, word] : request.options) {
    words.push_back("--" + name);
    if (name != "cot" && name != "encoder") words.push_back(word);
  }
  if (beside) words.insert(words.end(), {"--beside", *beside == IdlePart::layer ? "layer" : "head"});
  words.insert(words.end(), {"--out", out});
  return shell_line(words);
}

Result<Construction> construct(const ConstructionRecipe& recipe, const ConstructionRequest& request) {
  RUNG_TRY(Construction made, build_construction(request));
  if (recipe.beside) return beside_idle(std::move(made), *recipe.beside);
  return made;
}

// Where the heads look on one instance; null where no head looks at the whole past, or the prompt is too long
// for a picture.
Result<nlohmann::ordered_json> attention_of(const ConstructionRecipe& recipe, ConstructionRequest request) {
  constexpr std::int64_t kMostTokens = 40;
  if (!recipe.pictured.empty()) request.sizes = recipe.pictured;
  RUNG_TRY(const Construction made, construct(recipe, request));
  if (made.task->prompt_length() > kMostTokens || !made.weights.architecture.dimensions.causal)
    return nlohmann::ordered_json();
  const Instance instance = made.task->generate(Variant::uniform, 1, 0);
  RUNG_TRY(const auto patterns, attention_patterns(made.weights, instance.prompt));
  if (patterns.empty()) return nlohmann::ordered_json();
  nlohmann::ordered_json json{
      {"size", made.task->size()},
      {"arch", format_stack(made.weights.architecture.stack)},
      {"tokens", token_symbols(*made.task, instance.prompt, 0, instance.prompt.positions)},
      {"answer", made.task->answer_text(instance.answer)},
      {"layers", nlohmann::ordered_json::array()}};
  for (const auto& pattern : patterns)
    json["layers"].push_back(
        {{"layer", pattern.layer}, {"head", pattern.head}, {"weights", pattern.weights}});
  return json;
}

}  // namespace

Result<nlohmann::ordered_json> construction_evidence(const ConstructionRecipe& recipe, const TaskSizes& size,
                                                     const std::string& name, const EvidenceContext& context,
                                                     std::optional<Weights>& built) {
  ConstructionRequest request = recipe.request;
  if (request.sizes.empty()) request.sizes = size;
  RUNG_TRY(const Construction made, construct(recipe, request));
  const VerificationOptions options{.budget = 2048, .samples = recipe.samples};
  RUNG_TRY(const Verification found, verify(made, options));
  const int precision = made.weights.architecture.dimensions.precision.bits;
  std::optional<int> smallest;
  if (found.passed()) smallest = precision;
  constexpr int kFewestBits = 2;
  if (found.passed() && precision > kFewestBits) {
    VerificationOptions search = options;
    search.stop_at_first_error = true;
    // Of the construction itself: idle parts change no activation.
    RUNG_TRY(const PrecisionSearch below, search_precision(request, search, kFewestBits, precision - 1));
    smallest = below.p_measured.value_or(precision);
  }
  const std::string model = "models/" + name + "-built.safetensors";
  if (found.passed()) RUNG_CHECK(write_weights(context.folder + "/" + model, made.weights));

  nlohmann::ordered_json json;
  json["state"] = found.passed() ? "verified" : "failed";
  json["reason"] = found.passed() ? "" : show_failure(*made.task, *found.failure);
  json["brief"] = recipe.shown;
  json["name"] = request.name;
  json["claim"] = made.claim;
  json["reference"] = made.reference;
  json["lemma"] = made.lemma;
  json["arch"] = format_stack(made.weights.architecture.stack);
  json["size"] = made.task->size();
  json["width"] = made.weights.architecture.dimensions.width;
  json["precision"] = precision;
  json["precision_proved"] = nullptr;
  if (made.p_proved) json["precision_proved"] = *made.p_proved;
  json["precision_smallest"] = nullptr;
  if (smallest) json["precision_smallest"] = *smallest;
  json["mode"] = mode_name(found.mode);
  json["instances"] = found.instances;
  json["errors"] = found.errors;
  json["seconds"] = found.seconds;
  json["all_inputs"] = nullptr;
  if (found.interval)
    json["all_inputs"] = {{"holds", found.interval->holds},
                          {"leak", found.interval->leak},
                          {"gap", found.interval->gap},
                          {"reason", found.interval->reason}};
  json["model"] = found.passed() ? nlohmann::ordered_json(model) : nlohmann::ordered_json();
  json["coordinates"] = nlohmann::ordered_json::array();
  for (const Slot& slot : made.slots)
    json["coordinates"].push_back({{"from", slot.first},
                                   {"to", slot.first + slot.size - 1},
                                   {"name", slot.name},
                                   {"holds", slot.holds}});
  const auto invariant = made.weights.notes.find("invariant");
  json["invariant"] = invariant == made.weights.notes.end() ? "" : invariant->second;
  RUNG_TRY(json["attention"], attention_of(recipe, request));
  json["command"] = command_of(request, recipe.beside, name + "-built.safetensors");
  if (found.passed()) built = made.weights;
  return json;
}

}  // namespace rung
