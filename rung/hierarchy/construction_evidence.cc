#include "rung/base/command_line.h"
#include "rung/constructions/precision_search.h"
#include "rung/exact/attention_pattern.h"
#include "rung/hierarchy/evidence.h"
#include "rung/protocol/transcript_json.h"

namespace rung {
namespace {

std::string build_command(const ConstructionRequest& request, const std::optional<IdlePart>& beside,
                          const std::string& out) {
  CommandLine line({"rung", "build", request.name});
  line.options(request.sizes);
  for (const auto& [name, word] : request.options) {
    if (name == "cot" || name == "encoder")
      line.flag(name);
    else
      line.option(name, word);
  }
  if (beside) line.option("beside", *beside == IdlePart::layer ? "layer" : "head");
  return line.option("out", out).text();
}

Result<Construction> construct(const ConstructionRecipe& recipe, const ConstructionRequest& request) {
  RUNG_TRY(Construction made, build_construction(request));
  if (recipe.beside) return beside_idle(std::move(made), *recipe.beside);
  return made;
}

// Where the heads look on one instance; nothing where no head looks at the whole past, or the prompt is too long
// for a picture.
Result<std::optional<AttentionPicture>> attention_of(const ConstructionRecipe& recipe,
                                                     ConstructionRequest request) {
  constexpr std::int64_t kMostTokens = 40;
  if (!recipe.pictured.empty()) request.sizes = recipe.pictured;
  RUNG_TRY(const Construction made, construct(recipe, request));
  std::optional<AttentionPicture> none;
  if (made.task->prompt_length() > kMostTokens || !made.weights.architecture.dimensions.causal) return none;
  const Instance instance = made.task->generate(Variant::uniform, 1, 0);
  RUNG_TRY(auto patterns, attention_patterns(made.weights, instance.prompt));
  if (patterns.empty()) return none;
  AttentionPicture picture{.size = made.task->size(),
                           .arch = format_spelled_stack(made.weights.architecture.stack),
                           .tokens = token_symbols(*made.task, instance.prompt, 0, instance.prompt.positions),
                           .answer = made.task->answer_text(instance.answer)};
  for (auto& pattern : patterns)
    picture.layers.push_back({pattern.layer, pattern.head, std::move(pattern.weights)});
  return std::optional(std::move(picture));
}

}  // namespace

Result<ConstructionEvidence> construction_evidence(const ConstructionRecipe& recipe, const TaskSizes& size,
                                                   const std::string& name, const EvidenceContext& context,
                                                   std::optional<Weights>& built) {
  ConstructionRequest request = recipe.request;
  if (request.sizes.empty()) request.sizes = size;
  RUNG_TRY(const Construction made, construct(recipe, request));
  const VerificationOptions options{.budget = 2048, .samples = recipe.samples};
  RUNG_TRY(const Verification found, verify(made, options));
  const Dimensions& dimensions = made.weights.architecture.dimensions;
  ConstructionEvidence out{.state = found.passed() ? Evidence::verified : Evidence::refuted,
                           .reason = found.passed() ? "" : show_failure(*made.task, *found.failure),
                           .brief = recipe.shown,
                           .name = request.name,
                           .claim = made.claim,
                           .reference = made.reference,
                           .lemma = made.lemma,
                           .arch = format_spelled_stack(made.weights.architecture.stack),
                           .size = made.task->size(),
                           .width = dimensions.width,
                           .precision = dimensions.precision.bits,
                           .precision_proved = made.p_proved,
                           .mode = std::string(mode_name(found.mode)),
                           .instances = found.instances,
                           .errors = found.errors,
                           .seconds = found.seconds};
  constexpr int kFewestBits = 2;
  if (found.passed()) {
    out.precision_smallest = out.precision;
    if (out.precision > kFewestBits) {
      VerificationOptions search = options;
      search.stop_at_first_error = true;
      // Of the construction itself: idle parts change no activation.
      RUNG_TRY(const PrecisionSearch below,
               search_precision(request, search, kFewestBits, out.precision - 1));
      out.precision_smallest = below.p_measured.value_or(out.precision);
    }
    out.model = "models/" + name + "-built.safetensors";
    RUNG_CHECK(write_weights(context.folder + "/" + *out.model, made.weights));
    built = made.weights;
  }
  if (const auto& argument = found.interval)
    out.all_inputs = {argument->holds, argument->leak, argument->gap, argument->reason};
  for (const Slot& slot : made.slots)
    out.coordinates.push_back({slot.first, slot.first + slot.size - 1, slot.name, slot.holds});
  const auto invariant = made.weights.notes.find("invariant");
  if (invariant != made.weights.notes.end()) out.invariant = invariant->second;
  RUNG_TRY(out.attention, attention_of(recipe, request));
  out.command = build_command(request, recipe.beside, name + "-built.safetensors");
  return out;
}

}  // namespace rung
