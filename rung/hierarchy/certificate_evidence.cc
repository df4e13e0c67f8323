#include <filesystem>
#include <fstream>

#include "rung/adversary/attack.h"
#include "rung/adversary/random_weights.h"
#include "rung/hierarchy/child_process.h"
#include "rung/hierarchy/evidence.h"
#include "rung/protocol/transcript_json.h"

namespace rung {
namespace {

const EndAlike* pair_of(const Claim& claim) {
  if (const auto* c = std::get_if<CollisionClaim>(&claim)) return &c->pair;
  if (const auto* c = std::get_if<SparsePairClaim>(&claim)) return &c->pair;
  if (const auto* c = std::get_if<FoolingPairClaim>(&claim)) return &c->pair;
  return nullptr;
}

// What is the same for both inputs, in a sentence.
std::string equal_text(const Claim& claim) {
  if (const auto* c = std::get_if<CollisionClaim>(&claim))
    return fmt::format(
        "After {} tokens every number of every layer's state is the same, {} bits in all; so is everything "
        "that follows.",
        c->cut, c->nominal_bits);
  if (const auto* c = std::get_if<SparsePairClaim>(&claim))
    return fmt::format(
        "Block {} hands over the same compressed key and value, and the query does not select it; the "
        "activation at the answer is the same.",
        c->block);
  return "The activation at the answer position is the same, number by number.";
}

void add_claim(nlohmann::ordered_json& json, const Task& task, const Claim& claim) {
  const EndAlike* pair = pair_of(claim);
  if (!pair) return;
  json["first"] = token_symbols(task, pair->first, 0, pair->first.positions);
  json["second"] = token_symbols(task, pair->second, 0, pair->second.positions);
  json["differ"] = nlohmann::ordered_json::array();
  const auto fields = task.fields();
  for (std::int64_t t = 0; t < pair->first.positions; ++t)
    if (prompt_row(pair->first, fields, t) != prompt_row(pair->second, fields, t))
      json["differ"].push_back(t);
  json["position"] = pair->position;
  json["answers"] = {task.answer_text(pair->first_answer), task.answer_text(pair->second_answer)};
  json["model_answers"] = {task.answer_text(pair->answer), task.answer_text(pair->answer)};
  json["equal"] = equal_text(claim);
  json["activation"] = pair->activation;
  if (const auto* c = std::get_if<CollisionClaim>(&claim)) {
    json["cut"] = c->cut;
    json["states"] = c->states;
  }
  if (const auto* c = std::get_if<SparsePairClaim>(&claim)) {
    json["block"] = c->block;
    json["message"] = {{"key", c->key}, {"value", c->value}};
    json["selected"] = c->selected;
  }
  if (const auto* c = std::get_if<FoolingPairClaim>(&claim); c && c->proof)
    if (const auto* proof = std::get_if<FoolingPairClaim::Transcripts>(&*c->proof))
      json["proof"] = {{"T", proof->T}, {"x_0", proof->x0}, {"y", proof->y}};
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

Result<void> check_certificate(nlohmann::ordered_json& evidence, const EvidenceContext& context) {
  const std::string file = evidence.at("file").get<std::string>(),
                    model = evidence.at("model").get<std::string>();
  evidence["state"] = "unverified";
  if (context.checker.empty()) {
    evidence["reason"] = "rung-check is missing";
    evidence["checker"] = nullptr;
    return {};
  }
  const std::string said = context.folder + "/" + file + ".said";
  RUNG_TRY(const ChildRun run,
           run_child({context.checker, context.folder + "/" + file, context.folder + "/" + model},
                     {.output = said, .stop = context.stop}));
  const std::string line = first_line(said);
  std::error_code ignored;
  std::filesystem::remove(said, ignored);
  evidence["checker"] = {{"command", shell_line({"rung-check", file, model})},
                         {"exit", run.exit},
                         {"seconds", run.seconds},
                         {"said", line}};
  // The one place where the word is written.
  if (run.exit == 0) {
    evidence["state"] = "VERIFIED";
    evidence["reason"] = "";
  } else {
    evidence["reason"] = fmt::format("rung-check ended with {}: {}", run.exit, line);
  }
  return {};
}

Result<nlohmann::ordered_json> certificate_evidence(const AttackRecipe& recipe,
                                                    std::shared_ptr<const Task> task, const std::string& name,
                                                    const EvidenceContext& context,
                                                    std::optional<Weights>& broken) {
  RUNG_TRY(Weights weights,
           random_weights_for(*task, {.architecture = recipe.arch,
                                      .width = recipe.width,
                                      .precision = {NumberFormat::fixed, recipe.precision, 0}}));
  broken = weights;
  const std::string model = "models/" + name + "-broken.safetensors", file = "certificates/" + name + ".json";
  RUNG_CHECK(write_weights(context.folder + "/" + model, weights));
  RUNG_TRY(const Target target, open_target(context.folder + "/" + model, task));
  RUNG_TRY(AttackOutcome outcome,
           attack(target, "auto", {.seconds = context.attack_seconds, .stop = context.stop}));

  nlohmann::ordered_json json;
  json["state"] = "none";
  json["reason"] = "";
  json["brief"] = recipe.shown;
  json["arch"] = format_stack(weights.architecture.stack);
  json["size"] = task->size();
  json["width"] = recipe.width;
  json["precision"] = recipe.precision;
  json["state_bits"] = target.nominal_bits;
  json["method"] = outcome.method;
  json["why"] = outcome.reason;
  json["evaluations"] = outcome.evaluations;
  json["seconds"] = outcome.seconds;
  json["model"] = model;
  std::vector<std::string> build{"rung",
                                 "build",
                                 "random",
                                 "--arch",
                                 recipe.arch,
                                 "--width",
                                 std::to_string(recipe.width),
                                 "--precision",
                                 std::to_string(recipe.precision),
                                 "--task",
                                 std::string(task->name())};
  for (auto& flag : size_flags(sizes_of(*task))) build.push_back(std::move(flag));
  build.insert(build.end(), {"--out", name + "-broken.safetensors"});
  json["command"] = shell_line(build) + " && " +
                    shell_line({"rung", "break", name + "-broken.safetensors", "--out", name + ".json"});
  if (!outcome.certificate) {
    json["reason"] = fmt::format("the search ended without a pair: {}", outcome.reason);
    json["brief"] =
        outcome.verdict == AttackVerdict::holds ? "every instance is right" : "no pair found in time";
    return json;
  }
  Certificate& certificate = *outcome.certificate;
  certificate.notes["method"] = outcome.method;
  certificate.notes["architecture"] = format_stack(weights.architecture.stack);
  RUNG_CHECK(write_certificate(context.folder + "/" + file, certificate));
  const EndAlike* pair = pair_of(certificate.claim);
  json["kind"] = claim_kind(certificate.claim);
  json["label"] = pair && pair->label == ClaimLabel::forced ? "forced by theorem" : "found";
  json["file"] = file;
  add_claim(json, *task, certificate.claim);
  RUNG_CHECK(check_certificate(json, context));
  return json;
}

}  // namespace rung
