// rung build: weights that a proof writes down, checked before they are handed over.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/architecture_flags.h"
#include "cli/command.h"
#include "cli/task_flags.h"
#include "cli/terminal_line.h"
#include "cli/written_files.h"
#include "rung/adversary/random_weights.h"
#include "rung/base/nearest_word.h"
#include "rung/base/plural.h"
#include "rung/base/size_text.h"
#include "rung/base/staged_file.h"
#include "rung/constructions/certification.h"
#include "rung/constructions/idle_parts.h"
#include "rung/constructions/precision_search.h"
#include "rung/constructions/reduction.h"
#include "rung/theory/outcome.h"

namespace rung::cli {
namespace {

using nlohmann::ordered_json;

const std::string kBuildOne = "a construction", kBuildRandom = "random", kBuildExplain = "--explain",
                  kBuildSweep = "--sweep", kBuildFormats = "--formats", kBuildList = "--list";
const std::vector<std::string> kBuildVerified = {kBuildOne, kBuildSweep, kBuildFormats};
const std::vector<std::string> kBuildConstructed = {kBuildOne, kBuildExplain, kBuildSweep, kBuildFormats};
const std::vector<std::string> kBuildNamed = {kBuildOne, kBuildRandom, kBuildExplain, kBuildSweep,
                                              kBuildFormats};

struct BuildFlags {
  std::string name, precision = "auto";
  std::optional<std::string> out, certificate, sweep, arch, task, beside, position;
  std::int64_t budget = VerificationOptions{}.budget, seed = 1;
  std::optional<std::int64_t> samples, width, heads;
  bool force = false, encoder = false, cot = false, csv = false, formats = false, list = false,
       explain = false, json = false;
  TaskFlags task_flags;
  std::map<std::string, std::optional<std::string>> options;
};

ConstructionRequest request_of(const BuildFlags& flags) {
  ConstructionRequest request{.name = flags.name,
                              .sizes = flags.task_flags.given_sizes(),
                              .options = flags.task_flags.given_options()};
  for (const auto& [name, value] : flags.options)
    if (value) request.options[name] = *value;
  if (flags.encoder) request.options["encoder"] = "yes";
  if (flags.cot) request.options["cot"] = "yes";
  return request;
}

VerificationOptions verification_of(const BuildFlags& flags) {
  return {.budget = flags.budget, .samples = flags.samples, .seed = static_cast<std::uint64_t>(flags.seed)};
}

// Absent: auto.
Result<std::optional<int>> precision_of(const BuildFlags& flags) {
  if (flags.precision == "auto") return std::optional<int>();
  RUNG_TRY(const Precision precision, parse_precision(flags.precision));
  if (precision.format != NumberFormat::fixed || precision.fraction != 0)
    return fail(ErrorCode::range, "[build] precision {}; a number of bits, or auto, expected",
                rung::quoted(flags.precision));
  return std::optional<int>(precision.bits);
}

// Numbers that the file holds as weights: embeddings, maps, MLPs, output; tables and scalars are not.
std::int64_t parameter_count(const Weights& weights) {
  std::int64_t count = 0;
  for (const auto& [name, tensor] : weights.tensors)
    if (!tensor.shape.empty() && !(name.starts_with("layers.") && name.ends_with(".table")))
      count += tensor.size();
  return count;
}

const MixerShape* attention_of(const MixerShape& mixer) {
  if (!mixer.parts.empty()) return attention_of(mixer.parts.front());
  return mixer.heads > 0 ? &mixer : nullptr;
}

ordered_json failure_json(const Task& task, const FailedInstance& failure) {
  ordered_json json{
      {"shown", show_failure(task, failure)}, {"expected", failure.expected}, {"answered", failure.answered}};
  constexpr std::int64_t kLongestWhole = 4096;
  if (failure.prompt.positions <= kLongestWhole) json["fields"] = failure.prompt.fields;
  return json;
}

ordered_json verification_json(const Verification& found) {
  ordered_json json{
      {"mode", mode_name(found.mode)}, {"instances", found.instances}, {"errors", found.errors}};
  if (found.interval)
    json["interval"] = {{"holds", found.interval->holds},
                        {"leak", found.interval->leak},
                        {"gap", found.interval->gap},
                        {"reason", found.interval->reason}};
  return json;
}

Result<ordered_json> document_of(const BuildFlags& flags, const Construction& made) {
  const auto& architecture = made.weights.architecture;
  RUNG_TRY(const auto shapes, resolve(architecture));
  std::int64_t heads = 0, head_dim = 0, attention = 0;
  for (const auto& shape : shapes)
    if (const MixerShape* mixer = attention_of(shape.mixer)) {
      heads = std::max(heads, shape.mixer.heads);
      head_dim = std::max(head_dim, mixer->key_dim);
      ++attention;
    }
  ordered_json json{{"schema", "rung.build/1"},
                    {"name", flags.name},
                    {"task", ordered_json::parse(made.weights.task)},
                    {"architecture", format_spelled_stack(architecture.stack)},
                    {"layers", shapes.size()},
                    {"heads", heads},
                    {"head_dim", head_dim},
                    {"width", architecture.dimensions.width},
                    {"precision", architecture.dimensions.precision.bits},
                    {"parameters", parameter_count(made.weights)},
                    {"p_proved", made.p_proved ? ordered_json(*made.p_proved) : ordered_json()},
                    {"p_measured", nullptr},
                    {"mlp",
                     {{"depth", made.mlp.depth},
                      {"width", made.mlp.width},
                      {"units", made.mlp.units},
                      {"paper", made.paper_mlp}}}};
  return json;
}

ordered_json certificate_json(const std::string& path, const ConstructionClaim& claim) {
  ordered_json sets = ordered_json::array();
  for (const auto& set : claim.checked)
    sets.push_back(std::holds_alternative<ConstructionClaim::All>(set)    ? "all"
                   : std::holds_alternative<ConstructionClaim::Walk>(set) ? "walk"
                                                                          : "listed");
  return {{"file", path}, {"checked", sets}, {"instances", claim.instances}, {"digest", claim.digest}};
}

std::string mlp_line(const Construction& made) {
  if (made.mlp.depth == 0) return "none";
  return fmt::format("{} of at most {} (paper: {})", counted(made.mlp.depth, "hidden layer"),
                     counted(made.mlp.width, "unit"), made.paper_mlp);
}

Result<int> build_one(const BuildFlags& flags) {
  std::error_code ignored;
  if (flags.certificate && (*flags.out == kStandardOutput || std::filesystem::is_other(*flags.out, ignored)))
    return fail(ErrorCode::io, "[build] a certificate needs a file; {} is a stream",
                rung::quoted(*flags.out));
  ConstructionRequest request = request_of(flags);
  const VerificationOptions options = verification_of(flags);
  RUNG_TRY(request.precision, precision_of(flags));
  const bool automatic = !request.precision;
  RUNG_TRY(Construction made, build_construction(request));
  if (flags.beside) {
    RUNG_TRY(const IdlePart part, parse_idle_part(*flags.beside));
    RUNG_TRY(made, beside_idle(std::move(made), part));
  }
  std::optional<PrecisionSearch> search;
  std::optional<Verification> found;
  std::vector<FailedReduction> reduced;
  if (automatic) {
    const int top = made.weights.architecture.dimensions.precision.bits;
    RUNG_TRY(search, search_precision(request, options, 2, top));
    if (search->p_measured == top && !flags.beside) found = search->passed;
  }
  if (!found) {
    RUNG_TRY(found, verify(made, options));
  }
  if (automatic && found->passed()) {
    RUNG_TRY(reduced, failing_reductions(made, options));
  }
  std::optional<ConstructionClaim> claim;
  if (flags.certificate && found->passed()) {
    RUNG_TRY(claim, certified_claim(made, static_cast<std::uint64_t>(flags.seed)));
  }
  if (flags.out && found->passed()) RUNG_CHECK(write_model(*flags.out, made.weights, flags.force));
  if (claim) {
    RUNG_TRY(std::string digest, file_sha256(*flags.out));
    RUNG_CHECK(write_text(*flags.certificate,
                          certificate_text(construction_certificate(made, *claim, std::move(digest))),
                          flags.force));
  }

  const Task& task = *made.task;
  if (flags.json) {
    RUNG_TRY(ordered_json json, document_of(flags, made));
    if (search && search->p_measured) json["p_measured"] = *search->p_measured;
    json["verified"] = verification_json(*found);
    if (found->failure) json["failure"] = failure_json(task, *found->failure);
    if (search && search->failure) {
      json["fails_at"] = {{"precision", *search->failed_at},
                          {"instance", failure_json(task, *search->failure)}};
    }
    json["fails_without"] = ordered_json::array();
    for (const auto& less : reduced)
      json["fails_without"].push_back({{"part", name_of(less.part)},
                                       {"what", less.what},
                                       {"instance", failure_json(task, less.failure)}});
    json["instances_per_second"] = found->instances_per_second();
    json["claim"] = made.claim;
    json["reference"] = made.reference;
    json["lemma"] = made.lemma;
    json["layout"] = made.weights.notes["layout"];
    json["invariant"] = made.weights.notes["invariant"];
    if (flags.certificate)
      json["certificate"] = claim ? certificate_json(*flags.certificate, *claim) : ordered_json();
    if (flags.out) json["out"] = found->passed() ? ordered_json(*flags.out) : ordered_json();
    print_json(json);
    return found->passed() ? 0 : 1;
  }
  fmt::print("{}\n{}\n", made.claim, made.reference);
  fmt::print("architecture  {}\n", format_stack(made.weights.architecture.stack));
  fmt::print("width {}, precision {}, {} parameters\n", made.weights.architecture.dimensions.width,
             made.weights.architecture.dimensions.precision.bits, parameter_count(made.weights));
  fmt::print("mlp           {}\n", mlp_line(made));
  if (made.p_proved) fmt::print("p_proved      {} ({})\n", *made.p_proved, made.lemma);
  if (search && search->p_measured)
    fmt::print("p_measured    {} ({})\n", *search->p_measured, mode_name(search->passed->mode));
  if (search && search->failure)
    fmt::print("p = {} fails   {}\n", *search->failed_at, show_failure(task, *search->failure));
  for (const auto& less : reduced)
    fmt::print("fails         {}: {}\n", less.what, show_failure(task, less.failure));
  fmt::print("checked       {}: {}, {}\n", mode_name(found->mode), counted(found->instances, "instance"),
             counted(found->errors, "error"));
  if (found->interval)
    fmt::print("all inputs    {}: {}\n",
               evidence_name(found->interval->holds ? Evidence::verified : Evidence::unverified),
               found->interval->reason);
  if (found->failure) fmt::print("fails on      {}\n", show_failure(task, *found->failure));
  if (claim) fmt::print("certificate   {}: {}\n", *flags.certificate, counted(claim->instances, "instance"));
  if (flags.out && found->passed()) fmt::print("{}\n", *flags.out);
  std::fprintf(stderr, "%.0f instances per second\n", found->instances_per_second());
  return found->passed() ? 0 : 1;
}

// What every coordinate of the row holds, layer by layer: the notes that the file carries.
Result<int> explain(const BuildFlags& flags) {
  ConstructionRequest request = request_of(flags);
  RUNG_TRY(request.precision, precision_of(flags));
  RUNG_TRY(Construction made, build_construction(request));
  if (flags.json) {
    RUNG_TRY(ordered_json json, document_of(flags, made));
    json["schema"] = "rung.build-explanation/1";
    json.erase("p_measured");
    for (const char* note : {"claim", "reference", "layout", "invariant"})
      json[note] = made.weights.notes[note];
    print_json(json);
    return 0;
  }
  fmt::print("{}\nreference: {}\n{}, precision {}; MLP: {}\n\n{}\n{}", made.claim, made.reference,
             format_stack(made.weights.architecture.stack),
             made.weights.architecture.dimensions.precision.bits, mlp_line(made),
             made.weights.notes["layout"], made.weights.notes["invariant"]);
  return 0;
}

struct Range {
  std::string size;
  std::int64_t from = 0, to = 0;
};
Result<Range> parse_range(const std::string& text) {
  const auto equals = text.find('='), dots = text.find("..");
  Range range;
  if (equals != std::string::npos && dots != std::string::npos && equals < dots) {
    range.size = text.substr(0, equals);
    const auto from = parse_size(text.substr(equals + 1, dots - equals - 1)),
               to = parse_size(text.substr(dots + 2));
    if (from && to && *from >= 1 && *from <= *to) {
      range.from = *from;
      range.to = *to;
      return range;
    }
  }
  return fail(ErrorCode::parse, "[build] sweep {}; a range such as n=2..8192 expected", rung::quoted(text));
}

// p against n: doubling from the first size to the last.
Result<int> sweep(const BuildFlags& flags) {
  RUNG_TRY(const Range range, parse_range(*flags.sweep));
  if (request_of(flags).sizes.contains(range.size))
    return fail(ErrorCode::parse, "[build] --{} is not used beside --sweep {}", range.size, *flags.sweep);
  ordered_json rows = ordered_json::array();
  if (flags.csv && !flags.json)
    fmt::print("{},positions,p_proved,p_measured,mode,instances,p_measured_quantised\n", range.size);
  for (std::int64_t n = range.from; n <= range.to; n *= 2) {
    ConstructionRequest request = request_of(flags);
    request.sizes[range.size] = n;
    RUNG_TRY(const Construction made, build_construction(request));
    const int top = made.weights.architecture.dimensions.precision.bits;
    VerificationOptions options = verification_of(flags);
    RUNG_TRY(const PrecisionSearch exact, search_precision(request, options, 2, top));
    options.quantised = Precision{NumberFormat::fixed, 2, 0};
    RUNG_TRY(const PrecisionSearch real, search_precision(request, options, 2, top));
    const auto number = [](const std::optional<int>& p) { return p ? std::to_string(*p) : std::string("-"); };
    const std::string mode = exact.passed ? std::string(mode_name(exact.passed->mode)) : "-";
    const std::uint64_t instances = exact.passed ? exact.passed->instances : 0;
    if (flags.json) {
      ordered_json row{{range.size, n},
                       {"positions", made.task->prompt_length()},
                       {"p_proved", nullptr},
                       {"p_measured", nullptr},
                       {"mode", mode},
                       {"instances", instances},
                       {"p_measured_quantised", nullptr}};
      if (made.p_proved) row["p_proved"] = *made.p_proved;
      if (exact.p_measured) row["p_measured"] = *exact.p_measured;
      if (real.p_measured) row["p_measured_quantised"] = *real.p_measured;
      rows.push_back(row);
    } else if (flags.csv) {
      fmt::print("{},{},{},{},{},{},{}\n", n, made.task->prompt_length(), number(made.p_proved),
                 number(exact.p_measured), mode, instances, number(real.p_measured));
    } else {
      fmt::print("{} = {:<8} p_proved {:<3} p_measured {:<3} ({}, {} instances), quantised reals {}\n",
                 range.size, n, number(made.p_proved), number(exact.p_measured), mode, instances,
                 number(real.p_measured));
    }
    std::fflush(stdout);
  }
  if (flags.json)
    print_json(
        {{"schema", "rung.build-sweep/1"}, {"name", flags.name}, {"size", range.size}, {"rows", rows}});
  return 0;
}

Result<int> formats(const BuildFlags& flags) {
  const ConstructionRequest request = request_of(flags);
  const std::string size = request.sizes.contains("m") ? "m" : "n";
  constexpr std::int64_t kFirst = 2, kUsualLast = 4096;
  const std::int64_t last = request.sizes.contains(size) ? request.sizes.at(size) : kUsualLast;
  ordered_json rows = ordered_json::array();
  for (const char* name : {"bf16", "fp16", "e4m3", "e5m2"}) {
    RUNG_TRY(const Precision format, parse_precision(name));
    if (has_terminal_line())
      show_terminal_line(
          fmt::format("{}: {} = {}, {}, ... at most {}", name, size, kFirst, 2 * kFirst, last));
    RUNG_TRY(const FormatReach reach,
             search_format(request, verification_of(flags), size, kFirst, last, format));
    if (has_terminal_line()) clear_terminal_line();
    const auto number = [](const std::optional<std::int64_t>& n) {
      return n ? ordered_json(*n) : ordered_json();
    };
    rows.push_back({{"format", name},
                    {"works_up_to", number(reach.works_up_to)},
                    {"fails_at", number(reach.fails_at)},
                    {"tried_up_to", last}});
    if (flags.json) continue;
    fmt::print(
        "{:<5} {}\n", name,
        !reach.works_up_to ? fmt::format("fails at {} = {}", size, *reach.fails_at)
        : reach.fails_at
            ? fmt::format("works up to {} = {}, fails at {}", size, *reach.works_up_to, *reach.fails_at)
            : fmt::format("works up to {} = {}, the largest tried", size, *reach.works_up_to));
  }
  if (flags.json)
    print_json({{"schema", "rung.build-formats/1"}, {"name", flags.name}, {"size", size}, {"formats", rows}});
  return 0;
}

Result<int> build_random(const BuildFlags& flags) {
  if (!flags.arch)
    return fail(ErrorCode::missing, "[build] random needs an architecture; expected --arch LINE");
  if (!flags.out) return fail(ErrorCode::missing, "[build] random weights go to a file; expected --out FILE");
  ArchitectureChoice choice{.line = *flags.arch};
  choice.width = flags.width;
  choice.heads = flags.heads;
  RUNG_CHECK(check_sizes_used(choice, "build"));
  RandomRequest target{.architecture = *flags.arch,
                       .width = flags.width.value_or(RandomRequest{}.width),
                       .heads = flags.heads.value_or(RandomRequest{}.heads),
                       .seed = static_cast<std::uint64_t>(flags.seed)};
  if (flags.precision != "auto") {
    RUNG_TRY(target.precision, parse_precision(flags.precision));
  }
  RUNG_TRY(const auto task, flags.task_flags.make(flags.task.value_or("eva")));
  if (flags.position) {
    RUNG_TRY(target.position, parse_position(*flags.position));
  }
  RUNG_TRY(const Weights weights, random_weights_for(*task, target));
  RUNG_CHECK(write_model(*flags.out, weights, flags.force));
  if (flags.json) {
    print_json({{"schema", "rung.build-random/1"},
                {"architecture", format_spelled_stack(weights.architecture.stack)},
                {"seed", flags.seed},
                {"precision", format_precision(target.precision)},
                {"parameters", parameter_count(weights)},
                {"out", *flags.out}});
  } else {
    fmt::print("{}\n", *flags.out);
  }
  return 0;
}

Result<int> list(const BuildFlags& flags) {
  ordered_json words = ordered_json::array();
  for (const auto& word : construction_words()) {
    ordered_json options = ordered_json::array();
    std::string said;
    for (const auto& option : word.options) {
      options.push_back({{"name", option.name}, {"help", option.help}, {"words", option.words}});
      said += fmt::format(" --{}", option.name);
      if (option.words.size() > 1) said += "=" + fmt::format("{}", fmt::join(option.words, "|"));
    }
    words.push_back(
        {{"name", word.name}, {"task", word.task}, {"summary", word.summary}, {"options", options}});
    if (!flags.json)
      fmt::print("{:<16}{}\n{}", word.name, word.summary,
                 said.empty() ? "" : fmt::format("{:16}{}\n", "", said.substr(1)));
  }
  if (flags.json) print_json({{"schema", "rung.build-list/1"}, {"constructions", words}});
  return 0;
}

Result<int> run_build(const BuildFlags& flags) {
  if (flags.seed < 0) return fail(ErrorCode::range, "[build] seed = {}; expected at least 0", flags.seed);
  if (flags.list) return list(flags);
  if (flags.name.empty())
    return fail(ErrorCode::missing, "[build] no construction named; rung build --list shows them");
  if (flags.name == "random") return build_random(flags);
  if (flags.explain) return explain(flags);
  if (flags.sweep) return sweep(flags);
  if (flags.formats) return formats(flags);
  return build_one(flags);
}

// Whether the option is the task's own, which every form that takes a task hears.
bool is_task_option(std::string_view task, std::string_view option) {
  const auto word = find_task_word(task);
  return word && std::any_of((*word)->options.begin(), (*word)->options.end(),
                             [&](const auto& own) { return own.name == option; });
}

}  // namespace

Command build_command() {
  auto flags = std::make_shared<BuildFlags>();
  Command command{.name = "build", .summary = "weights that a proof writes down, verified"};
  command.description =
      "NAME is a word of rung build --list, or random. The weights are checked against the task before they "
      "are written: on every instance while those are within the budget, else on adversarial and random ones "
      "beside an argument about all inputs where there is one. Exit code 1 when the verification finds an "
      "error; the instance is shown and nothing is written.";
  command.examples = {
      "rung build eva --n 64 --out eva.safetensors", "rung build eva --sweep n=2..8192 --csv",
      "rung build random --arch 'gdelta*2' --task eva --n 8 --precision 6 --out random.safetensors"};
  command.options = {
      {"NAME", "the construction, or random", &flags->name, {.forms = kBuildNamed}},
      {"--out",
       "the weights file to write",
       &flags->out,
       {.forms = {kBuildOne, kBuildRandom}, .file = FileUse::write}},
      {"--force", "replace files that exist", &flags->force, {.needs = {"--out"}}},
      {"--certificate",
       "a certificate of the file that rung-check reruns",
       &flags->certificate,
       {.forms = {kBuildOne}, .needs = {"--out"}, .file = FileUse::write}},
      {"--precision",
       "bits, or auto: what the lemma proves, beside the smallest that passed (auto)",
       &flags->precision,
       {.forms = {kBuildOne, kBuildRandom, kBuildExplain}}},
      {"--verify-budget",
       "instances up to which all are run (20000000)",
       &flags->budget,
       {.forms = kBuildVerified}},
      {"--samples",
       "instances a kind where not all are run (by size)",
       &flags->samples,
       {.forms = kBuildVerified}},
      {"--seed",
       "seed of samples and random weights (1)",
       &flags->seed,
       {.forms = {kBuildOne, kBuildRandom, kBuildSweep, kBuildFormats}}},
      {"--sweep", "p against a size, doubling: n=2..8192", &flags->sweep, {.forms = {kBuildSweep}}},
      {"--csv",
       "the sweep as comma-separated values",
       &flags->csv,
       {.forms = {kBuildSweep}, .excludes = {"--json"}}},
      {"--formats",
       "up to which size it works in bf16, fp16, e4m3, e5m2",
       &flags->formats,
       {.forms = {kBuildFormats}}},
      {"--encoder", "seqcomp: bidirectional layers", &flags->encoder, {.forms = kBuildConstructed}},
      {"--cot", "one layer and a chain of thought", &flags->cot, {.forms = kBuildConstructed}},
      {"--position",
       "random: none, table or binary (none for an automaton task, else table)",
       &flags->position,
       {.choices = {"none", "table", "binary"}, .forms = {kBuildRandom}}},
      {"--beside",
       "inside a hybrid: an idle linear layer in front, or an idle linear head in every full layer",
       &flags->beside,
       {.choices = {"layer", "head"}, .forms = {kBuildOne}}},
      {"--arch", "random: the architecture line", &flags->arch, {.forms = {kBuildRandom}}},
      {"--task", "random: the task whose prompts it reads (eva)", &flags->task, {.forms = {kBuildRandom}}},
      {"--width", "random: residual width (16)", &flags->width, {.forms = {kBuildRandom}}},
      {"--heads", "random: heads where the line says none (1)", &flags->heads, {.forms = {kBuildRandom}}},
      {"--explain",
       "what every residual coordinate holds after every layer; nothing is run",
       &flags->explain,
       {.forms = {kBuildExplain}}},
      {"--list", "the constructions and their options", &flags->list, {.forms = {kBuildList}}},
      {"--json", "one JSON document", &flags->json},
  };
  for (const auto& word : construction_words())
    for (const auto& option : word.options) {
      if (option.name == "encoder" || option.name == "cot" || is_task_option(word.task, option.name))
        continue;
      const auto [place, added] = flags->options.try_emplace(std::string(option.name));
      if (added)
        command.options.push_back({fmt::format("--{}", option.name),
                                   std::string(option.help),
                                   &place->second,
                                   {.group = "Forms (rung build --list: which construction has which)",
                                    .forms = kBuildConstructed}});
    }
  flags->task_flags.declare(command, kBuildNamed);
  command.form = [flags] {
    return flags->list               ? kBuildList
           : flags->name == "random" ? kBuildRandom
           : flags->explain          ? kBuildExplain
           : flags->sweep            ? kBuildSweep
           : flags->formats          ? kBuildFormats
                                     : kBuildOne;
  };
  command.run = [flags] { return run_build(*flags); };
  return command;
}

}  // namespace rung::cli
