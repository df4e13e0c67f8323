#include "rung/hierarchy/protocol_pair.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "rung/adversary/attack.h"
#include "rung/adversary/random_weights.h"
#include "rung/base/staged_file.h"
#include "rung/constructions/construction.h"
#include "rung/protocol/transcript_json.h"

namespace rung {
namespace {

using nlohmann::ordered_json;

// Small enough to look at: 15 tokens, five players.
const TaskSizes kSmall{{"L", 2}, {"m", 4}, {"n1", 2}};
constexpr std::string_view kBroken = "full(heads=1,dim=2)+linear(heads=1,dim=2)";
constexpr int kBrokenBits = 4;
constexpr std::int64_t kBrokenWidth = 4;
constexpr double kSeconds = 20;

Result<ordered_json> trace_of(const std::string& model, const Weights& weights, const Task& task,
                              const Prompt& prompt) {
  RUNG_TRY(const Transcript transcript, run_protocol(weights, task, prompt, {}));
  return trace_json(transcript, TranscriptSubject{model, weights, task, prompt, std::nullopt});
}

Result<void> write_trace(const std::string& path, const ordered_json& trace) {
  RUNG_TRY(auto file, StagedFile::open(path, true));
  RUNG_CHECK(file.write(trace.dump(1) + "\n"));
  return file.commit();
}

}  // namespace

Result<void> write_protocols(const std::string& folder, const std::function<bool()>& stop) {
  std::error_code code;
  for (const char* name : {"protocols", "models"}) {
    std::filesystem::create_directories(folder + "/" + name, code);
    if (code)
      return fail(ErrorCode::io, "[hierarchy] {}/{} cannot be made: {}", folder, name, code.message());
  }
  const std::string built = "models/protocol-built.safetensors",
                    broken = "models/protocol-broken.safetensors";
  RUNG_TRY(const Construction made, build_construction({.name = "seqcomp", .sizes = kSmall}));
  RUNG_CHECK(write_weights(folder + "/" + built, made.weights));
  RUNG_TRY(ordered_json trace,
           trace_of(built, made.weights, *made.task, made.task->generate(Variant::uniform, 1, 0).prompt));
  RUNG_CHECK(write_trace(folder + "/protocols/built.json", trace));

  RUNG_TRY(const Weights weights,
           random_weights_for(*made.task, {.architecture = std::string(kBroken),
                                           .width = kBrokenWidth,
                                           .precision = {NumberFormat::fixed, kBrokenBits, 0}}));
  RUNG_CHECK(write_weights(folder + "/" + broken, weights));
  RUNG_TRY(const Target target, open_target(folder + "/" + broken, made.task));
  RUNG_TRY(const AttackOutcome outcome, attack(target, "flip", {.seconds = kSeconds, .stop = stop}));
  const auto* claim =
      outcome.certificate ? std::get_if<FoolingPairClaim>(&outcome.certificate->claim) : nullptr;
  if (!claim) return {};  // stopped
  RUNG_TRY(ordered_json first, trace_of(broken, weights, *made.task, claim->pair.first));
  RUNG_TRY(ordered_json second, trace_of(broken, weights, *made.task, claim->pair.second));
  first["differ"] = ordered_json::array();
  const auto fields = made.task->fields();
  for (std::int64_t t = 0; t < claim->pair.first.positions; ++t)
    if (prompt_row(claim->pair.first, fields, t) != prompt_row(claim->pair.second, fields, t))
      first["differ"].push_back(t);
  first["second"] = std::move(second);
  return write_trace(folder + "/protocols/broken.json", first);
}

}  // namespace rung
