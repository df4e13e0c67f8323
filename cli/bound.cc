// rung bound: what an architecture provably can and cannot do.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/architecture_flags.h"
#include "cli/command.h"
#include "cli/task_flags.h"
#include "rung/base/plural.h"
#include "rung/base/text_columns.h"
#include "rung/theory/bound_query.h"
#include "rung/theory/result_table.h"
#include "rung/theory/verdict_unit.h"

namespace rung::cli {
namespace {

const std::string kBoundTable = "--table", kBoundList = "--list", kBoundArchitecture = "an architecture";

struct BoundFlags {
  ArchitectureFlags architecture;
  TaskFlags task_sizes;
  std::string task = "all";
  std::optional<std::int64_t> sum_bits;
  std::optional<std::string> variant;
  std::optional<std::string> theorem;
  std::optional<std::int64_t> position_period;
  bool thought = false, assume_exact = false, explain = false, table = false, list = false, json = false;
};

std::string number(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return "-";
  if (*value == std::floor(*value) && std::abs(*value) < 1e9) return fmt::format("{:.0f}", *value);
  return fmt::format("{:.5g}", *value);
}
std::string factor(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return "-";
  // Four digits where they fit into seven columns, two where they do not.
  return *value < 0.01 || *value >= 1e4 ? fmt::format("{:.2g}", *value) : fmt::format("{:.4g}", *value);
}

void print_wrapped(const std::string& first, const std::string& rest, const std::string& text) {
  constexpr std::size_t kWidth = 100;
  std::string line = first;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = text.find(' ', at);
    if (end == std::string::npos) end = text.size();
    const std::string word = text.substr(at, end - at);
    if (text_columns(line) + 1 + text_columns(word) > kWidth && text_columns(line) > text_columns(rest)) {
      fmt::print("{}\n", line);
      line = rest;
    }
    line += (line == first || line == rest ? "" : " ") + word;
    at = end + 1;
  }
  fmt::print("{}\n", line);
}

void print_verdicts(const std::vector<Verdict>& verdicts) {
  fmt::print("{:<15}{:<13}{:<25}{:<9}{:>11}{:>11} {:<15}{:>8}{:>8}\n", "task", "verdict", "theorem", "status",
             "left", "right", "unit", "margin", "horizon");
  for (const auto& v : verdicts) {
    std::optional<double> horizon;
    if (v.horizon && bit_length(*v.horizon) <= 1000) horizon = v.horizon->convert_to<double>();
    const std::string unit = verdict_unit(v);
    std::string shown = number(horizon);
    if (horizon && *horizon >= 1e7) shown = fmt::format("{:.2g}", *horizon);
    if (v.horizon && *v.horizon >= Integer(1) << 332)  // 10^100 and more
      shown = fmt::format("2^{}", bit_length(*v.horizon) - 1);
    // A theorem that decides nothing has no status here. A long word takes from the column behind it.
    const std::string status(v.outcome == Outcome::open ? "-" : status_name(v.status));
    fmt::print("{:<15}{:<13}{:<25}{:<9}{:>{}}{:>11} {:<15}{:>8}{:>8}\n", v.task, outcome_name(v.outcome),
               v.theorem.empty() ? "-" : v.theorem, status, number(v.left),
               20 - std::max<std::size_t>(9, status.size()), number(v.right), unit.empty() ? "-" : unit,
               factor(v.margin), shown);
    // An open verdict gives the same reason below.
    const bool said_below = v.outcome == Outcome::open && v.every_length &&
                            v.every_length->outcome == Outcome::open && v.every_length->theorem == v.theorem;
    if (v.every_length && !said_below)
      print_wrapped(
          "               ", "                 ",
          v.every_length->outcome == Outcome::open
              ? fmt::format("at every length: open: {}", v.every_length->reason)
              : fmt::format("at every length: {} by {} [{}]{}", outcome_name(v.every_length->outcome),
                            v.every_length->theorem, status_name(v.every_length->status),
                            v.every_length->reason.empty() ? "" : "; " + v.every_length->reason));
    if (v.outcome != Outcome::open) continue;
    for (const auto& h : v.hypotheses)
      if (!h.holds) {
        print_wrapped("               fails: ", "                      ",
                      h.numbers.empty() ? h.text : h.text + ": " + h.numbers);
        break;
      }
  }
}

void print_explanation(const Verdict& v) {
  fmt::print("\n{}: {}", v.task, outcome_name(v.outcome));
  if (v.theorem.empty()) {
    fmt::print("\n");
  } else {
    const Theorem& t = theorem(v.theorem);
    const bool open = v.outcome == Outcome::open;
    fmt::print("{}{} ({}, {}){}\n", open ? ": " : " by ", t.id, source_text(v.source, v.reference),
               status_name(v.status), open ? " does not decide it" : "");
    print_wrapped("  ", "  ", std::string(t.statement));
  }
  for (const auto& h : v.hypotheses)
    print_wrapped(h.holds ? "  [holds] " : "  [fails] ", "          ",
                  h.numbers.empty() ? h.text : h.text + ": " + h.numbers);
  for (std::size_t i = 0; i < v.argument.size(); ++i)
    print_wrapped(fmt::format("  {}. ", i + 1), "     ", v.argument[i]);
  for (const auto& text : v.assumes) print_wrapped("  assumes ", "          ", text);
  if (!v.parameters.empty()) print_wrapped("  parameters ", "             ", v.parameters.text());
}

void print_pattern(const Setting& setting, const PatternSummary& s) {
  fmt::print("\nL-SeqComp at up to {} tokens: ", setting.context);
  if (s.solvable)
    fmt::print("solvable to L = {} ({}, {})", *s.solvable, s.solvable_by->theorem,
               status_name(s.solvable_by->status));
  else
    fmt::print("no L provably solvable");
  fmt::print(";\n  ");
  if (s.impossible)
    fmt::print("impossible from L = {} ({}, {})\n", *s.impossible, s.impossible_by->theorem,
               status_name(s.impossible_by->status));
  else if (s.vacuous_by && s.vacuous_by->horizon && bit_length(*s.vacuous_by->horizon) <= 1000)
    fmt::print("no L provably impossible here: {} certifies from {:.3g} tokens on\n", s.vacuous_by->theorem,
               s.vacuous_by->horizon->convert_to<double>());
  else
    fmt::print("no L provably impossible here\n");
}

Result<int> run_table(const BoundFlags& flags) {
  RUNG_TRY(const Dimensions dimensions, flags.architecture.dimensions());
  const std::int64_t context = flags.architecture.context.value_or(kDefaultContext);
  RUNG_TRY(const auto rows, result_table(dimensions, context));
  if (flags.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const auto& row : rows) {
      const Theorem& t = theorem(row.theorem);
      list.push_back(
          {{"mechanism", row.mechanism},
           {"task", row.task},
           {"form", row.form},
           {"number",
            row.number && std::isfinite(*row.number) ? nlohmann::ordered_json(*row.number) : nullptr},
           {"unit", row.unit},
           {"theorem", row.theorem},
           {"source", source_name(t.source)},
           {"reference", t.reference},
           {"status", status_name(t.status)}});
    }
    print_json({{"schema", "rung.bound-table/2"},
                {"context", context},
                {"width", dimensions.width},
                {"heads", dimensions.heads},
                {"precision", format_precision(dimensions.precision)},
                {"rows", list}});
    return 0;
  }
  fmt::print("{} tokens, width {}, {}, precision {}\n", context, dimensions.width,
             counted(dimensions.heads, "head"), format_precision(dimensions.precision));
  for (const auto& row : rows)
    fmt::print(
        "{}{}{}{:>10} {}{}\n", padded_text(row.mechanism, 22), padded_text(row.task, 15),
        padded_text(row.form, 37), number(row.number), row.unit,
        is_proved(theorem(row.theorem).status)
            ? ""
            : fmt::format("{}[{}]", row.unit.empty() ? "" : " ", status_name(theorem(row.theorem).status)));
  return 0;
}

int run_list(const BoundFlags& flags) {
  if (flags.json) {
    print_json(theorems_document());
    return 0;
  }
  for (const auto& t : theorems())
    fmt::print("{:<25}{:<12}{:<17}{}\n", t.id, status_name(t.status), source_text(t.source), t.title);
  return 0;
}

Result<int> run_bound(const BoundFlags& flags) {
  if (flags.list) return run_list(flags);
  if (flags.table) return run_table(flags);
  if (!flags.architecture.names_something())
    return fail(
        ErrorCode::missing,
        "[bound] no architecture; expected a line such as \"linear+full*2\", a config.json, or --table");
  BoundQuery query{.architecture = flags.architecture,
                   .task = flags.task,
                   .sizes = flags.task_sizes.given_sizes(),
                   .form = {.options = flags.task_sizes.given_options()},
                   .sum_bits = flags.sum_bits,
                   .chain_of_thought = flags.thought,
                   .assume_exact = flags.assume_exact,
                   .position_period = flags.position_period,
                   .theorem = flags.theorem};
  if (flags.variant) {
    RUNG_TRY(query.form.variant, parse_variant(*flags.variant));
  }
  RUNG_TRY(const ChosenArchitecture chosen, query.architecture.choose());
  RUNG_CHECK(check_sizes_used(query.architecture, "bound", {.observed = bound_observes}));
  RUNG_TRY(const BoundReport report, answer_query(query, chosen));
  if (const Precision& precision = chosen.architecture.dimensions.precision;
      flags.assume_exact && precision.format == NumberFormat::fixed)
    return fail(ErrorCode::parse, "[bound] --assume-exact is not used by precision {}: its sums are exact",
                format_precision(precision));
  if (flags.json) {
    print_json(bound_document(report));
    return 0;
  }
  const Setting& setting = report.setting;
  const Integer state = setting.word.total().after(setting.context);
  const std::string word = setting.word.folded.empty() ? "(no mixing layer)" : setting.word.folded;
  print_wrapped("word ", "     ", word);
  std::string form;
  for (const auto& [name, value] : report.form.options) form += fmt::format(", {} = {}", name, value);
  if (report.form.variant) form += fmt::format(", variant {}", variant_name(*report.form.variant));
  fmt::print("{}, {} F, {} state bits, precision {}, context {}{}{}{}\n\n",
             counted(setting.layers.size(), "layer"), setting.word.full_letters(), state.str(),
             format_precision(setting.architecture.dimensions.precision), setting.context,
             setting.causal() ? "" : ", encoder", setting.chain_of_thought ? ", chain of thought" : "", form);
  print_verdicts(report.verdicts);
  if (report.pattern) print_pattern(setting, *report.pattern);
  if (report.measured) {
    fmt::print("\n");
    print_wrapped("status: measured, no theorem: ", "  ", measured_text(*report.measured));
  }
  if (flags.explain)
    for (const auto& v : report.verdicts) print_explanation(v);
  return 0;
}

}  // namespace

Command bound_command() {
  auto flags = std::make_shared<BoundFlags>();
  Command command{.name = "bound", .summary = "what an architecture provably can and cannot do"};
  command.description =
      "For every task: impossible (no weights exist at these sizes), possible (weights exist for all of "
      "them), vacuous (a theorem applies, its numbers do not reach this size; horizon says where they do), "
      "or open. Worst-case inputs, best weights, arbitrary position-wise MLPs; nothing about training. With "
      "sizes (--n, --m --n1 ...) the verdict is about them; with a context alone, impossible means some "
      "sizes that fit it and possible means all of them. Theorems that split a softmax need exact integer "
      "sums: fixed-point precision, or --assume-exact for a float model.";
  command.examples = {
      "rung bound \"full+linear\" --width 2 --precision 4 --task seqcomp --m 45 --n1 3 --explain",
      "rung bound config.json --context 131072",
      "rung bound --table --context 4096 --width 64 --precision 16"};
  flags->architecture.declare(command.options);
  // Bounds hold for any embedding and any MLP.
  std::erase_if(command.options, [](const Option& option) {
    for (const char* name : {"--mlp", "--activation", "--vocab", "--outputs"})
      if (option.names == name) return true;
    return false;
  });
  for (auto& option : command.options) {
    const bool tabled = option.names == "--context" || option.names == "--width" ||
                        option.names == "--heads" || option.names == "--precision" ||
                        option.names == "--dims";
    option.forms = {kBoundArchitecture};
    if (tabled) option.forms.push_back(kBoundTable);
    if (option.names == "--context")
      option.help = "prompts of up to this many tokens (default: the architecture's own, or 4096)";
  }
  command.options.push_back({"--task",
                             "one task, the path of an automaton, or all (default)",
                             &flags->task,
                             {.forms = {kBoundArchitecture}}});
  command.options.push_back(
      {"--sum-bits",
       "bits of a numerator or denominator of a partial softmax sum (default: what exact sums over the "
       "prompt need with an exponent table of 16 bits)",
       &flags->sum_bits,
       {.forms = {kBoundArchitecture}}});
  command.options.push_back({"--variant",
                             "about the prompts of one variant alone (default: about every prompt)",
                             &flags->variant,
                             {.forms = {kBoundArchitecture}}});
  command.options.push_back(
      {"--cot", "with chain of thought", &flags->thought, {.forms = {kBoundArchitecture}}});
  command.options.push_back({"--assume-exact",
                             "read a float model as exact integers of its p bits (mode X)",
                             &flags->assume_exact,
                             {.forms = {kBoundArchitecture}}});
  command.options.push_back(
      {"--position-period",
       "positions that repeat after so many tokens, and no others (automaton tasks, tracked-recall)",
       &flags->position_period,
       {.forms = {kBoundArchitecture}, .excludes = {"--position"}}});
  command.options.push_back({"--explain",
                             "print each argument step by step with its numbers",
                             &flags->explain,
                             {.forms = {kBoundArchitecture}, .excludes = {"--json"}}});
  command.options.push_back({"--table",
                             "the table of results at --context, --width, --heads, --precision",
                             &flags->table,
                             {.excludes = {"--list"}}});
  command.options.push_back({"--theorem",
                             "what this theorem alone says, in place of the strongest verdict",
                             &flags->theorem,
                             {.forms = {kBoundArchitecture}}});
  command.options.push_back({"--list", "every theorem with its status and source", &flags->list});
  command.options.push_back({"--json",
                             "one JSON document, schema rung.bound/2 (rung.bound-table/2, rung.bound-list/2)",
                             &flags->json});
  flags->task_sizes.declare(command, {kBoundArchitecture});
  command.form = [flags] {
    return flags->list ? kBoundList : flags->table ? kBoundTable : kBoundArchitecture;
  };
  command.run = [flags]() -> Result<int> { return run_bound(*flags); };
  return command;
}

}  // namespace rung::cli
