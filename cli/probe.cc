// rung probe: questions for a language model that somebody has, the script that asks them, and what its answers say
// beside the theory.
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/task_flags.h"
#include "cli/text_table.h"
#include "rung/base/json_text.h"
#include "rung/base/staged_file.h"
#include "rung/evaluation/label.h"
#include "rung/evaluation/probe.h"
#include "rung/theory/bound_query.h"

namespace rung::cli {
namespace {

const std::string kProbeWrite = "a task", kProbeJudge = "--judge";
constexpr std::int64_t kMostProbePrompts = 100'000, kMostProbeShots = 64;
constexpr std::size_t kMostProbeBytes = kMaxJsonBytes;  // what --judge reads again

constexpr const char* kProbeCaveat =
    "An accuracy is about this model on these prompts, in its tokenizer and after its training: a low one "
    "shows nothing about what the architecture can do, a high one nothing about other prompts. Verdict, "
    "horizon and ceiling are about the task in its own tokens, the worst prompt and the best weights.";

struct ProbeFlags {
  std::string name;
  std::vector<std::string> sweep;
  std::int64_t count = 50, seed = 1, shots = 0;
  std::string variant = "uniform";
  std::optional<std::string> out, judge, prompts, config;
  bool force = false, json = false;
  TaskFlags sizes;
};

Result<int> write_probe(const ProbeFlags& flags) {
  if (flags.name.empty())
    return fail(ErrorCode::missing, "[probe] no task named; rung task --list shows them");
  if (!flags.out) return fail(ErrorCode::missing, "[probe] no folder named; expected --out DIR");
  if (flags.count < 1) return fail(ErrorCode::range, "[probe] count = {}; expected at least 1", flags.count);
  if (flags.seed < 0) return fail(ErrorCode::range, "[probe] seed = {}; expected at least 0", flags.seed);
  if (flags.shots < 0 || flags.shots > kMostProbeShots)
    return fail(ErrorCode::range, "[probe] shots = {}; expected 0 to {}", flags.shots, kMostProbeShots);
  RUNG_TRY(const Variant variant, parse_variant(flags.variant));
  RUNG_TRY(const auto sizes, flags.sizes.sweep(flags.sweep, "probe"));
  if (static_cast<std::int64_t>(sizes.size()) > kMostProbePrompts / flags.count)
    return fail(ErrorCode::resource, "[probe] {} sizes of {} prompts; expected at most {} prompts",
                sizes.size(), flags.count, kMostProbePrompts);
  const ProbeOptions options{.variant = variant,
                             .seed = static_cast<std::uint64_t>(flags.seed),
                             .count = static_cast<std::uint64_t>(flags.count),
                             .shots = static_cast<std::uint64_t>(flags.shots)};
  std::string rows;
  std::uint64_t prompts = 0;
  for (const TaskFlags& size : sizes) {
    RUNG_TRY(const auto task, size.make(flags.name));
    // A position is written as at least one byte, and once more in every solved example.
    if (task->prompt_length() > static_cast<std::int64_t>(kMostProbeBytes) / flags.count / (flags.shots + 1))
      return fail(ErrorCode::resource,
                  "[probe] prompts of {} tokens make a file of more than 64 MiB; expected fewer "
                  "or shorter ones",
                  task->prompt_length());
    RUNG_TRY(const std::string part, probe_prompts(*task, options, prompts));
    rows += part;
    prompts += options.count;
    if (rows.size() > kMostProbeBytes)
      return fail(ErrorCode::resource,
                  "[probe] the prompts have more than 64 MiB; expected fewer or shorter ones");
  }
  std::error_code error;
  std::filesystem::create_directories(*flags.out, error);
  if (error) return fail(ErrorCode::io, "[probe] {}: {}", *flags.out, error.message());
  const std::filesystem::path folder(*flags.out);
  RUNG_TRY(auto data, StagedFile::open((folder / "prompts.jsonl").string(), flags.force));
  RUNG_TRY(auto script, StagedFile::open((folder / "run.py").string(), flags.force));
  RUNG_CHECK(data.write(rows));
  RUNG_CHECK(script.write(kProbeScript));
  RUNG_CHECK(data.commit());
  RUNG_CHECK(script.commit());
  if (flags.json)
    print_json({{"schema", "rung.probe/1"}, {"prompts", prompts}, {"files", {data.path(), script.path()}}});
  else
    fmt::print("{}: {} prompts\n{}: python3 {} MODEL asks them\n", data.path(), prompts, script.path(),
               script.path());
  return 0;
}

// One group of answers, and what theory says where an architecture is named.
struct JudgedGroup {
  ProbeGroup group;
  std::unique_ptr<Task> task;
  std::optional<Verdict> verdict;
  Label label;
};

Result<JudgedGroup> judge_group(const ProbeGroup& group, const ChosenArchitecture* chosen) {
  JudgedGroup judged{.group = group};
  RUNG_TRY(judged.task, make_task(group.task, group.sizes, group.options));
  if (!chosen) return judged;
  BoundQuery query{.task = group.task, .sizes = group.sizes};
  query.form = {.options = group.options, .variant = group.variant};
  RUNG_TRY(BoundReport report, answer_query(query, *chosen));
  judged.verdict = std::move(report.verdicts.front());
  judged.label = label_of(report.setting, *judged.task, group.variant, *judged.verdict);
  return judged;
}

std::string size_words(const SizeList& sizes) {
  std::string out;
  for (const auto& [name, size] : sizes)
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, size.value);
  return out;
}

void print_judged(const std::vector<JudgedGroup>& judged, bool theory) {
  std::vector<TextColumn> table;
  const auto column = [&](const std::string& title, bool left, const auto& text) {
    table.push_back({.title = title, .cells = {}, .left = left});
    for (const JudgedGroup& one : judged) table.back().cells.push_back(text(one));
  };
  column("task", true,
         [](const JudgedGroup& one) { return one.group.task + " " + size_words(one.task->size()); });
  column("answers", false, [](const JudgedGroup& one) {
    return one.group.missing == 0
               ? std::to_string(one.group.answered)
               : fmt::format("{} of {}", one.group.answered, one.group.answered + one.group.missing);
  });
  column("accuracy", false, [](const JudgedGroup& one) {
    return one.group.answered == 0 ? "none" : fmt::format("{:.3f}", one.group.accuracy());
  });
  column("95 %", true, [](const JudgedGroup& one) {
    const ShareInterval interval = one.group.interval();
    return fmt::format("{:.3f} to {:.3f}", interval.low, interval.high);
  });
  column("table bits", false, [](const JudgedGroup& one) {
    const auto bits = one.group.answered == 0
                          ? std::nullopt
                          : table_bits(*one.task, one.group.variant, one.group.interval().low);
    return bits ? fmt::format("{:.0f}", std::floor(*bits)) : std::string("-");
  });
  if (theory) {
    column("ceiling", false, [](const JudgedGroup& one) { return fmt::format("{:.4f}", one.label.ceiling); });
    column("horizon", false, [](const JudgedGroup& one) {
      return one.verdict->horizon ? one.verdict->horizon->str() : std::string("-");
    });
    column("label", true, [](const JudgedGroup& one) {
      return fmt::format("{} {}", label_name(one.label.letter), outcome_name(one.verdict->outcome));
    });
  }
  print_table(table);
  fmt::print("\n");
  for (std::size_t i = 0; theory && i < judged.size(); ++i)
    print_labelled(fmt::format("{}: ", size_words(judged[i].task->size())), judged[i].label.reason);
  if (theory) fmt::print("\n");
  print_labelled("", kProbeCaveat);
  print_labelled("",
                 "Table bits: what the lower end of the interval needs of the table that was asked about, "
                 "wherever the model had it.");
}

void print_judged_json(const std::vector<JudgedGroup>& judged, bool theory) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const JudgedGroup& one : judged) {
    const ProbeGroup& group = one.group;
    nlohmann::ordered_json row = {{"task", group.task}, {"size", one.task->size()}};
    for (const auto& [name, word] : one.task->options()) row["options"][name] = word;
    const ShareInterval interval = group.interval();
    row.update({{"variant", variant_name(group.variant)},
                {"answered", group.answered},
                {"missing", group.missing},
                {"right", group.right},
                {"accuracy", nullptr},
                {"interval", {interval.low, interval.high}},
                {"table_bits", nullptr}});
    if (group.answered > 0) {
      row["accuracy"] = group.accuracy();
      if (const auto bits = table_bits(*one.task, group.variant, interval.low)) row["table_bits"] = *bits;
    }
    if (theory) {
      row["label"] = label_name(one.label.letter);
      row["label_reason"] = one.label.reason;
      row["ceiling"] = one.label.ceiling;
      row["ceiling_reason"] = one.label.ceiling_reason;
      row["verdict"] = verdict_json(*one.verdict);
    }
    rows.push_back(row);
  }
  print_json({{"schema", "rung.probe-judgement/1"}, {"rows", rows}, {"does_not_show", kProbeCaveat}});
}

Result<int> judge_probe(const ProbeFlags& flags) {
  const std::string beside = (std::filesystem::path(*flags.judge).parent_path() / "prompts.jsonl").string();
  RUNG_TRY(const std::string prompts, read_text_file(flags.prompts.value_or(beside), "probe"));
  RUNG_TRY(const std::string answers, read_text_file(*flags.judge, "probe"));
  RUNG_TRY(const auto groups, judge_answers(prompts, answers));
  if (groups.empty())
    return fail(ErrorCode::parse, "[probe] {} holds no prompts", flags.prompts.value_or(beside));
  std::optional<ChosenArchitecture> chosen;
  if (flags.config) {
    RUNG_TRY(chosen, ArchitectureChoice{.line = *flags.config}.choose());
  }
  std::vector<JudgedGroup> judged;
  for (const ProbeGroup& group : groups) {
    RUNG_TRY(JudgedGroup one, judge_group(group, chosen ? &*chosen : nullptr));
    judged.push_back(std::move(one));
  }
  if (flags.json)
    print_judged_json(judged, chosen.has_value());
  else
    print_judged(judged, chosen.has_value());
  return 0;
}

}  // namespace

Command probe_command() {
  auto flags = std::make_shared<ProbeFlags>();
  Command command{.name = "probe", .summary = "ask a language model that you have, and judge its answers"};
  command.description =
      "Writes questions of a task (in plain language where the task has it, else its tokens) and one script "
      "that asks a model of transformers; --judge puts the accuracy of its answers, by size and with "
      "intervals, beside what theory says about its architecture (docs/probe.md).";
  command.examples = {"rung probe retrieval --sweep n=16,64,256 --out DIR",
                      "rung probe --judge DIR/answers.jsonl --config config.json"};
  const std::vector<std::string> write = {kProbeWrite}, judge = {kProbeJudge};
  command.options = {
      {"TASK", "the task: a word", &flags->name, {.forms = write}},
      {"--sweep",
       "a size and its values, n=16,64,256; repeated, every combination",
       &flags->sweep,
       {.forms = write}},
      {"--count", "prompts of each size (50)", &flags->count, {.forms = write}},
      {"--shots", "solved examples in front of each (0)", &flags->shots, {.forms = write}},
      {"--seed", "seed (1)", &flags->seed, {.forms = write}},
      {"--variant", "uniform, permutation, zipf or adversarial (uniform)", &flags->variant, {.forms = write}},
      {"--out", "folder for prompts.jsonl and run.py", &flags->out, {.forms = write}},
      {"--force", "replace files that exist", &flags->force, {.forms = write}},
      {"--judge",
       "what the model answered, a line {\"id\", \"answer\"} each",
       &flags->judge,
       {.file = FileUse::read}},
      {"--prompts",
       "what it was asked (prompts.jsonl beside the answers)",
       &flags->prompts,
       {.forms = judge, .file = FileUse::read}},
      {"--config",
       "its config.json, or an architecture line: adds what theory says",
       &flags->config,
       {.forms = judge}},
      {"--json", "one JSON document", &flags->json},
  };
  flags->sizes.declare(command, write);
  command.form = [flags] { return flags->judge ? kProbeJudge : kProbeWrite; };
  command.run = [flags] { return flags->judge ? judge_probe(*flags) : write_probe(*flags); };
  return command;
}

}  // namespace rung::cli
