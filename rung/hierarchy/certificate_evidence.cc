#include <filesystem>
#include <fstream>

#include "rung/adversary/attack.h"
#include "rung/adversary/product_proof.h"
#include "rung/adversary/random_weights.h"
#include "rung/base/command_line.h"
#include "rung/base/plural.h"
#include "rung/hierarchy/child_process.h"
#include "rung/hierarchy/evidence.h"
#include "rung/protocol/transcript_json.h"

namespace rung {
namespace {

// What is the same for both inputs, in a sentence.
std::string equal_text(const Claim& claim) {
  if (const auto* c = std::get_if<CollisionClaim>(&claim))
    return fmt::format(
        "After {} every number of every layer's state is the same, {} in all; so is everything that follows.",
        counted(c->cut, "token"), counted(c->nominal_bits, "bit"));
  if (const auto* c = std::get_if<SparsePairClaim>(&claim))
    return fmt::format(
        "Block {} sends the same compressed key and value, and the query does not select it; the "
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

namespace {

// The word of `rung verify` in place of a pair: of a finite model a shortest one, of another one of at
// most so many letters.
constexpr std::int64_t kDeepestWord = 12;

Result<AttackOutcome> refuting_word(const std::string& model, std::shared_ptr<const Task> task,
                                    const EvidenceContext& context, bool& finite) {
  std::optional<std::int64_t> depth;
  auto problem = open_product(model, task, depth);
  finite = problem.ok();
  if (!problem) {
    depth = kDeepestWord;
    problem = open_product(model, std::move(task), depth);
  }
  if (!problem) return problem.error();
  RUNG_TRY(const ProductOutcome found,
           search(*problem, {.seconds = context.attack_seconds, .stop = context.stop}, depth));
  AttackOutcome out{.method = "verify", .evaluations = found.edges, .seconds = found.seconds};
  out.verdict = found.verdict == ProductVerdict::refuted  ? Evidence::refuted
                : found.verdict == ProductVerdict::proved ? Evidence::verified
                                                          : Evidence::unverified;
  out.reason = found.verdict == ProductVerdict::refuted
                   ? fmt::format("a word of {} is answered wrongly", counted(found.word.size(), "letter"))
                   : found.reason;
  if (found.verdict == ProductVerdict::refuted) out.certificate = product_certificate(*problem, found);
  return out;
}

ClaimLabel claim_label(const Claim& claim) {
  if (const auto* word = std::get_if<WrongWordClaim>(&claim))
    return word->proof ? ClaimLabel::forced : ClaimLabel::found;
  const EndAlike* pair = claimed_pair(claim);
  return pair ? pair->label : ClaimLabel::found;
}

}  // namespace

Result<CertificateEvidence> certificate_evidence(const AttackRecipe& recipe, std::shared_ptr<const Task> task,
                                                 const std::string& name, const EvidenceContext& context,
                                                 std::optional<Weights>& broken) {
  RUNG_TRY(const Weights weights,
           random_weights_for(*task, {.architecture = recipe.arch,
                                      .width = recipe.width,
                                      .precision = {NumberFormat::fixed, recipe.precision, 0},
                                      .position = recipe.position}));
  broken = weights;
  const std::string model = "models/" + name + "-broken.safetensors";
  RUNG_CHECK(write_weights(context.folder + "/" + model, weights));
  RUNG_TRY(const Target target, open_target(context.folder + "/" + model, task));
  bool finite = true;
  RUNG_TRY(AttackOutcome outcome,
           task->automaton()
               ? refuting_word(context.folder + "/" + model, task, context, finite)
               : attack(target, "auto", {.seconds = context.attack_seconds, .stop = context.stop}));
  CertificateEvidence out{.brief = recipe.shown,
                          .arch = format_spelled_stack(weights.architecture.stack),
                          .size = task->size(),
                          .width = recipe.width,
                          .precision = recipe.precision,
                          .state_bits = target.nominal_bits,
                          .method = outcome.method,
                          .why = outcome.reason,
                          .evaluations = outcome.evaluations,
                          .seconds = outcome.seconds,
                          .model = model};
  CommandLine build({"rung", "build", "random"});
  build.option("arch", recipe.arch)
      .option("width", recipe.width)
      .option("precision", recipe.precision)
      .option("task", task->name())
      .options(sizes_of(*task));
  if (recipe.position) build.option("position", position_name(*recipe.position));
  CommandLine search({"rung", task->automaton() ? "verify" : "break", name + "-broken.safetensors"});
  if (!finite) search.option("depth", kDeepestWord);
  out.command = build.option("out", name + "-broken.safetensors").text() + " && " +
                search.option("out", name + ".json").text();
  if (!outcome.certificate) {
    out.reason = fmt::format("the search ended without a pair: {}", outcome.reason);
    out.brief = outcome.verdict == Evidence::verified ? "every instance is right" : "no pair found in time";
    return out;
  }
  Certificate& certificate = *outcome.certificate;
  certificate.notes["method"] = outcome.method;
  certificate.notes["architecture"] = format_spelled_stack(weights.architecture.stack);
  out.file = "certificates/" + name + ".json";
  RUNG_CHECK(write_certificate(context.folder + "/" + out.file, certificate));
  out.kind = claim_kind(certificate.claim);
  out.label = claim_label(certificate.claim);
  add_claim(out, *task, certificate.claim);
  RUNG_CHECK(check_certificate(out, context));
  return out;
}

}  // namespace rung
