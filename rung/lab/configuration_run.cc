#include "rung/lab/configuration_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "rung/adversary/scaling.h"
#include "rung/base/plural.h"
#include "rung/constructions/precision_search.h"
#include "rung/evaluation/evaluation.h"
#include "rung/evaluation/label.h"
#include "rung/exact/quantise.h"
#include "rung/lab/separation.h"
#include "rung/lab/state_capacity.h"
#include "rung/records/training_run.h"
#include "rung/spec/quantisable.h"

namespace rung::lab {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Instances up to which a suspicious score of class C is checked on all of them.
constexpr std::uint64_t kExhaustive = 2'000'000;
constexpr std::uint64_t kCalibrationPrompts = 64;
// Seeds of instances that neither training nor its evaluations drew.
constexpr std::uint64_t kCalibrationSeed = 1'000'003, kScoreSeed = 1'000'033;

// The first task is the one asked about; others in the plan are lessons beside it.
Result<std::unique_ptr<Task>> asked(const TrainingPlan& plan) {
  const TaskRecord& record = plan.tasks.front().task;
  return make_task(record.name, record.sizes, record.options);
}

Result<Weights> quantised(const Weights& weights, const Task& task, const TrainingPlan& plan) {
  CalibrationSet set{{}, task.query_positions()};
  for (std::uint64_t i = 0; i < kCalibrationPrompts; ++i) {
    Instance instance = task.generate(plan.variant, kCalibrationSeed, i);
    set.prompts.push_back(std::move(instance.prompt));
    set.answers.push_back(std::move(instance.answer));
  }
  RUNG_TRY(Quantised integers, quantise(weights, set, {.precision = *plan.round_bits}));
  return std::move(integers.weights);
}

// As integers where it is trained for p bits and has an integer form.
Result<Weights> as_scored(const Weights& weights, const Task& task, const TrainingPlan& plan) {
  if (!plan.round_bits || !quantisable(weights.architecture)) return weights;
  return quantised(weights, task, plan);
}

Result<Label> label_weights(const Weights& weights, const Task& task, const TrainingPlan& plan) {
  Label none;
  if (auto fits = check_fit(weights, task); !fits) return none.reason = fits.error().message, none;
  const auto machine = Machine::load(weights, {.positions = positions_needed(weights, task)});
  if (!machine) return none.reason = machine.error().message, none;
  return label_of(weights, **machine, task, plan.variant);
}

Result<Outcome> labelled_plan(const TrainingPlan& plan) {
  Outcome out;
  out.subject = {plan.arch, plan.tasks.front().task.name, plan.tasks.front().task.sizes};
  RUNG_TRY(const auto task, asked(plan));
  RUNG_TRY(const Weights untrained, learn::untrained_weights(plan));
  RUNG_TRY(const Weights scored, as_scored(untrained, *task, plan));
  RUNG_TRY(out.label, label_weights(scored, *task, plan));
  if (plan.round_bits) {
    const auto can = quantisable(untrained.architecture);
    out.note = can ? fmt::format("{}-bit integers", *plan.round_bits)
                   : "labelled and scored in floats: " + can.error().message;
  }
  out.capacity = state_capacity(scored, *task, plan.variant);
  out.separation = separation(scored, *task);
  if (out.separation && plan.carry_bits) count_with(*out.separation, *plan.carry_bits);
  return out;
}

Result<Construction> built(const WrittenModel& model) {
  RUNG_TRY(Construction proved, build_construction(model.request));
  if (model.below == 0) return proved;
  if (!proved.p_proved)
    return fail(ErrorCode::missing, "[lab] {}: no precision is proved, so there is none below it",
                model.request.name);
  ConstructionRequest request = model.request;
  request.precision = *proved.p_proved - model.below;
  if (*request.precision < 2)
    return fail(ErrorCode::range, "[lab] {}: {} bits below the proved {}", model.request.name, model.below,
                *proved.p_proved);
  return build_construction(request);
}

Outcome labelled_model(const WrittenModel& model) {
  Outcome out;
  out.origin = Origin::written;
  out.subject = {"", model.request.name, model.request.sizes};
  const auto construction = built(model);
  if (!construction) {
    out.label.reason = out.trouble = construction.error().message;
    return out;
  }
  const int p = construction->weights.architecture.dimensions.precision.bits;
  const bool proved = model.below == 0 && construction->p_proved.has_value();
  out.label.letter = proved ? LabelClass::K : LabelClass::G;
  out.label.reason = proved ? construction->lemma : "below the precision that the lemma proves";
  out.subject.arch = format_spelled_stack(construction->weights.architecture.stack);
  out.precision = WrittenPrecision{p, construction->p_proved, {}};
  out.note = fmt::format("p = {}", p);
  return out;
}

Result<void> score(Outcome& outcome, const MemberResult& member, const Task& task, const TrainingPlan& plan) {
  SeedScore score{.seed = member.plan.seed,
                  .rate = member.plan.rate,
                  .right = member.right.at(0),
                  .of = member.of.at(0),
                  .carried_bits = member.carried_bits};
  if (plan.round_bits) {
    RUNG_TRY(const Weights real, read_weights(member.file));
    if (quantisable(real.architecture)) {
      RUNG_TRY(const Weights integers, quantised(real, task, plan));
      RUNG_TRY(const auto machine, Machine::load(integers, {.positions = positions_needed(integers, task)}));
      EvaluationOptions options{
          .variant = plan.variant, .seed = kScoreSeed, .count = static_cast<std::uint64_t>(plan.final_count)};
      RUNG_TRY(Evaluation measured, evaluate(*machine, integers, task, options));
      // The widths of these very weights; a label that they lose is lost.
      const Label own = label_of(integers, *machine, task, plan.variant);
      if (own.letter != outcome.label.letter) {
        outcome.note += fmt::format("; class {} before training, {} with the widths of seed {}",
                                    label_name(outcome.label.letter), label_name(own.letter), score.seed);
        outcome.label = {LabelClass::G, own.reason, std::max(own.ceiling, outcome.label.ceiling),
                         own.ceiling_reason};
      }
      if (own.letter == LabelClass::C && measured.right_answers == measured.answers &&
          count_instances(task, kExhaustive)) {
        options.exhaustive = true;
        RUNG_TRY(measured, evaluate(*machine, integers, task, options));
        score.exhaustive = true;
      }
      score.right = measured.right_answers, score.of = measured.answers;
    }
  }
  outcome.scores.push_back(score);
  return {};
}

MemberCurve curve_of(const MemberResult& member, bool chosen) {
  return {member.plan.seed, member.plan.rate, chosen, thinned(first_accuracy(member.curve), kCurvePoints)};
}

Result<std::optional<Outcome>> run_plan(const TrainingPlan& plan, Outcome outcome,
                                        const RunOptions& options) {
  learn::EnsembleOptions ensemble;
  ensemble.folder = options.folder;
  std::error_code code;
  ensemble.resume = std::filesystem::exists(options.folder + "/plan.json", code);
  ensemble.store = options.lab->store;
  ensemble.stop = options.lab->stop;
  if (options.lab->progress)
    ensemble.progress = [&](const learn::EnsembleProgress& progress) {
      options.lab->progress(outcome.id, progress);
    };
  nlohmann::ordered_json body = note_json(options.note);
  body.update(label_json(outcome.label));
  ensemble.body = body.dump();
  RUNG_TRY(const auto prepared, learn::prepare(plan, options.lab->workers));
  RUNG_TRY(const learn::EnsembleResult result, learn::train(*prepared, ensemble));
  outcome.record = result.run;
  outcome.device = result.device;
  if (result.stopped) return std::optional<Outcome>();
  RUNG_TRY(const auto task, asked(plan));
  std::string failure;
  for (const std::uint64_t seed : plan.seeds) {
    const MemberResult* chosen = nullptr;
    for (const MemberResult& member : result.members) {
      if (member.plan.seed != seed) continue;
      if (member.state != RecordState::done || member.of.empty() || member.curve.empty()) {
        if (!member.reason.empty()) failure = member.reason;
        continue;
      }
      if (!chosen || member.curve.back().accuracy.at(0) > chosen->curve.back().accuracy.at(0))
        chosen = &member;
    }
    if (chosen) RUNG_CHECK(score(outcome, *chosen, *task, plan));
    for (const MemberResult& member : result.members)
      if (member.plan.seed == seed) outcome.curves.push_back(curve_of(member, &member == chosen));
  }
  if (outcome.scores.size() < plan.seeds.size())
    outcome.note += fmt::format("{}{} without a score: {}", outcome.note.empty() ? "" : "; ",
                                counted(plan.seeds.size() - outcome.scores.size(), "seed"), failure);
  std::map<std::string, std::size_t> endings;
  for (const MemberResult& member : result.members)
    if (const std::string ending = learn::ending_note(plan, member.curve); !ending.empty()) ++endings[ending];
  for (const auto& [ending, count] : endings)
    outcome.note += fmt::format("{}{} of {} members {}", outcome.note.empty() ? "" : "; ", count,
                                result.members.size(), ending);
  if (outcome.scores.empty())
    outcome.trouble = failure.empty() ? "no member was trained to its end" : failure;
  if (outcome.capacity) measure_capacity(*outcome.capacity, outcome.scores);
  return std::optional(std::move(outcome));
}

Result<std::optional<Outcome>> run_model(const WrittenModel& model, Outcome outcome) {
  const auto construction = built(model);
  if (!construction) return std::optional(std::move(outcome));
  RUNG_TRY(const Verification verified, verify(*construction, {.budget = model.budget}));
  outcome.scores = {{.seed = 1,
                     .right = verified.instances - verified.errors,
                     .of = verified.instances,
                     .exhaustive = verified.mode != VerificationMode::sampled}};
  outcome.note += fmt::format(", {}", mode_name(verified.mode));
  if (model.smallest && construction->p_proved) {
    constexpr int kFewest = 2;
    RUNG_TRY(const PrecisionSearch found,
             search_precision(model.request, {.budget = model.budget, .stop_at_first_error = true}, kFewest,
                              *construction->p_proved));
    outcome.precision->measured = found.p_measured;
    if (found.p_measured)
      outcome.note +=
          fmt::format("; {} suffice{}", counted(*found.p_measured, "bit"), *found.p_measured == 1 ? "s" : "");
  }
  return std::optional(std::move(outcome));
}

// The line that the file chose, from few bits to many; it ends where a search ends without a collision.
Result<std::vector<CostPoint>> line_costs(const AttackSeries& series, const RunOptions& options) {
  const AttackLine& line = *series.line;
  RUNG_TRY(const AttackMethod* method, find_attack_method(series.method));
  const auto start = Clock::now();
  std::vector<CostPoint> costs;
  for (const std::int64_t bits : line.bits) {
    SearchOptions search{.seconds =
                             std::min(series.seconds_per_point, series.seconds - seconds_since(start))};
    if (search.seconds <= 0 || (options.lab->stop && options.lab->stop())) break;
    search.stop = options.lab->stop;
    RUNG_TRY(const Target target, retentive_target(line.mixer, line.layers, bits, line.n, search.seed));
    if (const Fitness fitness = method->fitness(target); !fitness.applies)
      return fail(ErrorCode::unsupported, "[lab] {} at {} bits a layer: {}", series.method, bits,
                  fitness.reason);
    RUNG_TRY(const AttackOutcome found, method->run(target, search));
    costs.push_back({line.layers, bits,
                     std::log2(static_cast<double>(std::max<std::uint64_t>(1, found.evaluations))),
                     found.seconds, found.verdict == Evidence::refuted});
    if (!costs.back().found) break;
  }
  return costs;
}

Result<std::optional<Outcome>> run_series(const AttackSeries& series, Outcome outcome,
                                          const RunOptions& options) {
  if (series.line) {
    RUNG_TRY(outcome.costs, line_costs(series, options));
    if (options.lab->stop && options.lab->stop()) return std::optional<Outcome>();
    if (outcome.costs.empty()) outcome.trouble = "no search finished in the time limit";
    return std::optional(std::move(outcome));
  }
  ScalingOptions scaling;
  scaling.method = series.method;
  scaling.seconds = series.seconds, scaling.seconds_per_point = series.seconds_per_point;
  scaling.stop = options.lab->stop;
  RUNG_TRY(const auto points, attack_scaling(scaling));
  if (options.lab->stop && options.lab->stop()) return std::optional<Outcome>();
  for (const ScalingPoint& point : points)
    outcome.costs.push_back({point.layers, point.bits_per_layer,
                             std::log2(static_cast<double>(std::max<std::uint64_t>(1, point.evaluations))),
                             point.seconds, point.verdict == Evidence::refuted});
  if (points.empty()) outcome.trouble = "no search finished in the time limit";
  return std::optional(std::move(outcome));
}

}  // namespace

Result<Outcome> labelled(const Configuration& configuration) {
  Outcome out;
  if (const auto* plan = std::get_if<TrainingPlan>(&configuration.what)) {
    auto made = labelled_plan(*plan);
    if (!made)
      return fail(made.error().code, "{} (configuration {})", made.error().message, configuration.id);
    out = std::move(*made);
  } else if (const auto* model = std::get_if<WrittenModel>(&configuration.what)) {
    RUNG_CHECK(find_construction_word(model->request.name));
    out = labelled_model(*model);
  } else {
    out.origin = Origin::attack;
    out.label.reason = "a search: nothing to label";
  }
  out.id = configuration.id;
  return out;
}

Result<std::optional<Outcome>> run_configuration(const Configuration& configuration, Outcome outcome,
                                                 const RunOptions& options) {
  const auto start = Clock::now();
  RUNG_TRY(auto out, [&]() -> Result<std::optional<Outcome>> {
    if (const auto* plan = std::get_if<TrainingPlan>(&configuration.what))
      return run_plan(*plan, std::move(outcome), options);
    if (const auto* model = std::get_if<WrittenModel>(&configuration.what))
      return run_model(*model, std::move(outcome));
    return run_series(std::get<AttackSeries>(configuration.what), std::move(outcome), options);
  }());
  if (out) out->seconds = seconds_since(start), summarise(*out);
  return out;
}

}  // namespace rung::lab
