// rung quantise: a trained real model as integers of p bits, with the accuracy before and after.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/model_task.h"
#include "cli/progress.h"
#include "cli/written_files.h"
#include "rung/adversary/state_bits.h"
#include "rung/base/plural.h"
#include "rung/evaluation/evaluation.h"
#include "rung/exact/quantise.h"
#include "rung/spec/accounting.h"
#include "rung/spec/mixers.h"
#include "rung/spec/quantisable.h"

namespace rung::cli {
namespace {

constexpr int kFloatBits = 32;  // of a stored number before

struct QuantiseFlags {
  std::string model;
  std::int64_t precision = 8, count = 64, instances = 1000, seed = 1, refine = 2;
  std::optional<std::int64_t> accumulator_bits, weight_bits;
  std::optional<std::string> accumulator, out, task;
  std::string variant = "uniform";
  bool force = false, verbose = false, json = false;
  TaskFlags sizes;
};

struct Accuracy {
  Evaluation evaluation;
  ShareInterval interval;
};

Result<Accuracy> accuracy(const Weights& weights, const Task& task, const MachineOptions& how,
                          const EvaluationOptions& options) {
  RUNG_TRY(const auto machine, Machine::load(weights, how));
  RUNG_TRY(auto evaluation, evaluate(*machine, weights, task, options));
  const auto interval = wilson_interval(evaluation.right_answers, evaluation.answers);
  return Accuracy{std::move(evaluation), interval};
}

struct Memory {
  std::int64_t state = 0, cache = 0;  // bits; the cache per token
};

nlohmann::ordered_json accuracy_json(const Accuracy& measured, const char* mode) {
  return {{"mode", mode},
          {"answers", measured.evaluation.answers},
          {"right_answers", measured.evaluation.right_answers},
          {"accuracy", measured.evaluation.accuracy()},
          {"interval", {measured.interval.low, measured.interval.high}}};
}

Result<QuantiseOptions> options_of(const QuantiseFlags& flags) {
  auto small = [](std::string_view what, std::int64_t value) -> Result<int> {
    if (value < 0 || value > 1'000'000)
      return fail(ErrorCode::range, "[quantise] {} = {} is out of range", what, value);
    return static_cast<int>(value);
  };
  QuantiseOptions options;
  RUNG_TRY(options.precision, small("precision", flags.precision));
  if (flags.accumulator_bits) {
    RUNG_TRY(options.accumulator_bits, small("accumulator-bits", *flags.accumulator_bits));
  }
  if (flags.weight_bits) {
    RUNG_TRY(options.weight_bits, small("weight-bits", *flags.weight_bits));
  }
  RUNG_TRY(options.refine, small("refine", flags.refine));
  if (flags.accumulator)
    for (const auto kind : {Accumulator::exact, Accumulator::wrap, Accumulator::round})
      if (accumulator_name(kind) == *flags.accumulator) options.accumulator = kind;
  return options;
}

bool holds_mixer(const MixerShape& mixer, bool (*wanted)(const MixerShape&)) {
  for (const MixerShape& part : mixer.parts)
    if (holds_mixer(part, wanted)) return true;
  return wanted(mixer);
}

// Its state is a sum of products, which an accumulator keeps.
bool sums_products(const MixerShape& mixer) {
  return mixer.kind == MixerKind::linear ||
         (mixer.kind == MixerKind::loglinear && mixer.base == MixerKind::linear);
}

// How sums are kept is a question to models that keep some.
Result<void> check_accumulator_used(const QuantiseFlags& flags, const Architecture& architecture) {
  RUNG_TRY(const auto layers, resolve(architecture));
  const auto any = [&](bool (*wanted)(const MixerShape&)) {
    return std::any_of(layers.begin(), layers.end(),
                       [&](const LayerShape& layer) { return holds_mixer(layer.mixer, wanted); });
  };
  if (flags.accumulator && !any(sums_products))
    return fail(ErrorCode::unsupported,
                "[quantise] --accumulator is not used by {}: it has no linear attention",
                format_stack(architecture.stack));
  if (flags.accumulator_bits && flags.accumulator == "exact" && !any([](const MixerShape& mixer) {
        return !sums_products(mixer) && !recurrence_of(mixer).state.value.empty();
      }))
    return fail(ErrorCode::unsupported,
                "[quantise] --accumulator-bits is not used by {}: its sums are exact, as wide as they grow",
                format_stack(architecture.stack));
  if (flags.accumulator_bits && account(architecture, layers, {.context = 1}).state_bits == 0)
    return fail(ErrorCode::unsupported, "[quantise] --accumulator-bits is not used by {}: it has no state",
                format_stack(architecture.stack));
  return {};
}

Result<int> run_quantise(const QuantiseFlags& flags) {
  constexpr std::int64_t kMostPrompts = 100'000;
  if (flags.count < 1 || flags.count > kMostPrompts)
    return fail(ErrorCode::range, "[quantise] count = {}; 1 to {} expected", flags.count, kMostPrompts);
  if (flags.instances < 1)
    return fail(ErrorCode::range, "[quantise] instances = {}; expected at least 1", flags.instances);
  if (flags.seed < 0) return fail(ErrorCode::range, "[quantise] seed = {}; expected at least 0", flags.seed);
  RUNG_TRY(QuantiseOptions options, options_of(flags));
  RUNG_TRY(const Variant variant, parse_variant(flags.variant));
  RUNG_TRY(const Weights real, read_weights(flags.model));
  RUNG_CHECK(quantisable(real.architecture));
  RUNG_CHECK(check_accumulator_used(flags, real.architecture));
  RUNG_TRY(const auto task, model_task(real, flags.model, flags.task, flags.sizes, "quantise"));
  RUNG_CHECK(check_fit(real, *task));
  if (!task->supports(variant))
    return fail(ErrorCode::unsupported, "[quantise] {} at this size has no {} instances", task->name(),
                flags.variant);
  const std::int64_t positions = positions_needed(real, *task);

  CalibrationSet set{{}, task->query_positions()};
  const auto seed = static_cast<std::uint64_t>(flags.seed);
  for (std::int64_t i = 0; i < flags.count; ++i) {
    Instance instance = task->generate(variant, seed, static_cast<std::uint64_t>(i));
    set.prompts.push_back(std::move(instance.prompt));
    set.answers.push_back(std::move(instance.answer));
  }
  const auto integers_or_error = [&] {
    Progress progress("models tried", 0);
    options.progress = [&](std::uint64_t done) { progress.at(done); };
    return quantise(real, set, options);
  }();
  if (!integers_or_error) return integers_or_error.error();
  const Quantised& integers = *integers_or_error;

  // Accuracy on instances that the calibration did not see.
  const EvaluationOptions fresh{
      .variant = variant, .seed = seed + 1, .count = static_cast<std::uint64_t>(flags.instances)};
  const MachineOptions floats{.positions = positions,
                              .quantised = Precision{NumberFormat::fp32, kFloatBits, 0}};
  RUNG_TRY(const auto before, accuracy(real, *task, floats, fresh));
  RUNG_TRY(const auto after, accuracy(integers.weights, *task, {.positions = positions}, fresh));

  RUNG_TRY(const auto layers, resolve(real.architecture));
  const auto as_floats = account(real.architecture, layers, {kFloatBits, kFloatBits, kFloatBits, positions});
  const auto as_integers = account(integers.weights.architecture, layers, {.context = positions});
  const Memory memory_before{as_floats.state_bits, as_floats.cache_bits_per_token};
  Memory memory_after{as_integers.state_bits, as_integers.cache_bits_per_token};
  // True widths where the memory is a state (exact sums are wider than p bits).
  bool bounded = true;
  for (const auto& layer : layers) bounded = bounded && has_bounded_state(layer.mixer);
  if (bounded) memory_after.state = nominal_state_bits(integers.weights, layers, positions);
  if (flags.out) RUNG_CHECK(write_model(*flags.out, integers.weights, flags.force));

  if (flags.json) {
    nlohmann::ordered_json scales = nlohmann::ordered_json::array();
    for (const auto& scale : integers.scales)
      scales.push_back({{"name", scale.name},
                        {"bits", scale.bits},
                        {"fraction", scale.fraction},
                        {"largest", scale.largest},
                        {"rms", scale.rms},
                        {"error", scale.error},
                        {"noted", scale.noted}});
    nlohmann::ordered_json document{
        {"schema", "rung.quantise/1"},
        {"model", flags.model},
        {"architecture", format_spelled_stack(real.architecture.stack)},
        {"task", task->name()},
        {"size", task->size()},
        {"variant", flags.variant},
        {"precision", options.precision},
        {"accumulator", accumulator_name(integers.weights.accumulator)},
        {"accumulator_bits", options.accumulator_bits.value_or(options.precision)},
        {"weight_bits", options.weight_bits.value_or(default_weight_bits(options.precision))},
        {"calibration",
         {{"prompts", flags.count},
          {"seed", flags.seed},
          {"agreement", integers.agreement},
          {"logit_error", integers.logit_error}}},
        {"seed", flags.seed + 1},
        {"before", accuracy_json(before, "Q")},
        {"after", accuracy_json(after, "X")},
        {"state_bits", {{"before", memory_before.state}, {"after", memory_after.state}}},
        {"cache_bits_per_token", {{"before", memory_before.cache}, {"after", memory_after.cache}}}};
    document["out"] = flags.out ? nlohmann::ordered_json(*flags.out) : nlohmann::ordered_json(nullptr);
    document["scales"] = scales;
    print_json(document);
    return 0;
  }
  fmt::print("{} ({}) on {} {}, {}\n", flags.model, format_stack(real.architecture.stack), task->name(),
             task->size().dump(), counted(options.precision, "bit"));
  auto line = [](const char* when, const Accuracy& measured) {
    fmt::print("{}  accuracy {:.4f} ({} of {} answers right; 95 % interval {:.4f} to {:.4f})\n", when,
               measured.evaluation.accuracy(), measured.evaluation.right_answers, measured.evaluation.answers,
               measured.interval.low, measured.interval.high);
  };
  line("before (fp32)  ", before);
  line("after (mode X) ", after);
  if (memory_before.state > 0)
    fmt::print("state            {} before, {} after\n", counted(memory_before.state, "bit"),
               memory_after.state);
  if (memory_before.cache > 0)
    fmt::print("cache per token  {} before, {} after\n", counted(memory_before.cache, "bit"),
               memory_after.cache);
  if (flags.verbose) {
    fmt::print("{:<28}  {:>4}  {:>8}  {:>11}  {:>11}  {:>9}\n", "stored", "bits", "fraction", "largest",
               "rms", "error");
    for (const auto& scale : integers.scales)
      fmt::print("{:<28}  {:>4}  {:>8}  {:>11.4g}  {:>11.4g}  {:>9.2g}{}\n", scale.name, scale.bits,
                 scale.fraction, scale.largest, scale.rms, scale.error, scale.noted ? "  noted" : "");
  }
  if (flags.out) fmt::print("written to {}\n", *flags.out);
  return 0;
}

}  // namespace

Command quantise_command() {
  auto flags = std::make_shared<QuantiseFlags>();
  Command command{.name = "quantise", .summary = "a trained model as p-bit integers"};
  command.description =
      "Turns a real weights file (mode real, docs/weights.md) into integers of the exact machine: what a "
      "model stores or hands over gets p bits at a power-of-two scale, chosen per tensor from what it "
      "computes on prompts of its task; non-linearities become tables. Says the accuracy before (fp32) and "
      "after (mode X) on instances of the next seed. What has no integer form is refused by name "
      "(docs/quantise.md).";
  command.examples = {"rung quantise trained.safetensors --precision 8 --out eight.safetensors",
                      "rung quantise trained.safetensors --precision 4 --accumulator-bits 12 --verbose"};
  command.options = {
      {"MODEL", "the trained weights file", &flags->model, {.required = true, .file = FileUse::read}},
      {"--precision", "p, bits of a stored number, 2 to 48 (8)", &flags->precision},
      {"--accumulator-bits", "bits of a recurrent state's entry, 1 to 62 (p)", &flags->accumulator_bits},
      {"--accumulator",
       "how linear attention adds up (the file's; round with --accumulator-bits)",
       &flags->accumulator,
       {.choices = {"exact", "wrap", "round"}}},
      {"--weight-bits", "bits of a weight, 2 to 32 (16, or p + 4)", &flags->weight_bits},
      {"--refine", "rounds of trying every scale one finer and one coarser, 0 to 100 (2)", &flags->refine},
      {"--count", "calibration prompts (64)", &flags->count},
      {"--instances", "instances for the accuracy before and after (1000)", &flags->instances},
      {"--seed", "seed of the calibration prompts; accuracy uses the next (1)", &flags->seed},
      {"--variant", "uniform, permutation, zipf or adversarial (uniform)", &flags->variant},
      {"--task", "the task (the file's own)", &flags->task},
      {"--out", "write the integer model here", &flags->out, {.file = FileUse::write}},
      {"--force", "replace a file that exists", &flags->force, {.needs = {"--out"}}},
      {"--verbose", "show every tensor's scale", &flags->verbose, {.excludes = {"--json"}}},
      {"--json", "one JSON document", &flags->json},
  };
  flags->sizes.declare(command);
  command.run = [flags] { return run_quantise(*flags); };
  return command;
}

}  // namespace rung::cli
