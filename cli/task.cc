// rung task: instances of a task as text, JSON lines, arrays, or a task of the lm-evaluation-harness.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/progress.h"
#include "cli/task_flags.h"
#include "rung/base/json_fields.h"
#include "rung/base/staged_file.h"
#include "rung/tasks/instance_arrays.h"
#include "rung/tasks/instance_rows.h"
#include "rung/tasks/lm_eval.h"
#include "rung/tasks/task.h"

namespace rung::cli {
namespace {

// A prompt with more numbers than this is refused here (2 GiB of them); the library itself goes to
// kMaxPromptLength.
constexpr std::int64_t kMaxNumbersPerInstance = std::int64_t{1} << 28;

// --json without --out prints the instances inside its document, in the one form that fits there.
const std::string kTaskList = "--list", kTaskDocument = "--json without --out", kTaskInstances = "a task";
const std::string kTaskZoology = "--format zoology";
const std::vector<std::string> kTaskForms = {kTaskInstances, kTaskDocument};
const std::vector<std::string> kTaskAll = {kTaskInstances, kTaskDocument, kTaskZoology};

struct TaskCommandFlags {
  std::string name;
  std::int64_t count = 10, seed = 1, start = 0;
  std::string variant = "uniform", format = "text";
  std::optional<std::string> out;
  bool language = false, force = false, list = false, json = false, blank = false;
  std::int64_t length = 64, vocabulary = 8192;
  double power = 0.01;
  TaskFlags sizes;
};

nlohmann::ordered_json list_document() {
  nlohmann::ordered_json tasks = nlohmann::ordered_json::array();
  for (const auto& word : task_words()) {
    nlohmann::ordered_json sizes = nlohmann::ordered_json::array(), options = nlohmann::ordered_json::array();
    for (const auto& size : word.sizes) {
      nlohmann::ordered_json entry = {
          {"name", size.name}, {"help", size.help}, {"low", size.low}, {"high", size.high}};
      if (size.default_value) entry["default"] = *size.default_value;
      sizes.push_back(entry);
    }
    for (const auto& option : word.options)
      options.push_back({{"name", option.name}, {"help", option.help}, {"words", option.words}});
    tasks.push_back({{"name", word.name}, {"summary", word.summary}, {"sizes", sizes}, {"options", options}});
  }
  return {{"schema", "rung.task-list/1"}, {"tasks", tasks}};
}

void print_list() {
  for (const auto& word : task_words()) {
    std::string sizes;
    for (const auto& size : word.sizes) {
      sizes += fmt::format(" --{}", size.name);
      if (size.default_value) sizes += fmt::format("={}", *size.default_value);
    }
    for (const auto& option : word.options)
      sizes += fmt::format(" --{}={}", option.name, option.words.front());
    fmt::print("{:<15}{}\n{:15}{}\n", word.name, word.summary, "", sizes.substr(1));
  }
}

// Everything about the instances but the instances.
nlohmann::ordered_json summary(const Task& task, Variant variant, const TaskCommandFlags& flags) {
  nlohmann::ordered_json fields = nlohmann::ordered_json::array();
  for (const auto& field : task.fields())
    fields.push_back(
        {{"name", field.name}, {"size", field.size}, {"length", field.length}, {"low", field.low}});
  const AnswerSpec spec = task.answer_spec();
  nlohmann::ordered_json answer;
  switch (spec.kind) {
    case AnswerSpec::Kind::token:
      answer = {{"kind", "token"}, {"size", spec.size}};
      break;
    case AnswerSpec::Kind::boolean:
      answer = {{"kind", "boolean"}, {"size", 2}};
      break;
    case AnswerSpec::Kind::vector:
      answer = {{"kind", "vector"},
                {"size", spec.size},
                {"fraction", spec.fraction},
                {"tolerance", spec.tolerance}};
  }
  nlohmann::ordered_json document = {{"schema", "rung.task/1"}, {"task", task.name()}, {"size", task.size()}};
  if (const auto options = task.options(); !options.empty()) document["options"] = options;
  document.update(json_object("variant", variant_name(variant), "seed", flags.seed, "start", flags.start,
                              "count", flags.count, "prompt_length", task.prompt_length(), "answer_positions",
                              task.query_positions(), "fields", fields, "answer", answer));
  return document;
}

Result<void> print_bytes(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size())
    return fail(ErrorCode::io, "[task] standard output: {}", std::strerror(errno));
  return {};
}

std::function<void(std::uint64_t)> progress_for(std::uint64_t count) {
  return [line = std::make_shared<Progress>("instances", count)](std::uint64_t rows) { line->at(rows); };
}

Result<void> print_document(const nlohmann::ordered_json& head, const InstanceRows& rows,
                            const TaskCommandFlags& flags) {
  const auto count = static_cast<std::uint64_t>(flags.count);
  std::string text = head.dump(2);
  text.resize(text.size() - 2);  // the newline and the closing brace, written after the rows
  RUNG_CHECK(print_bytes(text + ",\n  \"rows\": [\n    "));
  RUNG_CHECK(rows.write(static_cast<std::uint64_t>(flags.start), count, ",\n    ", print_bytes,
                        progress_for(count)));
  return print_bytes("\n  ]\n}\n");
}

Result<std::vector<std::string>> write_files(const Task& task, Variant variant, const TaskCommandFlags& flags,
                                             const InstanceRows& rows) {
  std::error_code error;
  std::filesystem::create_directories(*flags.out, error);
  if (error) return fail(ErrorCode::io, "[task] {}: {}", *flags.out, error.message());
  const std::string stem = (std::filesystem::path(*flags.out) / std::string(task.name())).string();
  RUNG_TRY(auto data, StagedFile::open(stem + (flags.format == "text" ? ".txt" : ".jsonl"), flags.force));
  std::optional<StagedFile> config;
  if (flags.format == "lm-eval") {
    RUNG_TRY(auto opened, StagedFile::open(stem + ".yaml", flags.force));
    RUNG_CHECK(opened.write(lm_eval_config(task, variant, data.path())));
    config.emplace(std::move(opened));
  }
  const auto count = static_cast<std::uint64_t>(flags.count);
  RUNG_CHECK(rows.write(
      static_cast<std::uint64_t>(flags.start), count, "\n",
      [&](std::string_view bytes) { return data.write(bytes); }, progress_for(count)));
  if (count > 0) RUNG_CHECK(data.write("\n"));
  RUNG_CHECK(data.commit());
  std::vector<std::string> written = {data.path()};
  if (config) {
    RUNG_CHECK(config->commit());
    written.push_back(config->path());
  }
  return written;
}

// Inputs, answers and positions, in this order: as files beside a description, or one behind another.
Result<std::vector<std::string>> write_arrays(const InstanceArrays& arrays,
                                              const nlohmann::ordered_json& description,
                                              const TaskCommandFlags& flags) {
  const auto first = static_cast<std::uint64_t>(flags.start), count = static_cast<std::uint64_t>(flags.count);
  if (!flags.out) {
    std::string answers;
    RUNG_CHECK(arrays.write(
        first, count, print_bytes,
        [&](std::string_view bytes) -> Result<void> {
          answers += bytes;
          return {};
        },
        progress_for(count)));
    RUNG_CHECK(print_bytes(answers));
    RUNG_CHECK(print_bytes(arrays.positions()));
    return std::vector<std::string>{};
  }
  std::error_code error;
  std::filesystem::create_directories(*flags.out, error);
  if (error) return fail(ErrorCode::io, "[task] {}: {}", *flags.out, error.message());
  const std::string stem =
      (std::filesystem::path(*flags.out) / description["task"].get<std::string>()).string();
  std::vector<StagedFile> files;
  for (const char* name : {"-inputs.npy", "-answers.npy", "-positions.npy", ".json"}) {
    RUNG_TRY(auto file, StagedFile::open(stem + name, flags.force));
    files.push_back(std::move(file));
  }
  RUNG_CHECK(arrays.write(
      first, count, [&](std::string_view bytes) { return files[0].write(bytes); },
      [&](std::string_view bytes) { return files[1].write(bytes); }, progress_for(count)));
  RUNG_CHECK(files[2].write(arrays.positions()));
  RUNG_CHECK(files[3].write(description.dump(2) + "\n"));
  std::vector<std::string> written;
  for (StagedFile& file : files) {
    RUNG_CHECK(file.commit());
    written.push_back(file.path());
  }
  return written;
}

// MQAR in the distribution of Zoology: arrays, for it is no Task (its questions stand at other places every time).
Result<int> write_zoology(const TaskCommandFlags& flags) {
  if (flags.name != "mqar")
    return fail(ErrorCode::unsupported, "[task] --format zoology is about mqar; expected rung task mqar");
  ZoologyMqar::Sizes sizes{
      .length = flags.length, .vocabulary = flags.vocabulary, .power = flags.power, .blank = flags.blank};
  for (const auto& [name, value] : flags.sizes.given_sizes()) {
    if (name != "n")
      return fail(ErrorCode::parse,
                  "[task] --{} is not used by --format zoology, which has --n, --length and --vocab", name);
    sizes.pairs = value;
  }
  for (const auto& [name, word] : flags.sizes.given_options())
    return fail(ErrorCode::parse, "[task] --{} is not used by --format zoology", name);
  RUNG_TRY(const ZoologyMqar source, ZoologyMqar::make(sizes));
  const nlohmann::ordered_json description = {
      {"schema", "rung.task-zoology/1"},
      {"task", "mqar"},
      {"size", {{"n", sizes.pairs}, {"length", sizes.length}, {"vocabulary", sizes.vocabulary}}},
      {"power", sizes.power},
      {"blank", sizes.blank},
      {"not_asked", kNotAsked},
      {"seed", flags.seed},
      {"start", flags.start},
      {"count", flags.count}};
  RUNG_TRY(const auto written,
           write_arrays(InstanceArrays(source, static_cast<std::uint64_t>(flags.seed)), description, flags));
  if (flags.json) {
    auto document = description;
    document["files"] = written;
    print_json(document);
  } else {
    for (const auto& path : written) fmt::print("{}\n", path);
  }
  return 0;
}

Result<std::unique_ptr<Task>> task_of(const TaskCommandFlags& flags) {
  RUNG_TRY(auto task, flags.sizes.make(flags.name));
  std::int64_t numbers = 0;
  for (const auto& field : task->fields()) {
    const std::int64_t length = task->prompt_length();
    if (field.length > kMaxNumbersPerInstance / length ||
        (numbers += field.length * length) > kMaxNumbersPerInstance)
      return fail(ErrorCode::resource,
                  "[task] one {} prompt has more than {} numbers; expected a smaller size", task->name(),
                  kMaxNumbersPerInstance);
  }
  return task;
}

Result<int> run_task(const TaskCommandFlags& flags) {
  if (flags.list) {
    if (flags.json)
      print_json(list_document());
    else
      print_list();
    return 0;
  }
  if (flags.name.empty())
    return fail(ErrorCode::missing, "[task] no task named; rung task --list shows them");
  if (flags.count < 1) return fail(ErrorCode::range, "[task] count = {}; expected at least 1", flags.count);
  if (flags.start < 0) return fail(ErrorCode::range, "[task] start = {}; expected at least 0", flags.start);
  if (flags.seed < 0) return fail(ErrorCode::range, "[task] seed = {}; expected at least 0", flags.seed);
  if (flags.format == "zoology") return write_zoology(flags);
  RUNG_TRY(const Variant variant, parse_variant(flags.variant));
  RUNG_TRY(const auto task, task_of(flags));
  if (!task->supports(variant))
    return fail(ErrorCode::unsupported, "[task] {} at this size has no {} instances; see docs/tasks.md",
                task->name(), flags.variant);
  const auto seed = static_cast<std::uint64_t>(flags.seed);
  const auto count = static_cast<std::uint64_t>(flags.count);
  if (flags.language && !task->language(task->generate(variant, seed, 0)))
    return fail(ErrorCode::unsupported,
                "[task] {} has no plain language in this form; docs/tasks.md names the tasks that have",
                task->name());
  if (flags.format == "lm-eval" && !flags.out)
    return fail(ErrorCode::missing,
                "[task] --format lm-eval writes two files; name their folder with --out DIR");

  if (flags.format == "npy" && flags.language)
    return fail(ErrorCode::parse, "[task] --language is not used by --format npy, which has no text");
  const InstanceArrays arrays(*task, variant, seed);
  if (flags.format == "npy" && !flags.out) {
    RUNG_CHECK(write_arrays(arrays, summary(*task, variant, flags), flags));
    return 0;
  }

  const RowForm form = flags.format == "lm-eval"                               ? RowForm::question
                       : flags.format == "text" && !(flags.json && !flags.out) ? RowForm::text
                                                                               : RowForm::jsonl;
  const InstanceRows rows(*task, variant, seed, form, flags.language);
  if (!flags.out) {
    if (flags.json) {
      RUNG_CHECK(print_document(summary(*task, variant, flags), rows, flags));
    } else {
      RUNG_CHECK(
          rows.write(static_cast<std::uint64_t>(flags.start), count, "\n", print_bytes, progress_for(count)));
      RUNG_CHECK(print_bytes("\n"));
    }
    if (std::fflush(stdout) != 0)
      return fail(ErrorCode::io, "[task] standard output: {}", std::strerror(errno));
    return 0;
  }
  RUNG_TRY(const auto written, flags.format == "npy"
                                   ? write_arrays(arrays, summary(*task, variant, flags), flags)
                                   : write_files(*task, variant, flags, rows));
  if (flags.json) {
    auto document = summary(*task, variant, flags);
    document["files"] = written;
    print_json(document);
  } else {
    for (const auto& path : written) fmt::print("{}\n", path);
  }
  return 0;
}

}  // namespace

Command task_command() {
  auto flags = std::make_shared<TaskCommandFlags>();
  Command command{.name = "task", .summary = "instances of a task: prompts and their answers"};
  command.description =
      "Instance i depends on the task, its sizes, the variant, the seed and i alone. NAME is a word of rung "
      "task --list, or the path of a task of your own: a .jsonl table of prompts and answers, or a .json "
      "automaton (docs/tasks.md).";
  command.examples = {"rung task eva --n 8 --count 3", "rung task seqcomp --L 2 --m 4 --n1 2 --format jsonl",
                      "rung task retrieval --n 6 --language --format lm-eval --out DIR"};
  command.options = {
      {"NAME", "the task: a word, or the path of a task file", &flags->name, {.forms = kTaskAll}},
      {"--count", "how many instances (10)", &flags->count, {.forms = kTaskAll}},
      {"--start", "number of the first instance (0)", &flags->start, {.forms = kTaskAll}},
      {"--seed", "seed (1)", &flags->seed, {.forms = kTaskAll}},
      {"--variant",
       "uniform, permutation, zipf or adversarial (uniform)",
       &flags->variant,
       {.forms = kTaskForms}},
      {"--format",
       "text, jsonl, npy, lm-eval, or zoology: mqar as Zoology draws it, arrays (text)",
       &flags->format,
       {.choices = {"text", "jsonl", "npy", "lm-eval", "zoology"}, .forms = {kTaskInstances, kTaskZoology}}},
      {"--length", "tokens of an instance (64)", &flags->length, {.forms = {kTaskZoology}}},
      {"--vocab",
       "tokens to choose from: half keys, half values (8192)",
       &flags->vocabulary,
       {.forms = {kTaskZoology}}},
      {"--power",
       "a gap g before a question has weight (g+1)^(power-1) (0.01)",
       &flags->power,
       {.forms = {kTaskZoology}}},
      {"--blank",
       "0 between the questions in place of random tokens",
       &flags->blank,
       {.forms = {kTaskZoology}}},
      {"--out", "folder to write into (standard output)", &flags->out, {.forms = kTaskAll}},
      {"--force", "replace files that exist", &flags->force, {.needs = {"--out"}}},
      {"--language",
       "prompts in plain language, where the task has one",
       &flags->language,
       {.forms = kTaskForms}},
      {"--list", "the tasks and their sizes", &flags->list},
      {"--json", "one JSON document", &flags->json},
  };
  flags->sizes.declare(command, kTaskAll);
  command.form = [flags] {
    return flags->list                  ? kTaskList
           : flags->format == "zoology" ? kTaskZoology
           : flags->json && !flags->out ? kTaskDocument
                                        : kTaskInstances;
  };
  command.run = [flags] { return run_task(*flags); };
  return command;
}

}  // namespace rung::cli
