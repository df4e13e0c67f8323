// Claim: the model answers some instance wrongly. Every instance is tried where there are few, so that a
// model that is right on all of them `holds`; else adversarial and uniform ones alternate until one is wrong
// or the budget ends.
#include "rung/adversary/method_list.h"

#include <chrono>

#include "rung/evaluation/evaluation.h"

namespace rung {
namespace {

constexpr std::uint64_t kAllInstances = 20'000'000;  // up to this many, every instance is run
constexpr std::uint64_t kWrongAnswerBatch = 512;

// At most `limit` + 1: the product of the choices along the first path, which is the number of instances
// wherever the number of choices depends on the position alone, and a guide elsewhere.
std::uint64_t instances_on_first_path(const Task& task, std::uint64_t limit) {
  Prompt prefix = task.empty_prompt();
  std::uint64_t count = 1;
  while (prefix.positions < task.prompt_length()) {
    const std::int64_t choices = task.choices(prefix);
    if (choices < 1) return limit + 1;
    if (count > limit / static_cast<std::uint64_t>(choices)) return limit + 1;
    count *= static_cast<std::uint64_t>(choices);
    task.extend(prefix, 0);
  }
  return count;
}

Fitness wrong_answer_fitness(const Target& target) {
  return {true,
          target.exact()
              ? "any model may be wrong somewhere"
              : "a float model is only searched for wrong answers; rung quantise leads to collisions",
          64};
}

Result<AttackOutcome> run_wrong_answer(const Target& target, const SearchOptions& options) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const auto late = [&] { return elapsed() > options.seconds || (options.stop && options.stop()); };
  AttackOutcome outcome{.method = "wrong-answer", .nominal_bits = target.nominal_bits};
  const Task& task = *target.task;

  EvaluationOptions evaluation{
      .seed = options.seed, .count = kWrongAnswerBatch, .keep_wrong = 1, .stop = late};
  const auto report = [&](std::uint64_t done) {
    if (options.progress) options.progress({.evaluations = outcome.evaluations + done});
  };
  const auto refute = [&](const Evaluation& result) -> Result<bool> {
    outcome.evaluations += result.instances;
    report(0);
    if (result.wrong.empty()) return false;
    RUNG_TRY(outcome.certificate, certify_wrong_answer(target, result.wrong.front().instance.prompt));
    RUNG_REQUIRE(outcome.certificate.has_value(), "a wrong instance was answered rightly the second time");
    outcome.verdict = Evidence::refuted;
    outcome.reason =
        "an instance is answered wrongly; a weaker certificate than two inputs that cannot be told apart";
    return true;
  };

  evaluation.progress = report;
  if (instances_on_first_path(task, kAllInstances) <= kAllInstances) {
    evaluation.exhaustive = true;
    RUNG_TRY(const auto all, evaluate(*target.machine, target.weights, task, evaluation));
    RUNG_TRY(const bool wrong, refute(all));
    if (!wrong) {
      outcome.verdict = all.stopped ? Evidence::unverified : Evidence::verified;
      outcome.reason = all.stopped ? "the budget ended before every instance was run"
                                   : fmt::format("all {} instances are answered rightly", all.instances);
    }
  } else {
    outcome.reason = "no instance that was tried is answered wrongly";
    bool wrong = false;
    for (std::uint64_t round = 0; !wrong && !late(); ++round) {
      const bool adversarial = round % 2 == 0 && task.supports(Variant::adversarial);
      evaluation.variant = adversarial ? Variant::adversarial : Variant::uniform;
      evaluation.seed = options.seed + round;
      RUNG_TRY(const auto batch, evaluate(*target.machine, target.weights, task, evaluation));
      RUNG_TRY(wrong, refute(batch));
    }
  }
  outcome.seconds = elapsed();
  return outcome;
}

}  // namespace

AttackMethod wrong_answer_method() {
  return {"wrong-answer", "an instance that is answered wrongly", &wrong_answer_fitness, &run_wrong_answer};
}

}  // namespace rung
