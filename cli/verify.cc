// rung verify: a model of an automaton task, proved right at every length or refuted by a shortest word.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/model_task.h"
#include "cli/search_limits.h"
#include "cli/written_files.h"
#include "rung/adversary/forced_word.h"
#include "rung/adversary/product_proof.h"
#include "rung/base/command_line.h"
#include "rung/base/json_fields.h"
#include "rung/base/plural.h"
#include "rung/base/staged_file.h"

namespace rung::cli {
namespace {

constexpr int kVerifyProved = 0, kVerifyRefuted = 1, kVerifyBounded = 3;  // exit codes

struct VerifyFlags {
  std::string model;
  std::optional<std::string> task, out, checkpoint, quantised;
  std::string budget = "10m", memory = "4G";
  std::optional<std::int64_t> depth;
  bool force = false, json = false;
  TaskFlags sizes;
};

// Long words are cut in the middle.
std::string word_text(const std::vector<std::string>& letters) {
  constexpr std::size_t kEnds = 24;
  std::string text;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    if (letters.size() > 2 * kEnds && i == kEnds) {
      text += fmt::format(" ... ({} more) ...", letters.size() - 2 * kEnds);
      i = letters.size() - kEnds;
    }
    text += (text.empty() ? "" : " ") + letters[i];
  }
  return text;
}

Result<int> run_verify(const VerifyFlags& flags) {
  listen_for_interruption();
  SearchOptions options;
  RUNG_TRY(options.seconds, parse_duration(flags.budget, "verify"));
  RUNG_TRY(options.memory_bytes, parse_bytes(flags.memory, "verify"));
  if (flags.depth && *flags.depth < 1)
    return fail(ErrorCode::range, "[verify] depth = {}; expected at least 1", *flags.depth);
  if (flags.sizes.given_sizes().contains("n"))
    return fail(ErrorCode::unsupported,
                "[verify] --n is not used: words of every length, or of up to --depth, are tried");
  if (flags.sizes.given_options().contains("read"))
    return fail(ErrorCode::unsupported,
                "[verify] --read is not used: the answer is checked after every letter");
  const bool beside = flags.out && *flags.out != kStandardOutput && !std::filesystem::is_other(*flags.out);
  options.checkpoint = flags.checkpoint ? *flags.checkpoint : beside ? *flags.out + ".checkpoint" : "";
  std::shared_ptr<const Task> task;
  {
    RUNG_TRY(const Weights weights, read_weights(flags.model));
    RUNG_TRY(task, model_task(weights, flags.model, flags.task, flags.sizes, "verify"));
  }
  std::optional<Precision> format;
  if (flags.quantised) {
    RUNG_TRY(format, parse_precision(*flags.quantised));
    if (format->format == NumberFormat::fixed)
      return fail(ErrorCode::unsupported,
                  "[verify] {} is not a float format; fp32, bf16, fp16, e4m3 or e5m2 expected",
                  *flags.quantised);
  }
  RUNG_TRY(const ProductProblem problem, open_product(flags.model, task, flags.depth, format));
  options.stop = interrupted;
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  options.progress = [&](const SearchProgress& progress) {
    show_search_progress(progress, elapsed(), "edges");
  };
  if (problem.finite && !problem.floats && !flags.json) {
    const ProductMemory memory = product_memory(problem.target, problem.task, options);
    fmt::print(stderr, "at most {}, {:.0f} MB\n", counted(memory.nodes, "product state"),
               static_cast<double>(memory.bytes) / 1e6);
  }
  RUNG_TRY(const ProductOutcome outcome, search(problem, options, flags.depth));
  if (isatty(STDERR_FILENO) && elapsed() >= 1) fmt::print(stderr, "\r\033[K");

  const auto certificate = product_certificate(problem, outcome);
  if (certificate && flags.out)
    RUNG_CHECK(write_text(*flags.out, certificate_text(*certificate), flags.force));
  const bool ended = outcome.verdict != ProductVerdict::bounded;
  if (ended && !flags.checkpoint && !options.checkpoint.empty()) std::remove(options.checkpoint.c_str());
  const bool resumable = !ended && !options.checkpoint.empty() && std::filesystem::exists(options.checkpoint);
  std::optional<ForcedWord> forced;
  if (outcome.verdict == ProductVerdict::refuted && !problem.floats) forced = forced_word(problem.target);
  std::vector<std::string> letters;
  for (const auto letter : outcome.word) letters.push_back(task->symbol(0, letter));

  const int code = outcome.verdict == ProductVerdict::proved    ? kVerifyProved
                   : outcome.verdict == ProductVerdict::refuted ? kVerifyRefuted
                                                                : kVerifyBounded;
  if (flags.json) {
    nlohmann::ordered_json because;
    if (forced)
      because = json_object("theorem", forced->theorem, "status", forced->status, "letters",
                            forced->powers ? std::optional(forced->powers->letters) : std::nullopt);
    const bool refuted = outcome.verdict == ProductVerdict::refuted;
    const auto where = [](bool there, const auto& value) {
      return there ? std::optional(value) : std::nullopt;
    };
    print_json(json_object(
        "schema", "rung.verify/1", "model", flags.model, "architecture",
        format_spelled_stack(problem.target.weights.architecture.stack), "task", task->name(), "quantised",
        flags.quantised, "outcome", outcome.verdict, "reason", outcome.reason, "states", outcome.states,
        "edges", outcome.edges, "depth", outcome.depth, "word", where(refuted, outcome.word), "shortest",
        where(refuted, outcome.shortest), "answer", where(refuted, outcome.answer), "expected",
        where(refuted, outcome.expected), "forced", because, "state_bits",
        where(problem.finite && !problem.floats, outcome.state_bits), "seconds", outcome.seconds,
        "memory_bytes", outcome.memory_bytes, "certificate", certificate ? flags.out : std::nullopt,
        "checkpoint", where(resumable, options.checkpoint)));
    return code;
  }
  fmt::print("{} on {}: {}\n", flags.model, task->name(), name_of(outcome.verdict));
  switch (outcome.verdict) {
    case ProductVerdict::proved:
      fmt::print("  right at every length, proved for this file{}\n",
                 flags.quantised
                     ? fmt::format(" in {}, in this evaluator's order of operations", *flags.quantised)
                     : "");
      break;
    case ProductVerdict::refuted:
      fmt::print("  {} wrong word, of {}: {}\n", outcome.shortest ? "shortest" : "a",
                 counted(outcome.word.size(), "letter"), word_text(letters));
      if (!outcome.shortest) {
        fmt::print("  every word of up to {} is answered rightly; of longer ones, this one was found\n",
                   counted(outcome.depth, "letter"));
        fmt::print("  why         {}\n", outcome.reason);
      }
      fmt::print("  the model answers {}, the task {}\n", outcome.answer, outcome.expected);
      if (forced)
        fmt::print("  forced      by {} [{}]: no weights of these shapes are right {}\n", forced->theorem,
                   status_name(forced->status),
                   forced->powers
                       ? fmt::format("on all words of up to {}", counted(forced->powers->letters, "letter"))
                       : "at every length");
      break;
    case ProductVerdict::bounded:
      fmt::print("  right for every word of up to {}; beyond, nothing is known\n",
                 counted(outcome.depth, "letter"));
      fmt::print("  why         {}\n", outcome.reason);
      break;
  }
  fmt::print("  states      {} reachable, {} compared{}\n", outcome.states, counted(outcome.edges, "edge"),
             problem.finite && !problem.floats
                 ? fmt::format("; {} of state", counted(outcome.state_bits, "bit"))
                 : "");
  if (certificate && flags.out) {
    if (*flags.out == kStandardOutput)
      fmt::print("  certificate written to standard output\n");
    else
      fmt::print("  verify      rung-check {} {}\n", shell_word(*flags.out), shell_word(flags.model));
  } else if (certificate) {
    fmt::print("  certificate not written: say --out cert.json\n");
  }
  if (resumable)
    fmt::print("  to resume, run the same command again; the search is kept in {}\n", options.checkpoint);
  return code;
}

}  // namespace

Command verify_command() {
  auto flags = std::make_shared<VerifyFlags>();
  Command command{
      .name = "verify",
      .summary = "a model of an automaton task: right at every length, or the shortest wrong word"};
  command.description =
      "A p-bit recurrent model without positions is a finite automaton. Its product with the task's "
      "automaton is searched breadth first and the answer is compared on every edge (docs/verify.md). The "
      "outcome is proved (right at every length; exit code 0), refuted (the shortest word that is answered "
      "wrongly; exit code 1) or bounded (right for every word of up to so many letters, when the budget, the "
      "memory or --depth ended the search; exit code 3). A model whose memory grows, such as full attention, "
      "is searched up to --depth letters. Certificates of the first two are checked by rung-check with an "
      "exploration of its own.";
  command.examples = {"rung verify parity.safetensors --task parity --out cert.json",
                      "rung verify model.safetensors --task machine.json --budget 2m --memory 2G",
                      "rung verify full.safetensors --task parity --depth 12"};
  command.options = {
      {"MODEL", "the weights file", &flags->model, {.required = true, .file = FileUse::read}},
      {"--task", "an automaton task, or an automaton file (the file's own)", &flags->task},
      {"--quantised",
       "as reals rounded to a float format: fp32, bf16, fp16, e4m3, e5m2; no certificate",
       &flags->quantised,
       {.excludes = {"--out", "--checkpoint"}}},
      {"--depth", "words of at most this many letters", &flags->depth},
      {"--budget", "wall clock: 90s, 10m, 2h (10m)", &flags->budget},
      {"--memory", "at most this much: 512M, 4G (4G)", &flags->memory},
      {"--out", "where the certificate goes", &flags->out, {.file = FileUse::write}},
      {"--force", "replace a file that exists", &flags->force, {.needs = {"--out"}}},
      {"--checkpoint",
       "where a search that was stopped is kept (OUT.checkpoint)",
       &flags->checkpoint,
       {.file = FileUse::keep}},
      {"--json", "one JSON document", &flags->json},
  };
  flags->sizes.declare(command, {});
  command.run = [flags] { return run_verify(*flags); };
  return command;
}

}  // namespace rung::cli
