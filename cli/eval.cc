// rung eval: a model on fresh instances of a task.
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/model_task.h"
#include "cli/progress.h"
#include "rung/evaluation/evaluation.h"
#include "rung/tasks/instance_rows.h"

namespace rung::cli {
namespace {

struct Flags {
  std::string model;
  std::optional<std::string> task;
  std::int64_t count = 1000, seed = 1, wrong = 0;
  std::string variant = "uniform";
  std::optional<std::string> quantised;
  bool exhaustive = false, json = false;
  TaskFlags sizes;
};

volatile std::sig_atomic_t interrupted = 0;

nlohmann::ordered_json wrong_json(const WrongInstance& wrong, const Task& task) {
  nlohmann::ordered_json row{{"index", wrong.index}, {"prompt", task.text(wrong.instance.prompt)}};
  if (wrong.instance.prompt.fields.size() == 1)
    row["tokens"] = wrong.instance.prompt.fields[0];
  else
    row["fields"] = wrong.instance.prompt.fields;
  row["expected"] = wrong.instance.answer;
  row["given"] = wrong.given;
  return row;
}

Result<int> run(const Flags& flags) {
  if (flags.count < 1) return fail(ErrorCode::range, "[eval] count = {}; expected at least 1", flags.count);
  if (flags.seed < 0) return fail(ErrorCode::range, "[eval] seed = {}; expected at least 0", flags.seed);
  if (flags.wrong < 0 || flags.wrong > 1'000'000) return fail(ErrorCode::range, "[eval] wrong = {}; expected 0 to 1000000", flags.wrong);
  RUNG_TRY(const Variant variant, parse_variant(flags.variant));
  RUNG_TRY(const Weights weights, read_weights(flags.model));
  RUNG_TRY(const auto task, model_task(weights, flags.model, flags.task, flags.sizes, "eval"));
  RUNG_CHECK(check_fit(weights, *task));
  MachineOptions machine_options{.positions = positions_needed(weights, *task)};
  if (flags.quantised) {
    RUNG_TRY(machine_options.quantised, parse_precision(*flags.quantised));
  }
  RUNG_TRY(const auto machine, Machine::load(weights, machine_options));
  if (!flags.exhaustive && !task->supports(variant))
    return fail(ErrorCode::unsupported, "[eval] {} at this size has no {} instances", task->name(), flags.variant);
  if (flags.exhaustive && task->choices(task->empty_prompt()) == 0)
    return fail(ErrorCode::unsupported, "[eval] the instances of {} cannot be enumerated", task->name());

  EvaluationOptions options{.variant = variant, .seed = static_cast<std::uint64_t>(flags.seed), .count = static_cast<std::uint64_t>(flags.count),
                            .exhaustive = flags.exhaustive, .keep_wrong = static_cast<std::size_t>(flags.wrong)};
  Progress progress("instances", flags.exhaustive ? 0 : options.count);
  options.progress = [&](std::uint64_t done) { progress.at(done); };
  std::signal(SIGINT, [](int) { interrupted = 1; });
  options.stop = [] { return interrupted != 0; };
  RUNG_TRY(const Evaluation result, evaluate(*machine, weights, *task, options));
  const double seconds = progress.seconds();
  const auto interval = wilson_interval(result.right_answers, result.answers);
  const std::string mode = machine->exact() ? "X" : "Q";

  if (flags.json) {
    nlohmann::ordered_json wrong = nlohmann::ordered_json::array();
    for (const auto& instance : result.wrong) wrong.push_back(wrong_json(instance, *task));
    nlohmann::ordered_json document{{"schema", "rung.eval/1"}, {"model", flags.model}, {"architecture", format_stack(weights.architecture.stack)},
                                    {"task", task->name()}, {"size", task->size()}, {"mode", mode}, {"arithmetic", machine->arithmetic()}};
    if (flags.quantised) document["quantised"] = *flags.quantised;
    if (flags.exhaustive)
      document["exhaustive"] = !result.stopped;
    else
      document.update({{"variant", flags.variant}, {"seed", flags.seed}});
    document.update({{"instances", result.instances}, {"right_instances", result.right_instances}, {"answers", result.answers},
                     {"right_answers", result.right_answers}, {"accuracy", result.accuracy()}, {"interval", {interval.low, interval.high}},
                     {"stopped", result.stopped}, {"seconds", seconds}, {"instances_per_second", static_cast<double>(result.instances) / std::max(seconds, 1e-9)},
                     {"wrong", wrong}});
    print_json(document);
    return 0;
  }
  fmt::print("{} on {} {}, mode {}{}\n", flags.model, task->name(), task->size().dump(), mode, flags.quantised ? " at " + *flags.quantised : "");
  const bool complete = flags.exhaustive && !result.stopped;
  fmt::print("accuracy {:.4f} ({} of {} answers right; {})\n", result.accuracy(), result.right_answers, result.answers,
             complete ? fmt::format("all {} instances", result.instances)
                      : fmt::format("95 % interval {:.4f} to {:.4f}", interval.low, interval.high));
  if (result.stopped) fmt::print("stopped after {} instances\n", result.instances);
  for (const auto& wrong : result.wrong)
    fmt::print("wrong: instance {}: {} -> {}, expected {}\n", wrong.index, task->text(wrong.instance.prompt), nlohmann::json(wrong.given).dump(),
               nlohmann::json(wrong.instance.answer).dump());
  fmt::print("{:.0f} instances/s\n", static_cast<double>(result.instances) / std::max(seconds, 1e-9));
  return 0;
}

}  // namespace

Command eval_command() {
  auto flags = std::make_shared<Flags>();
  Command command{.name = "eval", .summary = "a model's accuracy on a task, exactly"};
  command.description =
      "Runs a weights file (docs/weights.md) on instances of a task: integer weights bit for bit (mode X), or, with --quantised, as reals rounded to a storage "
      "format (mode Q). The task and its sizes are those the file was made for, unless the flags say others.";
  command.examples = {"rung eval model.safetensors --task eva --n 16 --count 10000", "rung eval model.safetensors --exhaustive --wrong 3",
                      "rung eval model.safetensors --quantised bf16"};
  command.options = {
      {.names = "MODEL", .help = "the weights file", .target = &flags->model, .required = true},
      {.names = "--task", .help = "the task (the file's own)", .target = &flags->task},
      {.names = "--count", .help = "how many instances (1000)", .target = &flags->count},
      {.names = "--seed", .help = "seed (1)", .target = &flags->seed},
      {.names = "--variant", .help = "uniform, permutation, zipf or adversarial (uniform)", .target = &flags->variant},
      {.names = "--exhaustive", .help = "every instance of the task", .target = &flags->exhaustive},
      {.names = "--wrong", .help = "show that many wrong instances", .target = &flags->wrong},
      {.names = "--quantised", .help = "mode Q in this format: p, p.f, bf16, fp16, e4m3, e5m2, fp32", .target = &flags->quantised},
      {.names = "--json", .help = "one JSON document", .target = &flags->json},
  };
  flags->sizes.declare(command);
  command.run = [flags] { return run(*flags); };
  return command;
}

}  // namespace rung::cli
