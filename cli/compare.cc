// rung compare: architectures side by side at one context.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/architecture_flags.h"
#include "cli/command.h"
#include "cli/text_table.h"
#include "rung/base/size_text.h"
#include "rung/base/text_columns.h"
#include "rung/design/comparison.h"

namespace rung::cli {
namespace {

constexpr std::size_t kWidestName = 26;  // longer ones are letters, explained above the table

struct CompareFlags {
  std::vector<std::string> models;
  ArchitectureFlags architecture;
  std::int64_t batch = 1;
  bool thought = false, assume_exact = false, csv = false, markdown = false, json = false;
};

bool is_name_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
}

// "ours=full*3": a name of the user's own in front of the line or file.
std::pair<std::string, std::string> split_name(const std::string& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_name_letter);
  if (end == text.begin() || end == text.end() || *end != '=') return {"", text};
  return {std::string(text.begin(), end), std::string(end + 1, text.end())};
}

// A file by its name, a config.json by its folder's, a line by itself.
std::string usual_name(const std::string& text, const ChosenArchitecture& chosen) {
  const auto is_file = [](std::string_view path) {
    return path.ends_with(".json") || path.ends_with(".toml");
  };
  if (!is_file(text) && text.find('/') == std::string::npos) return format_stack(chosen.architecture.stack);
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (parts.size() > 1 && parts.back() == "config.json") parts.pop_back();
  std::string name = parts.empty() ? text : parts.back();
  for (const std::string_view ending : {".json", ".toml", ".partial"})
    if (name.ends_with(ending)) name.erase(name.size() - ending.size());
  return name;
}

// Sizes are those of the lines; a configuration has its own and is told the rest.
Result<ChosenArchitecture> choose_model(const ArchitectureChoice& given, const std::string& text) {
  ArchitectureChoice plain;
  plain.line = text;
  plain.context = given.context;
  plain.precision = given.precision;
  plain.acc_bits = given.acc_bits;
  plain.state_dtype = given.state_dtype;
  plain.conv_dtype = given.conv_dtype;
  plain.cache_dtype = given.cache_dtype;
  plain.assume_defaults = given.assume_defaults;
  if (auto released = plain.choose(); released ? released->released.has_value() : text.ends_with(".json"))
    return released;
  ArchitectureChoice whole = given;
  whole.line = text;
  return whole.choose();
}

Result<std::vector<NamedArchitecture>> named_architectures(const CompareFlags& flags) {
  std::vector<NamedArchitecture> out;
  for (const std::string& model : flags.models) {
    auto [name, text] = split_name(model);
    RUNG_TRY(ChosenArchitecture chosen, choose_model(flags.architecture, text));
    if (name.empty()) name = usual_name(text, chosen);
    for (const auto& other : out)
      if (other.name == name) {
        name = fmt::format("{} ({})", name, out.size() + 1);
        break;
      }
    out.push_back({name, std::move(chosen)});
  }
  return out;
}

std::string depth_text(const CompositionDepth& depth) {
  if (depth.proved && depth.sketched && *depth.sketched > *depth.proved)
    return fmt::format("{} proved, {} sketch", *depth.proved, *depth.sketched);
  if (depth.proved) return fmt::format("{} proved", *depth.proved);
  if (depth.sketched) return fmt::format("{} sketch", *depth.sketched);
  return "none proved";
}

std::string recall_text(const Verdict& recall) {
  const std::string by = fmt::format("{}, {}", recall.theorem, status_name(recall.status));
  switch (recall.outcome) {
    case Outcome::possible:
      return fmt::format("whole context ({})", status_name(recall.status));
    case Outcome::impossible:
    case Outcome::vacuous:
      if (recall.horizon && bit_length(*recall.horizon) < 63)
        return fmt::format("at most {} ({})", grouped(recall.horizon->convert_to<std::int64_t>()),
                           status_name(recall.status));
      return std::string(outcome_name(recall.outcome));
    case Outcome::open:
      return "open";
  }
  return "";
}

std::string verdict_text(const Verdict& verdict) {
  std::string out(outcome_name(verdict.outcome));
  if (verdict.outcome == Outcome::possible || verdict.outcome == Outcome::impossible)
    out += fmt::format(" ({})", status_name(verdict.status));
  return out;
}

const Verdict& verdict_on(const ComparedModel& model, const std::string& task) {
  return *std::find_if(model.verdicts.begin(), model.verdicts.end(),
                       [&](const Verdict& verdict) { return verdict.task == task; });
}

// One row a property, one column a model.
std::vector<TextColumn> comparison_table(const Comparison& c, const std::vector<std::string>& titles) {
  std::vector<TextColumn> table{{.title = "", .cells = {}, .left = true}};
  for (const std::string& title : titles) table.push_back({.title = title, .cells = {}, .left = true});
  const auto row = [&](const std::string& name, const auto& text) {
    table.front().cells.push_back(name);
    for (std::size_t i = 0; i < c.models.size(); ++i) table[i + 1].cells.push_back(text(c.models[i]));
  };
  row("layers", [](const ComparedModel& m) {
    std::string counts;
    for (const auto& [word, number] : m.account.counts)
      counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", number, word);
    return fmt::format("{}: {}", m.account.layers.size(), counts);
  });
  row("word", [](const ComparedModel& m) { return fold_pattern(m.account.layers); });
  row("parameters", [](const ComparedModel& m) {
    return m.account.parameters ? grouped(*m.account.parameters) : std::string("not counted");
  });
  row("types", [](const ComparedModel& m) { return m.types; });
  row("state", [](const ComparedModel& m) { return bytes_text(m.kept.state); });
  row("cache", [](const ComparedModel& m) { return bytes_text(m.kept.cache); });
  row("together", [](const ComparedModel& m) { return bytes_text(m.kept.total()); });
  row("composes", [](const ComparedModel& m) { return depth_text(m.depth); });
  row("by its word", [](const ComparedModel& m) { return std::to_string(m.depth.of_word); });
  row("composes not", [](const ComparedModel& m) {
    return m.depth.impossible
               ? fmt::format("{} ({})", *m.depth.impossible, status_name(m.depth.impossible_status))
               : std::string("none proved");
  });
  row("recalls", [](const ComparedModel& m) { return recall_text(m.recall); });
  for (const std::string& task : c.differing)
    row(task, [&](const ComparedModel& m) { return verdict_text(verdict_on(m, task)); });
  return table;
}

// One row a model, plain numbers: for spreadsheets and data frames.
std::vector<TextColumn> comparison_rows(const Comparison& c) {
  std::vector<TextColumn> table;
  const auto column = [&](const std::string& title, const auto& text) {
    table.push_back({.title = title});
    for (const ComparedModel& model : c.models) table.back().cells.push_back(text(model));
  };
  const auto number = [](const auto& value) { return value ? std::to_string(*value) : std::string(); };
  column("name", [](const ComparedModel& m) { return m.name; });
  column("layers", [](const ComparedModel& m) { return std::to_string(m.account.layers.size()); });
  column("pattern", [](const ComparedModel& m) { return fold_pattern(m.account.layers); });
  column("parameters", [&](const ComparedModel& m) { return number(m.account.parameters); });
  column("context", [&](const ComparedModel&) { return std::to_string(c.context); });
  column("batch", [&](const ComparedModel&) { return std::to_string(c.batch); });
  column("state_bytes", [](const ComparedModel& m) { return m.kept.state.str(); });
  column("cache_bytes", [](const ComparedModel& m) { return m.kept.cache.str(); });
  column("total_bytes", [](const ComparedModel& m) { return m.kept.total().str(); });
  column("depth_proved", [&](const ComparedModel& m) { return number(m.depth.proved); });
  column("depth_sketched", [&](const ComparedModel& m) { return number(m.depth.sketched); });
  column("depth_impossible", [&](const ComparedModel& m) { return number(m.depth.impossible); });
  column("depth_of_word", [](const ComparedModel& m) { return std::to_string(m.depth.of_word); });
  for (const Verdict& verdict : c.models.front().verdicts) {
    const std::string task = verdict.task;
    column(task,
           [&](const ComparedModel& m) { return std::string(outcome_name(verdict_on(m, task).outcome)); });
    column(task + "_status",
           [&](const ComparedModel& m) { return std::string(status_name(verdict_on(m, task).status)); });
  }
  return table;
}

std::vector<std::string> column_titles(const Comparison& c) {
  const bool all_short = std::all_of(c.models.begin(), c.models.end(), [](const ComparedModel& model) {
    return text_columns(model.name) <= kWidestName;
  });
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < c.models.size(); ++i)
    titles.push_back(all_short ? c.models[i].name : fmt::format("({})", i + 1));
  return titles;
}

void print_comparison(const Comparison& c, bool markdown) {
  const auto titles = column_titles(c);
  print_labelled("", c.sentence);
  std::cout << "\n";
  for (std::size_t i = 0; i < titles.size(); ++i)
    if (titles[i] != c.models[i].name)
      print_labelled(fmt::format("{}{} ", markdown ? "- " : "", titles[i]), c.models[i].name);
  if (titles.front() != c.models.front().name) std::cout << "\n";
  const auto table = comparison_table(c, titles);
  if (markdown)
    print_markdown(table);
  else
    print_table(table);
  std::cout << "\n";
  print_labelled(
      "",
      fmt::format("Context {} tokens, batch {}. State and cache in bytes of the types in use, weights not "
                  "counted. Verdicts are about worst-case inputs and the best weights, not about training.",
                  grouped(c.context), grouped(c.batch)));
  if (c.differing.empty() && c.models.size() > 1)
    print_labelled("", "No verdict differs: nothing in the theory separates these beyond what is above.");
}

// A size or type that changes nothing about any of the models is refused by name.
Result<void> check_compare_sizes(const CompareFlags& flags) {
  const auto all = [&](const ArchitectureChoice& choice) -> Result<ChosenArchitecture> {
    ChosenArchitecture together;
    for (const std::string& model : flags.models) {
      RUNG_TRY(const ChosenArchitecture one, choose_model(choice, split_name(model).second));
      together.layers.insert(together.layers.end(), one.layers.begin(), one.layers.end());
      const Account counted = one.count();
      together.assumes.push_back(fmt::format("{} {}", counted.state_bits, counted.cache_bits_per_token));
    }
    return together;
  };
  const auto observed = [](const ChosenArchitecture& together) {
    return fmt::format("{}", fmt::join(together.assumes, ";"));
  };
  return check_sizes_used(flags.architecture, "compare", {.observed = observed, .choose = all});
}

Result<int> run_compare(const CompareFlags& flags) {
  RUNG_TRY(auto architectures, named_architectures(flags));
  RUNG_CHECK(check_compare_sizes(flags));
  const bool floats =
      std::any_of(architectures.begin(), architectures.end(), [](const NamedArchitecture& one) {
        return one.chosen.architecture.dimensions.precision.format != NumberFormat::fixed;
      });
  if (flags.assume_exact && !floats)
    return fail(ErrorCode::parse, "[compare] --assume-exact is not used: the sums of all models are exact");
  RUNG_TRY(const Comparison comparison,
           compare(std::move(architectures), {.context = flags.architecture.context,
                                              .batch = flags.batch,
                                              .chain_of_thought = flags.thought,
                                              .assume_exact = flags.assume_exact}));
  if (flags.json)
    print_json(comparison_document(comparison));
  else if (flags.csv)
    print_csv(comparison_rows(comparison));
  else
    print_comparison(comparison, flags.markdown);
  return 0;
}

}  // namespace

Command compare_command() {
  auto flags = std::make_shared<CompareFlags>();
  Command command{.name = "compare",
                  .summary = "architectures side by side: what they keep and what they provably do"};
  command.description =
      "One column a model: layers and pattern word, parameters, state, cache at the context and both "
      "together for the batch, how many functions it composes, how much it recalls, and the tasks on which "
      "the verdicts differ. A model is a line, a config.json, a folder with one, or a file with \"arch\"; "
      "NAME=MODEL gives it a name. Sizes given by flags are those of the lines; a configuration keeps its "
      "own.";
  command.examples = {
      "rung compare '(gdelta*3+full)*12' 'full*48' --width 2k --heads 16 --context 128k",
      "rung compare ours=new/config.json theirs=old/config.json --context 128k --batch 8 --markdown"};
  command.options = {
      {"MODELS", "lines, configurations or files; NAME=MODEL names one", &flags->models, {.required = true}},
      {"--batch", "sequences held at once (1)", &flags->batch},
      {"--cot", "verdicts with chain of thought", &flags->thought},
      {"--assume-exact", "read float models as exact integers of their p bits (mode X)",
       &flags->assume_exact},
      {"--csv", "one row a model, plain numbers", &flags->csv, {.excludes = {"--json", "--markdown"}}},
      {"--markdown", "the table as Markdown", &flags->markdown, {.excludes = {"--json"}}},
      {"--json", "one JSON document, schema rung.compare/1", &flags->json}};
  flags->architecture.declare(command.options, false);
  std::erase_if(command.options, [](const Option& option) {
    return option.names == "--config" || option.names == "--activation";  // no count and no verdict reads it
  });
  command.run = [flags] { return run_compare(*flags); };
  return command;
}

}  // namespace rung::cli
