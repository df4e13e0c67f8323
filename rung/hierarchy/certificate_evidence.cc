#include <filesystem>
#include <fstream>

#include "rung/adversary/attack.h"
#include "rung/adversary/random_weights.h"
#include "rung/base/command_line.h"
#include "rung/hierarchy/child_process.h"
#include "rung/hierarchy/evidence.h"
#include "rung/protocol/transcript_json.h"

namespace rung {
namespace {

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

void add_claim(CertificateEvidence& evidence, const Task& task, const Claim& claim) {
  const EndAlike* pair = claimed_pair(claim);
  if (!pair) return;
  evidence.first = token_symbols(task, pair->first, 0, pair->first.positions);
  evidence.second = token_symbols(task, pair->second, 0, pair->second.positions);
  const auto fields = task.fields();
  for (std::int64_t t = 0; t < pair->first.positions; ++t)
    if (prompt_row(pair->first, fields, t) != prompt_row(pair->second, fields, t))
      evidence.differ.push_back(t);
  evidence.position = pair->position;
  evidence.answers = {task.answer_text(pair->first_answer), task.answer_text(pair->second_answer)};
  evidence.model_answers = {task.answer_text(pair->answer), task.answer_text(pair->answer)};
  evidence.equal = equal_text(claim);
  evidence.activation = pair->activation;
  if (const auto* c = std::get_if<CollisionClaim>(&claim)) {
    evidence.cut = c->cut;
    evidence.states = c->states;
  }
  if (const auto* c = std::get_if<SparsePairClaim>(&claim)) {
    evidence.block = c->block;
    evidence.message = {c->key, c->value};
    evidence.selected = c->selected;
  }
  if (const auto* c = std::get_if<FoolingPairClaim>(&claim); c && c->proof)
    if (const auto* proof = std::get_if<FoolingPairClaim::Transcripts>(&*c->proof))
      evidence.proof = {proof->T, proof->x0, proof->y};
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

Result<void> check_certificate(CertificateEvidence& evidence, const EvidenceContext& context) {
  evidence.state = Evidence::unverified;
  evidence.checker.reset();
  if (context.checker.empty()) {
    evidence.reason = "rung-check is missing";
    return {};
  }
  const std::string file = context.folder + "/" + evidence.file, said = file + ".said";
  RUNG_TRY(const ChildRun run, run_child({context.checker, file, context.folder + "/" + evidence.model},
                                         {.output = said, .stop = context.stop}));
  const std::string line = first_line(said);
  std::error_code ignored;
  std::filesystem::remove(said, ignored);
  evidence.checker = {shell_line({"rung-check", evidence.file, evidence.model}), run.exit, run.seconds, line};
  constexpr int kVerified = 0, kRejected = 1;  // docs/check.md
  if (run.exit == kVerified) evidence.state = Evidence::verified;
  if (run.exit == kRejected) evidence.state = Evidence::refuted;
  evidence.reason = run.exit == kVerified ? "" : fmt::format("rung-check ended with {}: {}", run.exit, line);
  return {};
}

Result<CertificateEvidence> certificate_evidence(const AttackRecipe& recipe, std::shared_ptr<const Task> task,
                                                 const std::string& name, const EvidenceContext& context,
                                                 std::optional<Weights>& broken) {
  RUNG_TRY(const Weights weights,
           random_weights_for(*task, {.architecture = recipe.arch,
                                      .width = recipe.width,
                                      .precision = {NumberFormat::fixed, recipe.precision, 0}}));
  broken = weights;
  const std::string model = "models/" + name + "-broken.safetensors";
  RUNG_CHECK(write_weights(context.folder + "/" + model, weights));
  RUNG_TRY(const Target target, open_target(context.folder + "/" + model, task));
  RUNG_TRY(AttackOutcome outcome,
           attack(target, "auto", {.seconds = context.attack_seconds, .stop = context.stop}));
  CertificateEvidence out{.brief = recipe.shown,
                          .arch = format_stack(weights.architecture.stack),
                          .size = task->size(),
                          .width = recipe.width,
                          .precision = recipe.precision,
                          .state_bits = target.nominal_bits,
                          .method = outcome.method,
                          .why = outcome.reason,
                          .evaluations = outcome.evaluations,
                          .seconds = outcome.seconds,
                          .model = model};
  out.command =
      CommandLine({"rung", "build", "random"})
          .option("arch", recipe.arch)
          .option("width", recipe.width)
          .option("precision", recipe.precision)
          .option("task", task->name())
          .options(sizes_of(*task))
          .option("out", name + "-broken.safetensors")
          .text() +
      " && " +
      CommandLine({"rung", "break", name + "-broken.safetensors"}).option("out", name + ".json").text();
  if (!outcome.certificate) {
    out.reason = fmt::format("the search ended without a pair: {}", outcome.reason);
    out.brief = outcome.verdict == Evidence::verified ? "every instance is right" : "no pair found in time";
    return out;
  }
  Certificate& certificate = *outcome.certificate;
  certificate.notes["method"] = outcome.method;
  certificate.notes["architecture"] = format_stack(weights.architecture.stack);
  out.file = "certificates/" + name + ".json";
  RUNG_CHECK(write_certificate(context.folder + "/" + out.file, certificate));
  const EndAlike* pair = claimed_pair(certificate.claim);
  out.kind = claim_kind(certificate.claim);
  out.label = pair ? pair->label : ClaimLabel::found;
  add_claim(out, *task, certificate.claim);
  RUNG_CHECK(check_certificate(out, context));
  return out;
}

}  // namespace rung
