// rung protocol: a model as a communication protocol, its bits counted and its activations compared with the
// machine's.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/model_task.h"
#include "cli/prompt_input.h"
#include "cli/text_table.h"
#include "cli/written_files.h"
#include "rung/base/plural.h"
#include "rung/evaluation/evaluation.h"
#include "rung/protocol/transcript_json.h"
#include "rung/spec/accounting.h"

namespace rung::cli {
namespace {

constexpr std::size_t kShownMessages = 40;
constexpr std::size_t kShownPlayers = 40;
constexpr std::size_t kShownTokens = 16;

struct ProtocolFlags {
  std::string model, form = "auto", variant = "uniform";
  std::optional<std::string> task, input, trace;
  std::optional<std::int64_t> cut, sum_bits, index;
  std::int64_t seed = 1;
  bool force = false, json = false;
  TaskFlags sizes;
};

// The titles, then the rows.
void print_rows(const std::vector<std::vector<std::string>>& rows) {
  std::vector<TextColumn> table;
  for (std::size_t c = 0; c < rows[0].size(); ++c) {
    table.push_back({.title = rows[0][c], .cells = {}, .left = true});
    for (std::size_t r = 1; r < rows.size(); ++r) table.back().cells.push_back(rows[r][c]);
  }
  print_table(table);
}

void print_players(const Transcript& transcript, const Task& task, const Prompt& prompt) {
  std::vector<std::vector<std::string>> rows{{"player", "positions", "owns", "tokens"}};
  for (std::size_t i = 0; i < std::min(transcript.players.size(), kShownPlayers); ++i) {
    const auto& player = transcript.players[i];
    const std::int64_t shown = std::min(player.size(), static_cast<std::int64_t>(kShownTokens));
    auto tokens =
        fmt::format("{}", fmt::join(token_symbols(task, prompt, player.first, player.first + shown), " "));
    if (shown < player.size()) tokens += " ...";
    rows.push_back({player.name,
                    player.size() == 1 ? std::to_string(player.first)
                                       : fmt::format("{}..{}", player.first, player.end - 1),
                    player.owns, tokens});
  }
  print_rows(rows);
  if (transcript.players.size() > kShownPlayers)
    fmt::print("... {} more players\n", transcript.players.size() - kShownPlayers);
}

void print_messages(const Transcript& transcript) {
  std::vector<std::vector<std::string>> rows{{"layer", "from", "to", "what", "tokens", "numbers", "bits"}};
  std::size_t left_out = 0;
  for (const auto& message : transcript.messages) {
    if (!is_charged(message.kind) && message.kind != MessageKind::tokens) continue;
    if (rows.size() > kShownMessages) {
      ++left_out;
      continue;
    }
    rows.push_back(
        {std::to_string(message.epoch), transcript.players[static_cast<std::size_t>(message.from)].name,
         message.to == kLaterPlayers ? "later"
                                     : transcript.players[static_cast<std::size_t>(message.to)].name,
         std::string(message_kind_name(message.kind)),
         message.tokens > 0 ? std::to_string(message.tokens) : "", std::to_string(message.numbers),
         std::to_string(message.bits)});
  }
  print_rows(rows);
  if (left_out > 0) fmt::print("... {} (--json has them)\n", counted(left_out, "more message"));
}

void print_totals(const Transcript& transcript) {
  std::vector<std::vector<std::string>> rows{{"layer", "", "mixer", "bits", "formula"}};
  for (std::size_t layer = 0; layer < transcript.epochs.size(); ++layer) {
    const auto& epoch = transcript.epochs[layer];
    std::string texts;
    for (const auto& term : epoch.terms)
      texts += (texts.empty() ? "" : "; ") + fmt::format("{} = {}", term.text, term.bits);
    rows.push_back({std::to_string(layer), epoch.letters, epoch.mixer, std::to_string(epoch.charged_bits),
                    texts.empty() ? "nothing is sent" : texts});
  }
  print_rows(rows);
  fmt::print("total {}; the formula says {}: {}\n", counted(transcript.charged_bits, "bit"),
             transcript.formula_bits, transcript.counts_equal ? "equal" : "NOT EQUAL");
  if (transcript.asked_bits > 0)
    fmt::print("asked: {} of queries and selections, heard and forgotten, not charged\n",
               counted(transcript.asked_bits, "bit"));
  if (transcript.read_bits > 0)
    fmt::print("read: {}, the keys and values of selected tokens, beside the formula\n",
               counted(transcript.read_bits, "bit"));
}

void print_transcript(const Transcript& transcript, const TranscriptSubject& subject,
                      const std::string& pattern) {
  fmt::print("{} as a protocol on {} {}: pattern {}, {} players ({})\n", subject.model, subject.task.name(),
             subject.task.size().dump(), pattern.empty() ? "without attention" : pattern,
             transcript.players.size(), protocol_form_name(transcript.form));
  for (const auto& note : transcript.notes) fmt::print("note: {}\n", note);
  fmt::print("\n");
  print_players(transcript, subject.task, subject.prompt);
  fmt::print("\n");
  print_messages(transcript);
  fmt::print("\n");
  print_totals(transcript);
  if (transcript.equal_rows)
    fmt::print("activations: equal to the machine's bit for bit ({} of {})\n",
               counted(transcript.rows_compared, "row"),
               counted(subject.weights.architecture.dimensions.width, "number"));
  else
    fmt::print(
        "activations: NOT EQUAL, first at layer {}, position {}, coordinate {}: {} against the machine's "
        "{}\n",
        transcript.first_difference->layer, transcript.first_difference->position,
        transcript.first_difference->coordinate, transcript.first_difference->protocol,
        transcript.first_difference->machine);
  fmt::print("answer {}; the task's is {}\n", fmt::join(transcript.answer, " "),
             fmt::join(transcript.reference, " "));
}

Result<Prompt> prompt_of(const ProtocolFlags& flags, const Task& task) {
  if (flags.seed < 0) return fail(ErrorCode::range, "[protocol] seed = {}; expected at least 0", flags.seed);
  if (flags.input) return read_prompt(*flags.input, task, flags.index);
  if (flags.index && *flags.index < 0)
    return fail(ErrorCode::range, "[protocol] index = {}; expected at least 0", *flags.index);
  RUNG_TRY(const Variant variant, parse_variant(flags.variant));
  if (!task.supports(variant))
    return fail(ErrorCode::unsupported, "[protocol] {} at this size has no {} instances", task.name(),
                flags.variant);
  return task
      .generate(variant, static_cast<std::uint64_t>(flags.seed),
                static_cast<std::uint64_t>(flags.index.value_or(0)))
      .prompt;
}

Result<int> run_protocol(const ProtocolFlags& flags) {
  RUNG_TRY(const ProtocolForm form, parse_protocol_form(flags.form));
  RUNG_TRY(const Weights weights, read_weights(flags.model));
  RUNG_TRY(const auto task, model_task(weights, flags.model, flags.task, flags.sizes, "protocol"));
  RUNG_CHECK(check_fit(weights, *task));
  if (task->prompt_length() > kMaxProtocolNumbers)
    return fail(ErrorCode::resource, "[protocol] a prompt of {} positions; at most {} expected",
                task->prompt_length(), kMaxProtocolNumbers);
  RUNG_TRY(const Prompt prompt, prompt_of(flags, *task));
  ProtocolOptions options{.form = form, .cut = flags.cut};
  if (flags.sum_bits) {
    if (*flags.sum_bits < 1 || *flags.sum_bits > kMaxProtocolSumBits)
      return fail(ErrorCode::range, "[protocol] --sum-bits {}; expected 1 to {}", *flags.sum_bits,
                  kMaxProtocolSumBits);
    options.sum_bits = static_cast<int>(*flags.sum_bits);
  }
  RUNG_TRY(const Transcript transcript, run_protocol(weights, *task, prompt, options));
  const TranscriptSubject subject{flags.model, weights, *task, prompt, options.sum_bits};
  if (flags.trace) {
    RUNG_CHECK(write_text(*flags.trace, trace_json(transcript, subject).dump(1) + "\n", flags.force));
  }
  if (flags.json) {
    auto document = transcript_json(transcript, subject);
    if (flags.trace) document["trace"] = *flags.trace;
    print_json(document);
  } else {
    RUNG_TRY(const auto shapes, resolve(weights.architecture));
    print_transcript(transcript, subject, fold_pattern(account(weights.architecture, shapes, {}).layers));
    if (flags.trace) fmt::print("{}\n", *flags.trace);
  }
  return transcript.equal_rows && transcript.counts_equal ? 0 : 1;
}

}  // namespace

Command protocol_command() {
  auto flags = std::make_shared<ProtocolFlags>();
  Command command{.name = "protocol",
                  .summary = "a model as a communication protocol: who sends how many bits"};
  command.description =
      "Spreads the prompt over players who own consecutive positions and computes the model from their own "
      "tokens and counted messages alone (docs/protocol.md): full layers send partial softmax sums, "
      "recurrent layers hand their state on, sparse layers publish compressed blocks. Prints every message, "
      "the totals against the theorem's formula, and whether the activations equal the exact machine's bit "
      "for bit. Integer weights only.\n\n"
      "Exit code 1 says that the counts or the activations differ.";
  command.examples = {
      "rung protocol model.safetensors --task seqcomp --L 2 --m 2 --n1 2 --input \"1 1 2 3 | 0 0 | 1 | 0 | "
      "=\"",
      "rung protocol model.safetensors --form two-party --cut 8 --seed 3",
      "rung protocol model.safetensors --trace trace.json --json"};
  command.options = {
      {"MODEL", "the weights file", &flags->model, {.required = true, .file = FileUse::read}},
      {"--task", "the task (the file's own)", &flags->task},
      {"--input",
       "the prompt: tokens, a JSON row, or a file of rows (@PATH or PATH); absent: a generated instance",
       &flags->input},
      {"--seed", "seed of a generated instance (1)", &flags->seed, {.excludes = {"--input"}}},
      {"--index", "which generated instance, or which row of a file (0)", &flags->index},
      {"--variant",
       "uniform, permutation, zipf or adversarial (uniform)",
       &flags->variant,
       {.excludes = {"--input"}}},
      {"--form",
       "auto, two-party, players (seqcomp) or sparse (auto)",
       &flags->form,
       {.choices = {"auto", "two-party", "players", "sparse"}}},
      {"--cut", "two-party: Bob's first position (before the query; seqcomp: after z_L)", &flags->cut},
      {"--sum-bits", "bits of every numerator and denominator (the true widths)", &flags->sum_bits},
      {"--trace",
       "write the epochs, messages and what every player knows to this file",
       &flags->trace,
       {.file = FileUse::write}},
      {"--force", "replace a file that exists", &flags->force, {.needs = {"--trace"}}},
      {"--json", "one JSON document", &flags->json},
  };
  flags->sizes.declare(command);
  command.run = [flags] { return run_protocol(*flags); };
  return command;
}

}  // namespace rung::cli
