// Rank 0 runs configurations on a thread of its own, and keeps what comes in on the caller's.
#include "rung/lab/sweep.h"

#include <algorithm>
#include <thread>

#include "rung/base/json_fields.h"
#include "rung/lab/configuration_run.h"
#include "rung/lab/remote_store.h"

namespace rung::lab {
namespace {

constexpr const char* kQueue = "configurations";
constexpr double kSecondsBetweenLooks = 0.2;
// What a second of an attack and an instance of a verification cost, in trained tokens.
constexpr double kTokensPerSecond = 1e5, kTokensPerInstance = 0.1;

// What rank 0 hands out.
struct SweepOrder {
  std::size_t index = 0;  // of the configuration
  LabNote note;
  bool recorded = false;  // whether rank 0 keeps records
};
template <class Fields>
void describe(Fields& field, SweepOrder& x) {
  field.need("index", x.index);
  field.need("note", x.note);
  field("recorded", x.recorded);
}

// What comes back: an outcome (outcome_text), an error, or neither, where it was stopped.
struct SweepReply {
  std::optional<std::string> outcome;
  std::optional<Error> error;
};
template <class Fields>
void describe(Fields& field, SweepReply& x) {
  field("outcome", x.outcome, "error", x.error);
}

Result<bool> run_one_by_one(const Sweep& sweep) {
  for (const std::size_t i : sweep.left) {
    if (sweep.options.stop && sweep.options.stop()) return true;
    const Configuration& configuration = sweep.experiment.configurations[i];
    RUNG_TRY(auto outcome, run_configuration(configuration, sweep.labels[i],
                                             {.folder = sweep.options.folder + "/" + configuration.id,
                                              .note = sweep.note(i),
                                              .lab = &sweep.options}));
    if (!outcome) return true;
    RUNG_CHECK(sweep.keep(i, std::move(*outcome)));
  }
  return false;
}

// Draws configurations until there are none. `own`: rank 0's store; others write through rank 0.
void work(const Experiment& experiment, const LabOptions& given, Store* own) {
  QueueWorker worker(*given.ranks, kQueue);
  while (const auto item = worker.draw()) {
    const SweepOrder order = from_text<SweepOrder>(item->order).value();
    const Configuration& configuration = experiment.configurations.at(order.index);
    RemoteStore remote(worker, *item);
    LabOptions options = given;
    options.store = own ? own : order.recorded ? &remote : nullptr;
    options.stop = [&] { return worker.closed() || (given.stop && given.stop()); };
    const auto outcome = [&]() -> Result<std::optional<Outcome>> {
      RUNG_TRY(Outcome label, labelled(configuration));
      return run_configuration(
          configuration, std::move(label),
          {.folder = options.folder + "/" + configuration.id, .note = order.note, .lab = &options});
    }();
    SweepReply reply;
    if (!outcome)
      reply.error = outcome.error();
    else if (*outcome)
      reply.outcome = outcome_text(**outcome);
    worker.hand_in(*item, to_fields(reply).dump());
  }
}

Result<bool> hand_out(const Sweep& sweep) {
  std::vector<std::size_t> order = sweep.left;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return expected_cost(sweep.experiment.configurations[a]) >
           expected_cost(sweep.experiment.configurations[b]);
  });
  TaskQueue queue(*sweep.options.ranks, kQueue);
  for (const std::size_t i : order)
    queue.post(to_fields(SweepOrder{i, sweep.note(i), sweep.options.store != nullptr}).dump());
  std::jthread own([&] { work(sweep.experiment, sweep.options, sweep.options.store); });
  bool stopped = false;
  std::optional<Error> trouble;
  const auto take = [&](const TaskQueue::Event& event) -> Result<void> {
    const SweepReply reply = from_text<SweepReply>(event.text).value();
    if (reply.error) return *reply.error;
    if (!reply.outcome) {
      stopped = true;
      return {};
    }
    RUNG_TRY(Outcome outcome,
             parse_outcome(*reply.outcome, fmt::format("the outcome of rank {}", event.rank)));
    return sweep.keep(order[event.number], std::move(outcome));
  };
  while (queue.open() > 0) {
    if (sweep.options.stop && sweep.options.stop()) stopped = true;
    if (stopped || trouble) queue.close();  // what is in hand is saved where it stands, and handed in
    const auto event = queue.collect(kSecondsBetweenLooks);
    if (!event) continue;
    if (event->question) {
      queue.answer(*event, serve_remote_store(sweep.options.store, event->text));
    } else if (auto taken = take(*event); !taken && !trouble) {
      trouble = taken.error();
    }
  }
  queue.close();
  own.join();
  if (trouble) return *trouble;
  return stopped;
}

}  // namespace

double expected_cost(const Configuration& configuration) {
  if (const auto* model = std::get_if<WrittenModel>(&configuration.what))
    return kTokensPerInstance * static_cast<double>(model->budget);
  if (const auto* series = std::get_if<AttackSeries>(&configuration.what))
    return kTokensPerSecond * series->seconds;
  const auto& plan = std::get<TrainingPlan>(configuration.what);
  double tokens = 0, share = 0;
  for (const auto& lesson : plan.tasks) {
    const auto task = make_task(lesson.task.name, lesson.task.sizes, lesson.task.options);
    tokens += lesson.weight * (task ? static_cast<double>((*task)->prompt_length()) : 1.0);
    share += lesson.weight;
  }
  const auto layers = parse_stack(plan.arch);
  return tokens / std::max(share, 1e-9) * static_cast<double>(plan.steps) * static_cast<double>(plan.batch) *
         static_cast<double>(members(plan).size()) *
         (layers ? static_cast<double>(layers->layers.size()) : 1.0);
}

Result<bool> run_sweep(const Sweep& sweep) {
  return sweep.options.ranks && !sweep.options.ranks->alone() ? hand_out(sweep) : run_one_by_one(sweep);
}

Result<void> help_experiment(const Experiment& experiment, const LabOptions& options) {
  RUNG_REQUIRE(options.ranks && !options.ranks->leads(), "rank 0 runs the experiment itself");
  work(experiment, options, nullptr);
  return {};
}

}  // namespace rung::lab
