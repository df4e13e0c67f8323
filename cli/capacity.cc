// rung capacity: the state bits that any one-pass machine needs for a task, counted.
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/progress.h"
#include "cli/task_flags.h"
#include "cli/terminal_line.h"
#include "rung/base/json_fields.h"
#include "rung/base/plural.h"
#include "rung/base/size_text.h"
#include "rung/capacity/capacity.h"

namespace rung::cli {
namespace {

constexpr std::int64_t kMegabyte = std::int64_t{1} << 20;
constexpr std::int64_t kMostMegabytes = std::int64_t{1} << 17;

struct CapacityFlags {
  std::string name, cut = "all";
  std::int64_t budget = CapacityLimits{}.prompts, memory = CapacityLimits{}.bytes / kMegabyte, seed = 1;
  bool json = false;
  TaskFlags sizes;
};

Result<CapacityLimits> limits_of(const CapacityFlags& flags) {
  CapacityLimits limits;
  if (flags.cut != "all") {
    const auto cut = parse_size(flags.cut);
    if (!cut)
      return fail(ErrorCode::parse, "[capacity] cut = \"{}\"; expected a number of tokens, or all",
                  flags.cut);
    limits.cut = *cut;
  }
  if (flags.budget < 1)
    return fail(ErrorCode::range, "[capacity] budget = {}; expected at least 1 prompt", flags.budget);
  if (flags.memory < 1 || flags.memory > kMostMegabytes)
    return fail(ErrorCode::range, "[capacity] memory = {}; expected 1 to {} MiB", flags.memory,
                kMostMegabytes);
  if (flags.seed < 0) return fail(ErrorCode::range, "[capacity] seed = {}; expected at least 0", flags.seed);
  limits.prompts = flags.budget;
  limits.bytes = flags.memory * kMegabyte;
  limits.seed = static_cast<std::uint64_t>(flags.seed);
  return limits;
}

double lg(std::int64_t classes) { return std::log2(static_cast<double>(classes)); }

// True where an exact count falls below the theorem's: one of the two is wrong.
bool contradicts(const Capacity& capacity) {
  if (!capacity.theorem) return false;
  for (const CutCapacity& cut : capacity.cuts)
    if (cut.position == capacity.theorem->cut && cut.upper) {
      const auto claimed = capacity.theorem->count.value();
      return !claimed || *claimed > *cut.upper;
    }
  return false;
}

nlohmann::ordered_json cut_document(const CutCapacity& cut) {
  nlohmann::ordered_json entry = {{"position", cut.position},
                                  {"classes", std::to_string(cut.classes)},
                                  {"bits", class_bits(cut.classes)},
                                  {"lg_classes", lg(cut.classes)},
                                  {"exact", cut.exact()}};
  if (cut.upper && !cut.exact()) entry["upper"] = std::to_string(*cut.upper);
  return entry;
}

nlohmann::ordered_json document(const Task& task, const Capacity& capacity) {
  const CutCapacity& most = capacity.cuts[capacity.largest];
  nlohmann::ordered_json cuts = nlohmann::ordered_json::array(), theorem;
  for (const CutCapacity& cut : capacity.cuts) cuts.push_back(cut_document(cut));
  if (const auto& figure = capacity.theorem) {
    theorem =
        json_object("statement", figure->statement, "cut", figure->cut, "formula", figure->count.formula());
    if (const auto value = figure->count.value()) theorem["classes"] = value->str();
    theorem.update(json_object("bits", static_cast<std::int64_t>(bits_needed(figure->count)), "lg_classes",
                               figure->count.lg(), "source", figure->source, "status", figure->status));
  }
  auto result = json_object("schema", "rung.capacity/1", "task", task.name(), "size", task.size());
  if (const auto options = task.options(); !options.empty()) result["options"] = options;
  result.update(json_object(
      "method", capacity.method == CapacityMethod::enumeration ? "enumeration" : "fooling set", "exact",
      most.exact(), "classes", std::to_string(most.classes), "bits", class_bits(most.classes), "lg_classes",
      lg(most.classes), "cut", most.position, "prompts", capacity.prompts, "cuts", cuts, "theorem", theorem));
  return result;
}

void print_table(const Task& task, const Capacity& capacity) {
  const bool enumerated = capacity.method == CapacityMethod::enumeration;
  fmt::print("{} {}: {} {}\n\n", task.name(), task.size().dump(), counted(capacity.prompts, "prompt"),
             enumerated ? "(all)" : "sampled; every number is a lower bound");
  fmt::print("{:>7}  {:>12}  {:>10}  {:>5}\n", "tokens", "classes", "lg classes", "bits");
  for (const CutCapacity& cut : capacity.cuts)
    fmt::print(
        "{:>7}  {:>12}  {:>10.3f}  {:>5}{}\n", cut.position, cut.classes, lg(cut.classes),
        class_bits(cut.classes),
        enumerated && !cut.exact() ? fmt::format("  at least; {} suffice", *cut.upper) : std::string());
  const CutCapacity& most = capacity.cuts[capacity.largest];
  fmt::print("\nstate bits needed: {}{} ({} {} after {})\n", most.exact() ? "" : "at least ",
             class_bits(most.classes), most.classes, most.classes == 1 ? "class" : "classes",
             counted(most.position, "token"));
  if (const auto& figure = capacity.theorem) {
    const Integer bits = bits_needed(figure->count);
    fmt::print("theorem: {}; {} = 2^{:.3f} classes after {}, {} bit{}\n", figure->statement,
               figure->count.formula(), figure->count.lg(), counted(figure->cut, "token"), bits.str(),
               bits == 1 ? "" : "s");
  }
}

Result<int> run_capacity(const CapacityFlags& flags) {
  RUNG_TRY(CapacityLimits limits, limits_of(flags));
  // Before anything that may differ from machine to machine: the others wait for this one.
  RUNG_TRY(limits.ranks, join_ranks());
  RUNG_TRY(const auto task, flags.sizes.make(flags.name));
  if (has_terminal_line() && limits.ranks->leads())
    show_terminal_line(fmt::format("at most {} prompts are looked at (--budget)", grouped(limits.prompts)));
  constexpr std::uint64_t kSteps = 1000;
  Progress progress("per mille", kSteps, !limits.ranks->leads());
  RUNG_TRY(const Capacity capacity, count_capacity(*task, limits, [&](double share) {
             progress.at(static_cast<std::uint64_t>(share * kSteps));
           }));
  if (!limits.ranks->leads()) return 0;
  if (has_terminal_line()) clear_terminal_line();
  if (flags.json)
    print_json(document(*task, capacity));
  else
    print_table(*task, capacity);
  return contradicts(capacity) ? 1 : 0;
}

}  // namespace

Command capacity_command() {
  auto flags = std::make_shared<CapacityFlags>();
  Command command{.name = "capacity",
                  .summary = "state bits that any recurrent model needs for a task, counted"};
  command.description =
      "Counts the prefixes that some continuation tells apart, at every cut of the prompt: the exact number "
      "of states of any machine that reads once. Where the prompts are too many, a sampled fooling set gives "
      "a certified lower bound. Under mpirun or srun all ranks count (docs/cluster.md). TASK is a word of "
      "rung task --list, or the path of a task of your own (docs/counting.md).";
  command.examples = {"rung capacity eva --n 4", "rung capacity two-sum --n 4 --M 9 --json",
                      "rung capacity seqcomp --L 2 --m 2 --n1 2 --cut 4"};
  command.options = {
      {"TASK", "the task: a word, or the path of a task file", &flags->name, {.required = true}},
      {"--cut", "tokens read, or all (all)", &flags->cut},
      {"--budget", "complete prompts to look at (400000000)", &flags->budget},
      {"--memory", "MiB that the table of rows may hold (1024)", &flags->memory},
      {"--seed", "of the sampled fooling set (1)", &flags->seed},
      {"--json", "one JSON document", &flags->json},
  };
  flags->sizes.declare(command);
  command.run = [flags] { return run_capacity(*flags); };
  command.spreads = true;
  return command;
}

}  // namespace rung::cli
