#include <algorithm>
#include <filesystem>

#include "rung/base/command_line.h"
#include "rung/evaluation/interval.h"
#include "rung/hierarchy/evidence.h"

namespace rung {
namespace {

constexpr double kEnough = 0.995;   // a member that reaches this twice in a row has learned the task
constexpr int kEvaluateEvery = 50;  // steps between points of the curve

TrainingPlan plan_of(const TrainingRecipe& recipe, const Task& task) {
  TrainingPlan plan;
  plan.arch = recipe.arch;
  plan.dimensions.width = recipe.width;
  plan.dimensions.norm = Norm::rms;
  plan.tasks = {{{std::string(task.name()), sizes_of(task), {}}, 1}};
  plan.steps = recipe.steps;
  plan.batch = recipe.batch;
  plan.seeds.clear();
  for (std::int64_t seed = 1; seed <= recipe.seeds; ++seed)
    plan.seeds.push_back(static_cast<std::uint64_t>(seed));
  plan.rates = {recipe.rate};
  plan.evaluate_every = kEvaluateEvery;
  plan.stop = kEnough;
  plan.device = "cpu";
  return plan;
}

// The line that trains the same.
std::string train_command(const TrainingPlan& plan) {
  return CommandLine({"rung", "train", plan.arch})
      .option("task", plan.tasks.front().task.name)
      .options(plan.tasks.front().task.sizes)
      .option("width", plan.dimensions.width)
      .option("steps", plan.steps)
      .option("batch", plan.batch)
      .option("seeds", plan.seeds.size())
      .option("lr", plan.rates.front())
      .option("eval-every", plan.evaluate_every)
      .option("stop-at", *plan.stop)
      .option("device", plan.device)
      .text();
}

// The last accuracy of a member: the final one, or that of its last point where it was stopped.
std::optional<double> accuracy_of(const MemberRecord& member) {
  if (member.state == RecordState::done && member.accuracy) return member.accuracy;
  const AccuracyCurve curve = first_accuracy(member.curve);
  return curve.empty() ? std::nullopt : std::optional(curve.back().second);
}

TrainingEvidence cut_short(std::string reason, const char* brief) {
  TrainingEvidence out = absent<TrainingEvidence>({std::move(reason), brief});
  out.retry = true;
  return out;
}

}  // namespace

Result<TrainingEvidence> training_evidence(const TrainingRecipe& recipe, const Task& task,
                                           const std::string& name, const EvidenceContext& context) {
  if (!context.train)
    return absent<TrainingEvidence>(
        {"rung-learn is missing: this rung was built without libtorch.", "no libtorch"});
  const TrainingPlan plan = plan_of(recipe, task);
  const std::string folder = context.folder + "/training/" + name;
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);  // of a run that was stopped
  RUNG_TRY(const TrainingReply reply,
           context.train(
               {.plan = plan, .folder = folder, .seconds = context.training_seconds, .stop = context.stop}));
  if (!reply.run || reply.run->members.empty())
    return reply.interrupted
               ? cut_short(
                     fmt::format("The trainer was stopped after {:.0f} s, its share of a minute, before "
                                 "it had begun.",
                                 reply.seconds),
                     "out of time")
               : cut_short(
                     fmt::format("The trainer failed after {:.0f} s: {}", reply.seconds, reply.complaint),
                     "the trainer failed");
  const TrainingRun& run = *reply.run;
  TrainingEvidence out{.state = TrainingState::trained,
                       .arch = recipe.arch,
                       .task = std::string(task.name()),
                       .size = task.size(),
                       .steps = recipe.steps,
                       .seconds = reply.seconds,
                       .command = train_command(plan)};
  std::uint64_t right = 0, answers = 0;
  std::size_t answered = 0;
  for (const MemberRecord& member : run.members) {
    out.curves.push_back(first_accuracy(member.curve));
    if (const auto accuracy = accuracy_of(member)) out.accuracies.push_back(*accuracy);
    if (member.right.empty() || member.answers.empty()) continue;
    right += member.right.front();
    answers += member.answers.front();
    ++answered;
  }
  if (out.accuracies.empty())
    return cut_short(fmt::format("The trainer was stopped after {:.0f} s, its share of a minute, before its "
                                 "first evaluation.",
                                 reply.seconds),
                     "out of time");
  for (const double accuracy : out.accuracies)
    out.accuracy += accuracy / static_cast<double>(out.accuracies.size());
  out.seeds = static_cast<std::int64_t>(out.accuracies.size());
  // The last answers of a part of the seeds say nothing about the mean of all of them.
  const auto [least, most] = std::minmax_element(out.accuracies.begin(), out.accuracies.end());
  const auto interval = wilson_interval(right, answers);
  const bool all_answered = answered == out.accuracies.size();
  out.low = all_answered ? interval.low : *least;
  out.high = all_answered ? interval.high : *most;
  out.ceiling = 1;
  if (run.label) {
    out.label = run.label->letter;
    out.label_reason = run.label->reason;
    out.ceiling = run.label->ceiling;
    out.ceiling_reason = run.label->ceiling_reason;
  }
  out.retry = run.state == RecordState::stopped;
  if (out.retry) out.reason = fmt::format("stopped after {:.0f} s, its share of a minute", reply.seconds);
  return out;
}

}  // namespace rung
