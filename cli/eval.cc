// rung eval: models on fresh instances of a task, beside what the theory said beforehand.
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/model_task.h"
#include "cli/progress.h"
#include "rung/base/plural.h"
#include "rung/evaluation/evaluation.h"
#include "rung/evaluation/label.h"
#include "rung/spec/number_words.h"
#include "rung/store/store.h"
#include "rung/tasks/instance_rows.h"

namespace rung::cli {
namespace {

struct EvalFlags {
  std::vector<std::string> models, sweep;
  std::optional<std::string> task, variants;
  std::int64_t count = 1000, seed = 1, wrong = 0;
  std::string variant = "uniform";
  std::optional<std::string> quantised, store;
  bool exhaustive = false, forms = false, json = false;
  TaskFlags sizes;
};

// One model at one size and variant.
struct Member {
  std::string model;
  std::string architecture;
  std::string mode, arithmetic;
  Evaluation result;
  ShareInterval interval{0, 1};
  Label label;
  double seconds = 0;
  std::string precision;
};

// All models at one size and variant.
struct EvalRow {
  std::unique_ptr<Task> task;
  std::string variant;
  std::vector<Member> members;
};

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

Result<std::vector<std::string>> variants_of(const EvalFlags& flags) {
  const auto words = flags.variants ? comma_words(*flags.variants) : std::vector<std::string>{flags.variant};
  for (const auto& word : words) {
    RUNG_TRY([[maybe_unused]] const auto known, parse_variant(word));
  }
  return words;
}

Result<Member> measure(const EvalFlags& flags, const std::string& model, const Weights& weights,
                       const Task& task, Variant variant) {
  MachineOptions machine_options{.positions = positions_needed(weights, task)};
  if (flags.quantised) {
    RUNG_TRY(machine_options.quantised, parse_precision(*flags.quantised));
  }
  RUNG_TRY(const auto machine, Machine::load(weights, machine_options));
  EvaluationOptions options{.variant = variant,
                            .seed = static_cast<std::uint64_t>(flags.seed),
                            .count = static_cast<std::uint64_t>(flags.count),
                            .exhaustive = flags.exhaustive,
                            .forms = flags.forms,
                            .keep_wrong = static_cast<std::size_t>(flags.wrong)};
  Progress progress("instances", flags.exhaustive ? 0 : options.count);
  options.progress = [&](std::uint64_t done) { progress.at(done); };
  options.stop = interrupted;
  Member member{model, format_spelled_stack(weights.architecture.stack), machine->exact() ? "X" : "Q",
                std::string(machine->arithmetic())};
  member.precision = machine->exact() ? format_precision(weights.architecture.dimensions.precision)
                                      : flags.quantised.value_or("fp64");
  RUNG_TRY(member.result, evaluate(*machine, weights, task, options));
  member.seconds = progress.seconds();
  member.interval = wilson_interval(member.result.right_answers, member.result.answers);
  member.label = label_of(weights, *machine, task, variant);
  return member;
}

void add_figures(nlohmann::ordered_json& document, const Member& member) {
  const Evaluation& result = member.result;
  document.update(
      {{"instances", result.instances},
       {"right_instances", result.right_instances},
       {"answers", result.answers},
       {"right_answers", result.right_answers},
       {"accuracy", result.accuracy()},
       {"interval", {member.interval.low, member.interval.high}},
       {"stopped", result.stopped},
       {"seconds", member.seconds},
       {"instances_per_second", static_cast<double>(result.instances) / std::max(member.seconds, 1e-9)}});
}
void add_forms(nlohmann::ordered_json& document, const Evaluation& result) {
  const FormsTotal& forms = result.forms;
  nlohmann::ordered_json first = nullptr;
  if (forms.first)
    first = {{"instance", forms.first_index},     {"layer", forms.first->layer},
             {"position", forms.first->position}, {"coordinate", forms.first->coordinate},
             {"parallel", forms.first->parallel}, {"recurrent", forms.first->recurrent}};
  document["forms"] = {{"prompts", result.instances},
                       {"equal_prompts", forms.equal_prompts},
                       {"rows", forms.rows},
                       {"rounds", forms.rounds},
                       {"first_difference", first}};
}
// Sums that are exact or wrap: forms that differ then contradict linear-recurrence.
bool forms_contradict(const Evaluation& result) { return result.forms.first && !result.forms.rounds; }

void add_label(nlohmann::ordered_json& document, const Label& label) {
  document.update({{"label", label_name(label.letter)},
                   {"label_reason", label.reason},
                   {"ceiling", label.ceiling},
                   {"ceiling_reason", label.ceiling_reason}});
}

// One record a member and row; their ids.
Result<std::vector<std::string>> keep(const EvalFlags& flags, const std::vector<EvalRow>& rows) {
  RUNG_TRY(const auto store, Store::open(store_path(flags.store)));
  std::vector<Record> records;
  for (const auto& row : rows)
    for (const auto& member : row.members) {
      nlohmann::ordered_json body{{"task", row.task->name()}, {"size", row.task->size()},
                                  {"model", member.model},    {"arch", member.architecture},
                                  {"mode", member.mode},      {"precision", member.precision}};
      for (const auto& [name, word] : row.task->options()) body["options"][name] = word;
      if (flags.exhaustive)
        body["exhaustive"] = true;
      else
        body["variant"] = row.variant;
      add_figures(body, member);
      add_label(body, member.label);
      Record record{.kind = "evaluation",
                    .state = member.result.stopped ? RecordState::stopped : RecordState::done,
                    .device = "cpu",
                    .body = body.dump()};
      if (!flags.exhaustive) record.seed = flags.seed;
      records.push_back(std::move(record));
    }
  return store->append(std::move(records));
}

void print_single_json(const EvalFlags& flags, const EvalRow& row, const std::vector<std::string>& records) {
  const Member& member = row.members[0];
  nlohmann::ordered_json wrong = nlohmann::ordered_json::array();
  for (const auto& instance : member.result.wrong) wrong.push_back(wrong_json(instance, *row.task));
  nlohmann::ordered_json document{
      {"schema", "rung.eval/1"},        {"model", member.model},    {"architecture", member.architecture},
      {"task", row.task->name()},       {"size", row.task->size()}, {"mode", member.mode},
      {"arithmetic", member.arithmetic}};
  if (flags.quantised) document["quantised"] = *flags.quantised;
  if (flags.exhaustive)
    document["exhaustive"] = !member.result.stopped;
  else
    document.update({{"variant", row.variant}, {"seed", flags.seed}});
  add_figures(document, member);
  add_label(document, member.label);
  if (flags.forms) add_forms(document, member.result);
  document["wrong"] = wrong;
  if (flags.store) document["records"] = records;
  print_json(document);
}

// The whole row: mean over members, instances pooled.
struct Summary {
  double accuracy = 0;
  ShareInterval interval{0, 1};
  std::optional<ShareInterval> members;
  bool one_label = true;
};
Summary summarise(const EvalRow& row) {
  Summary summary;
  std::vector<double> accuracies;
  std::uint64_t right = 0, of = 0;
  for (const auto& member : row.members) {
    accuracies.push_back(member.result.accuracy());
    summary.accuracy += accuracies.back() / static_cast<double>(row.members.size());
    right += member.result.right_answers;
    of += member.result.answers;
    summary.one_label = summary.one_label && member.label.letter == row.members[0].label.letter;
  }
  summary.interval = wilson_interval(right, of);
  summary.members = student_interval(accuracies);
  return summary;
}

void print_rows_json(const EvalFlags& flags, const std::vector<EvalRow>& rows,
                     const std::vector<std::string>& records) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& row : rows) {
    const Summary summary = summarise(row);
    nlohmann::ordered_json entry{{"task", row.task->name()}, {"size", row.task->size()}};
    if (!flags.exhaustive) entry["variant"] = row.variant;
    entry.update(
        {{"accuracy", summary.accuracy}, {"interval", {summary.interval.low, summary.interval.high}}});
    entry["members_interval"] = nullptr;
    if (summary.members) entry["members_interval"] = {summary.members->low, summary.members->high};
    entry["label"] = nullptr;
    entry["ceiling"] = nullptr;
    if (summary.one_label) add_label(entry, row.members[0].label);
    nlohmann::ordered_json members = nlohmann::ordered_json::array();
    for (const auto& member : row.members) {
      nlohmann::ordered_json one{{"model", member.model},
                                 {"architecture", member.architecture},
                                 {"mode", member.mode},
                                 {"arithmetic", member.arithmetic}};
      add_figures(one, member);
      add_label(one, member.label);
      if (flags.forms) add_forms(one, member.result);
      one["wrong"] = nlohmann::ordered_json::array();
      for (const auto& instance : member.result.wrong)
        one["wrong"].push_back(wrong_json(instance, *row.task));
      members.push_back(one);
    }
    entry["members"] = members;
    list.push_back(entry);
  }
  nlohmann::ordered_json document{{"schema", "rung.eval/1"}, {"models", flags.models}};
  if (flags.quantised) document["quantised"] = *flags.quantised;
  if (flags.exhaustive)
    document["exhaustive"] = true;
  else
    document["seed"] = flags.seed;
  document["stopped"] = interrupted();
  document["rows"] = list;
  if (flags.store) document["records"] = records;
  print_json(document);
}

void print_wrong(const EvalRow& row, const Member& member) {
  for (const auto& wrong : member.result.wrong)
    fmt::print("wrong: instance {}: {} -> {}, expected {}\n", wrong.index,
               row.task->text(wrong.instance.prompt), nlohmann::json(wrong.given).dump(),
               nlohmann::json(wrong.instance.answer).dump());
}

void print_forms(const Evaluation& result) {
  const FormsTotal& forms = result.forms;
  const char* rounds =
      forms.rounds ? "; a state is rounded at every step, so the recurrence alone is the model" : "";
  if (!forms.first)
    fmt::print("forms   parallel and recurrent are equal bit for bit: {}, {}{}\n",
               counted(result.instances, "prompt"), counted(forms.rows, "row"), rounds);
  else
    fmt::print(
        "forms   parallel and recurrent differ on {} of {}{}\n"
        "        first in instance {}, layer {}, position {}, coordinate {}: {} parallel, {} recurrent\n",
        result.instances - forms.equal_prompts, counted(result.instances, "prompt"), rounds,
        forms.first_index, forms.first->layer, forms.first->position, forms.first->coordinate,
        forms.first->parallel, forms.first->recurrent);
}

void print_single(const EvalFlags& flags, const EvalRow& row) {
  const Member& member = row.members[0];
  const Evaluation& result = member.result;
  fmt::print("{} on {} {}, mode {}{}\n", member.model, row.task->name(), row.task->size().dump(), member.mode,
             flags.quantised ? " at " + *flags.quantised : "");
  const bool complete = flags.exhaustive && !result.stopped;
  fmt::print("accuracy {:.4f} ({} of {} answers right; {})\n", result.accuracy(), result.right_answers,
             result.answers,
             complete
                 ? fmt::format("all {}", counted(result.instances, "instance"))
                 : fmt::format("95 % interval {:.4f} to {:.4f}", member.interval.low, member.interval.high));
  if (result.stopped) fmt::print("stopped after {}\n", counted(result.instances, "instance"));
  print_wrong(row, member);
  if (flags.forms) print_forms(result);
  fmt::print("label {}: {}\n", label_name(member.label.letter), member.label.reason);
  fmt::print("ceiling {:.4f}: {}\n", member.label.ceiling, member.label.ceiling_reason);
  fmt::print("{:.0f} instances/s\n", static_cast<double>(result.instances) / std::max(member.seconds, 1e-9));
}

void print_rows(const EvalFlags& flags, const std::vector<EvalRow>& rows) {
  const bool ensemble = rows[0].members.size() > 1;
  fmt::print("{:<28} {:<12} {:>8}  {:<17}{}  {:<5} {:>7}\n", "task", "variant", "accuracy", "95 % instances",
             ensemble ? "  95 % members     " : "", "label", "ceiling");
  for (const auto& row : rows) {
    const Summary summary = summarise(row);
    auto range = [](const ShareInterval& i) { return fmt::format("{:.4f} to {:.4f}", i.low, i.high); };
    fmt::print("{:<28} {:<12} {:>8.4f}  {:<17}{}  {:<5} {:>7.4f}\n",
               fmt::format("{} {}", row.task->name(), row.task->size().dump()), row.variant, summary.accuracy,
               range(summary.interval),
               ensemble ? "  " + (summary.members ? range(*summary.members) : std::string(16, ' ')) : "",
               summary.one_label ? label_name(row.members[0].label.letter) : "mixed",
               row.members[0].label.ceiling);
    for (const auto& member : row.members) {
      print_wrong(row, member);
      if (flags.forms) print_forms(member.result);
    }
  }
}

Result<int> run_eval(const EvalFlags& flags) {
  if (flags.count < 1) return fail(ErrorCode::range, "[eval] count = {}; expected at least 1", flags.count);
  if (flags.seed < 0) return fail(ErrorCode::range, "[eval] seed = {}; expected at least 0", flags.seed);
  if (flags.wrong < 0 || flags.wrong > 1'000'000)
    return fail(ErrorCode::range, "[eval] wrong = {}; expected 0 to 1000000", flags.wrong);
  RUNG_TRY(const auto variants, variants_of(flags));
  RUNG_TRY(const auto sizes, flags.sizes.sweep(flags.sweep, "eval"));
  std::vector<Weights> weights;
  for (const auto& model : flags.models) {
    RUNG_TRY(Weights one, read_weights(model));
    weights.push_back(std::move(one));
  }
  // Everything is checked before anything runs.
  std::vector<EvalRow> rows;
  for (const auto& size : sizes)
    for (const auto& word : variants) {
      RUNG_TRY(const Variant variant, parse_variant(word));
      EvalRow row{nullptr, word, {}};
      for (std::size_t i = 0; i < weights.size(); ++i) {
        RUNG_TRY(auto task, model_task(weights[i], flags.models[i], flags.task, size, "eval"));
        RUNG_CHECK(check_fit(weights[i], *task));
        if (row.task && (row.task->name() != task->name() || !(row.task->size() == task->size())))
          return fail(ErrorCode::range,
                      "[eval] {} was made for {} {}, {} for {} {}; say --task and its sizes", flags.models[0],
                      row.task->name(), row.task->size().dump(), flags.models[i], task->name(),
                      task->size().dump());
        row.task = std::move(task);
      }
      if (!flags.exhaustive && !row.task->supports(variant))
        return fail(ErrorCode::unsupported, "[eval] {} at this size has no {} instances", row.task->name(),
                    word);
      if (flags.exhaustive && row.task->choices(row.task->empty_prompt()) == 0)
        return fail(ErrorCode::unsupported, "[eval] the instances of {} cannot be enumerated",
                    row.task->name());
      rows.push_back(std::move(row));
    }
  listen_for_interruption();
  std::size_t done = 0;
  for (auto& row : rows) {
    RUNG_TRY(const Variant variant, parse_variant(row.variant));
    for (std::size_t i = 0; i < weights.size() && (done == 0 || !interrupted()); ++i) {
      RUNG_TRY(Member member, measure(flags, flags.models[i], weights[i], *row.task, variant));
      row.members.push_back(std::move(member));
    }
    if (row.members.size() < weights.size()) break;  // an interrupted row is not shown
    ++done;
  }
  rows.resize(std::max<std::size_t>(1, done));
  std::vector<std::string> records;
  if (flags.store) {
    RUNG_TRY(records, keep(flags, rows));
  }
  const bool single = weights.size() == 1 && flags.sweep.empty() && !flags.variants;
  if (flags.json)
    single ? print_single_json(flags, rows[0], records) : print_rows_json(flags, rows, records);
  else
    single ? print_single(flags, rows[0]) : print_rows(flags, rows);
  if (flags.store && !flags.json)
    fmt::print("{} in {}\n", counted(records.size(), "record"), store_path(flags.store));
  for (const auto& row : rows)
    for (const auto& member : row.members)
      if (forms_contradict(member.result)) return 1;
  return 0;
}

}  // namespace

Command eval_command() {
  auto flags = std::make_shared<EvalFlags>();
  Command command{.name = "eval", .summary = "a model's accuracy on a task, exactly"};
  command.description =
      "Runs weights files (docs/weights.md) on instances of a task: integer weights bit for bit (mode X), "
      "or, with --quantised, as reals rounded to a storage format (mode Q). The task and its sizes are those "
      "the file was made for, unless the flags say others. Beside each figure stands what theory said "
      "beforehand: C certified impossible, K constructible, G gap, and the accuracy ceiling (docs/eval.md).";
  command.examples = {"rung eval model.safetensors --task eva --n 16 --count 10000",
                      "rung eval model.safetensors --exhaustive --wrong 3",
                      "rung eval model.safetensors --quantised bf16", "rung eval model.safetensors --forms",
                      "rung eval seed1.safetensors seed2.safetensors --variants "
                      "uniform,permutation,zipf,adversarial --sweep n=8,16"};
  command.options = {
      {"MODEL",
       "the weights file; several are members of an ensemble",
       &flags->models,
       {.required = true, .file = FileUse::read}},
      {"--task", "the task (the file's own)", &flags->task},
      {"--count", "how many instances (1000)", &flags->count, {.excludes = {"--exhaustive"}}},
      {"--seed", "seed (1)", &flags->seed, {.excludes = {"--exhaustive"}}},
      {"--variant",
       "uniform, permutation, zipf or adversarial (uniform)",
       &flags->variant,
       {.excludes = {"--exhaustive", "--variants"}}},
      {"--variants",
       "several, with commas between them: a row each",
       &flags->variants,
       {.excludes = {"--exhaustive"}}},
      {"--sweep", "a size and its values, n=16,32,64: a row each; repeated, every combination",
       &flags->sweep},
      {"--exhaustive", "every instance of the task", &flags->exhaustive},
      {"--wrong", "show that many wrong instances", &flags->wrong},
      {"--quantised",
       "mode Q in this format: p, p.f, bf16, fp16, e4m3, e5m2, fp32",
       &flags->quantised,
       {.understood = number_note}},
      {"--forms",
       "also run linear attention in its parallel form and compare every row bit for bit",
       &flags->forms,
       {.excludes = {"--quantised"}}},
      {"--store",
       "append a record for each model and row to this store",
       &flags->store,
       {.file = FileUse::keep}},
      {"--json", "one JSON document", &flags->json},
  };
  flags->sizes.declare(command);
  command.run = [flags] { return run_eval(*flags); };
  return command;
}

}  // namespace rung::cli
