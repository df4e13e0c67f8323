// rung break: two inputs that a model cannot tell apart though their answers differ.

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/model_task.h"
#include "cli/search_limits.h"
#include "cli/terminal_line.h"
#include "cli/written_files.h"
#include "rung/adversary/attack.h"
#include "rung/adversary/scaling.h"
#include "rung/base/command_line.h"
#include "rung/base/json_fields.h"
#include "rung/base/plural.h"
#include "rung/base/staged_file.h"
#include "rung/ranks/launch.h"
#include "rung/store/store.h"

namespace rung::cli {
namespace {

const std::string kBreakModel = "a model", kBreakScaling = "--scaling", kBreakList = "--list";

struct BreakFlags {
  std::optional<std::string> model;
  std::optional<std::string> task, out, checkpoint, store;
  std::string method = "auto", budget = "10m", memory = "4G", device = "auto";
  std::int64_t seed = 1;
  bool force = false, scaling = false, list = false, json = false;
  TaskFlags sizes;
};

std::string_view label_text(const Certificate& certificate) {
  const EndAlike* pair = claimed_pair(certificate.claim);
  return name_of(pair ? pair->label : ClaimLabel::found);
}

// Long prompts are cut in the middle, around what matters least.
std::string shorten(const std::string& text) {
  constexpr std::size_t kMost = 150;
  return text.size() <= kMost ? text
                              : text.substr(0, kMost / 2) + " ... " + text.substr(text.size() - kMost / 2);
}

void print_claim(const Target& target, const Certificate& certificate) {
  const Task& task = *target.task;
  if (const auto* pair = claimed_pair(certificate.claim)) {
    fmt::print("  first       {} -> {}\n", shorten(task.text(pair->first)),
               task.answer_text(pair->first_answer));
    fmt::print("  second      {} -> {}\n", shorten(task.text(pair->second)),
               task.answer_text(pair->second_answer));
    std::int64_t differing = 0;
    const auto fields = task.fields();
    for (std::int64_t t = 0; t < pair->first.positions; ++t)
      differing += prompt_row(pair->first, fields, t) != prompt_row(pair->second, fields, t);
    fmt::print("  they differ at {} of {}; the model answers {} to both\n", differing,
               counted(pair->first.positions, "position"), task.answer_text(pair->answer));
  } else if (const auto* wrong = std::get_if<WrongAnswerClaim>(&certificate.claim)) {
    fmt::print("  prompt      {} -> {}\n  the model answers {}\n", shorten(task.text(wrong->prompt)),
               task.answer_text(wrong->expected), task.answer_text(wrong->answer));
  } else if (const auto* word = std::get_if<WrongWordClaim>(&certificate.claim)) {
    std::string letters;
    for (const auto letter : word->word) letters += (letters.empty() ? "" : " ") + task.symbol(0, letter);
    fmt::print("  word        {} -> {}, {}\n  the model answers {}\n", shorten(letters), word->expected,
               counted(word->word.size(), "letter"), word->answer);
  }
}

int list_methods(bool json) {
  if (json) {
    nlohmann::ordered_json methods = nlohmann::ordered_json::array();
    for (const auto& method : attack_methods())
      methods.push_back(json_object("name", method.name, "summary", method.summary));
    print_json(json_object("schema", "rung.break-methods/1", "methods", methods));
    return 0;
  }
  for (const auto& method : attack_methods()) fmt::print("{:<22} {}\n", method.name, method.summary);
  return 0;
}

Result<int> scaling(const BreakFlags& flags) {
  RUNG_TRY(const double seconds, parse_duration(flags.budget, "break"));
  ScalingOptions options{
      .method = flags.method, .seconds = seconds, .seed = static_cast<std::uint64_t>(flags.seed)};
  options.stop = interrupted;
  if (!flags.json) {
    fmt::print(
        "method,architecture,layers,bits_per_layer,nominal_bits,n,seed,verdict,evaluations,lg_evaluations,"
        "effective_bits,seconds,tokens\n");
    options.point = [](const ScalingPoint& p) {
      fmt::print("{},\"{}\",{},{},{},{},{},{},{},{:.2f},{},{:.3f},{}\n", p.method, p.architecture, p.layers,
                 p.bits_per_layer, p.nominal_bits, p.n, p.seed, evidence_name(p.verdict), p.evaluations,
                 std::log2(static_cast<double>(std::max<std::uint64_t>(1, p.evaluations))),
                 p.effective_bits ? fmt::format("{:.2f}", *p.effective_bits) : "", p.seconds, p.tokens);
      std::fflush(stdout);
    };
  }
  RUNG_TRY(const auto points, attack_scaling(options));
  if (!flags.json) return 0;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& p : points)
    list.push_back(json_object("method", p.method, "architecture", p.architecture, "layers", p.layers,
                               "bits_per_layer", p.bits_per_layer, "nominal_bits", p.nominal_bits, "n", p.n,
                               "seed", p.seed, "verdict", p.verdict, "evaluations", p.evaluations, "seconds",
                               p.seconds, "effective_bits", p.effective_bits));
  print_json(json_object("schema", "rung.break-scaling/2", "points", list));
  return 0;
}

// What was found, or that nothing was, as a record: a certificate, or the verdict of a search that ended
// without one.
Result<void> keep_record(const BreakFlags& flags, const nlohmann::ordered_json& document, bool certified) {
  RUNG_TRY(const auto store, Store::open(store_path(flags.store)));
  Record record;
  record.kind = certified ? "certificate" : "verdict";
  record.state = RecordState::done;
  record.seed = flags.seed;
  record.device = document["details"].contains("device") ? "cuda" : "cpu";
  nlohmann::ordered_json body = document;
  body.erase("schema");
  body["arch"] = document["architecture"];
  record.body = body.dump();
  RUNG_TRY(const std::string id, store->append(std::move(record)));
  if (!flags.json) fmt::print(stderr, "record {} in {}\n", id, store->path());
  return {};
}

Result<int> run_break(const BreakFlags& flags) {
  if (flags.seed < 0) return fail(ErrorCode::range, "[break] seed = {}; expected at least 0", flags.seed);
  listen_for_interruption();
  if ((flags.list || flags.scaling) && launch().rank != 0) return 0;  // rank 0 alone
  if (flags.list) return list_methods(flags.json);
  if (flags.scaling) return scaling(flags);
  if (!flags.model)
    return fail(ErrorCode::missing, "[break] no model; a weights file expected (or --scaling, --list)");
  SearchOptions options;
  RUNG_TRY(options.seconds, parse_duration(flags.budget, "break"));
  RUNG_TRY(options.memory_bytes, parse_bytes(flags.memory, "break"));
  RUNG_TRY(options.device, parse_search_device(flags.device));
  options.seed = static_cast<std::uint64_t>(flags.seed);
  // Before anything that may differ from machine to machine: the others wait for this one.
  RUNG_TRY(options.ranks, join_ranks());
  // A stream has no place beside it.
  const bool beside = flags.out && *flags.out != kStandardOutput && !std::filesystem::is_other(*flags.out);
  options.checkpoint = flags.checkpoint ? *flags.checkpoint : beside ? *flags.out + ".checkpoint" : "";
  std::shared_ptr<const Task> task;
  {
    RUNG_TRY(const Weights weights, read_weights(*flags.model));
    RUNG_TRY(task, model_task(weights, *flags.model, flags.task, flags.sizes, "break"));
  }
  RUNG_TRY(const Target target, open_target(*flags.model, task));
  RUNG_TRY(const auto layers, resolve(target.weights.architecture));
  if (const MixerShape* mixer = first_without_integers(layers))
    return fail(ErrorCode::unsupported,
                "[break] {} is not evaluated by rung-check: no certificate could be checked",
                form_name(*mixer));
  options.stop = interrupted;
  if (!options.ranks->leads()) {
    help_attack(target, options);
    return 0;
  }
  options.log = [](const std::string& line) { fmt::print(stderr, "rung: [ranks] {}\n", line); };
  if (!target.exact() && !flags.json)
    fmt::print(stderr,
               "a float model: only wrong answers are searched; `rung quantise` gives it integers, whose "
               "states can collide\n");
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  options.progress = [&](const SearchProgress& progress) {
    show_search_progress(progress, elapsed(), "evaluations");
  };
  RUNG_TRY(AttackOutcome outcome, attack(target, flags.method, options));
  if (has_terminal_line() && elapsed() >= 1) clear_terminal_line();

  if (outcome.certificate) {
    outcome.certificate->notes["method"] = outcome.method;
    outcome.certificate->notes["architecture"] = format_spelled_stack(target.weights.architecture.stack);
    if (flags.out) {
      if (const auto written = write_text(*flags.out, certificate_text(*outcome.certificate), flags.force);
          !written) {
        // What hours of search found is not lost with the disk that fills meanwhile.
        fmt::print("{}", certificate_text(*outcome.certificate));
        return fail(ErrorCode::io, "{}; the certificate stands on standard output instead",
                    written.error().message);
      }
      if (!flags.checkpoint)
        for (const auto& path : checkpoint_paths(options.checkpoint))
          std::remove(path.c_str());  // the search is over
    }
  }
  std::string resumable;  // what the same command would resume from
  if (!outcome.certificate && !options.checkpoint.empty())
    for (const auto& path : checkpoint_paths(options.checkpoint))
      if (resumable.empty() && std::filesystem::exists(path)) resumable = path;
  std::optional<std::string_view> kind, label;
  if (outcome.certificate) {
    kind = claim_kind(outcome.certificate->claim);
    label = label_text(*outcome.certificate);
  }
  const auto document = json_object(
      "schema", "rung.break/2", "model", *flags.model, "architecture",
      format_spelled_stack(target.weights.architecture.stack), "task", task->name(), "size", task->size(),
      "verdict", outcome.verdict, "method", outcome.method, "reason", outcome.reason, "nominal_bits",
      outcome.nominal_bits, "effective_bits", outcome.effective_bits, "evaluations", outcome.evaluations,
      "seconds", outcome.seconds, "memory_bytes", outcome.memory_bytes, "details", outcome.details, "kind",
      kind, "label", label, "certificate", outcome.certificate ? flags.out : std::nullopt, "checkpoint",
      resumable.empty() ? std::nullopt : std::optional(resumable));
  if (flags.store) {
    RUNG_CHECK(keep_record(flags, document, outcome.certificate.has_value()));
  }
  if (flags.json) {
    print_json(document);
    return 0;
  }
  fmt::print("{} on {} {}: {}\n", *flags.model, task->name(), task->size().dump(),
             evidence_name(outcome.verdict));
  fmt::print("  why         {}\n", outcome.reason);
  if (outcome.nominal_bits > 0)
    fmt::print("  state       {} on paper{}\n", counted(outcome.nominal_bits, "bit"),
               outcome.effective_bits ? fmt::format(", {:.1f} effective", *outcome.effective_bits) : "");
  fmt::print("  cost        {}, {:.2f} s\n", counted(outcome.evaluations, "evaluation"), outcome.seconds);
  if (outcome.certificate) {
    print_claim(target, *outcome.certificate);
    fmt::print("  certificate {} ({})\n", claim_kind(outcome.certificate->claim),
               label_text(*outcome.certificate));
    if (flags.out && *flags.out == kStandardOutput)
      fmt::print("  written to standard output\n");
    else if (flags.out && (target.exact() || target.weights.output.kind != OutputSpec::Kind::vector))
      fmt::print("  verify      rung-check {} {}\n", shell_word(*flags.out), shell_word(*flags.model));
    else if (flags.out)
      fmt::print(
          "  written to {}; rung-check does not evaluate vectors of float weights, rung eval shows the same "
          "answer\n",
          *flags.out);
    else
      fmt::print("  not written: --out cert.json writes it\n");
  }
  if (!resumable.empty())
    fmt::print("  to resume, run the same command again; the search is kept in {}\n", resumable);
  return 0;
}

}  // namespace

Command break_command() {
  auto flags = std::make_shared<BreakFlags>();
  Command command{.name = "break",
                  .summary = "two inputs that a model cannot tell apart though their answers differ"};
  command.description =
      "Searches a weights file for two inputs that end in the same state or activations although the task's "
      "answers differ, and writes a certificate that rung-check verifies with code of its own "
      "(docs/break.md, docs/certificate_v1.md). --method auto chooses by the model's structure and size and "
      "says why; every method can be named. The verdict is refuted, unverified (the budget ended, or nothing "
      "applies) or verified (every instance is right). A model with float weights is only searched for wrong "
      "answers. Under mpirun or srun the ranks share a search (docs/cluster.md). Ctrl-C and a spent budget "
      "keep the search in a checkpoint beside --out; the same command resumes it.";
  command.examples = {"rung break model.safetensors --task eva --n 16 --out cert.json",
                      "rung break model.safetensors --method distinguished-points --budget 2m",
                      "rung break --scaling --method hierarchical --budget 1m > scaling.csv",
                      "rung break --list"};
  command.options = {
      {"MODEL", "the weights file", &flags->model, {.forms = {kBreakModel}, .file = FileUse::read}},
      {"--task", "the task (the file's own)", &flags->task, {.forms = {kBreakModel}}},
      {"--budget", "wall clock: 90s, 10m, 2h (10m)", &flags->budget, {.forms = {kBreakModel, kBreakScaling}}},
      {"--method",
       "auto, or a name of --list (auto)",
       &flags->method,
       {.forms = {kBreakModel, kBreakScaling}}},
      {"--out", "where the certificate goes", &flags->out, {.forms = {kBreakModel}, .file = FileUse::write}},
      {"--force", "replace a file that exists", &flags->force, {.needs = {"--out"}}},
      {"--store",
       "append a record of the certificate or verdict to this store",
       &flags->store,
       {.forms = {kBreakModel}, .file = FileUse::keep}},
      {"--memory", "at most this much: 512M, 4G (4G)", &flags->memory, {.forms = {kBreakModel}}},
      {"--device",
       "where states are searched: cpu, cuda or auto (auto)",
       &flags->device,
       {.forms = {kBreakModel}}},
      {"--seed", "seed (1)", &flags->seed, {.forms = {kBreakModel, kBreakScaling}}},
      {"--checkpoint",
       "where a search that was stopped is kept (OUT.checkpoint)",
       &flags->checkpoint,
       {.forms = {kBreakModel}, .file = FileUse::keep}},
      {"--scaling",
       "no model: measure cost against bits and layers, as CSV",
       &flags->scaling,
       {.excludes = {"--list"}}},
      {"--list", "the methods", &flags->list},
      {"--json", "one JSON document", &flags->json},
  };
  flags->sizes.declare(command, {kBreakModel});
  command.form = [flags] { return flags->list ? kBreakList : flags->scaling ? kBreakScaling : kBreakModel; };
  command.run = [flags] { return run_break(*flags); };
  command.spreads = true;
  return command;
}

}  // namespace rung::cli
