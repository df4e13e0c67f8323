// rung class: the algebra of an automaton task, and which mixers can follow it.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/task_flags.h"
#include "rung/base/plural.h"
#include "rung/tasks/automaton_task.h"
#include "rung/theory/followers.h"

namespace rung::cli {
namespace {

struct ClassFlags {
  std::string name;
  bool json = false;
  TaskFlags sizes;
};

// The automaton with what names it.
struct NamedAutomaton {
  std::string text;  // "group, name = S5"
  nlohmann::ordered_json sizes = nlohmann::ordered_json::object();
  std::map<std::string, std::string> options;
  Automaton automaton;
};

Result<NamedAutomaton> named_automaton(const ClassFlags& flags) {
  RUNG_TRY(const auto task, flags.sizes.make(flags.name));
  NamedAutomaton named;
  RUNG_TRY(named.automaton, task_automaton(*task));
  named.text = task->name();
  for (const auto& [name, size] : task->size())
    if (name != "n") {  // every length
      named.sizes[name] = size.value;
      named.text += fmt::format(", {} = {}", name, size.value);
    }
  named.options = task->options();
  for (const auto& [name, word] : named.options) named.text += fmt::format(", {} = {}", name, word);
  return named;
}

std::string spelled(const Automaton& automaton, const std::vector<std::uint32_t>& word) {
  std::string text;
  for (const auto letter : word) text += (text.empty() ? "" : " ") + automaton.letters[letter];
  return text;
}

nlohmann::ordered_json class_document(const NamedAutomaton& named, const Algebra& algebra,
                                      const std::vector<Follower>& followers) {
  nlohmann::ordered_json document = {{"schema", "rung.class/1"},
                                     {"task", named.text.substr(0, named.text.find(','))},
                                     {"size", named.sizes},
                                     {"options", named.options},
                                     {"letters", named.automaton.letters.size()},
                                     {"states", named.automaton.states.size()},
                                     {"classes", algebra.classes},
                                     {"monoid", algebra.monoid},
                                     {"aperiodic", algebra.aperiodic},
                                     {"commutative", algebra.commutative},
                                     {"r_trivial", algebra.r_trivial},
                                     {"j_trivial", algebra.j_trivial},
                                     {"group", algebra.group},
                                     {"solvable", algebra.solvable},
                                     {"derived_length", nullptr},
                                     {"neutral_letter", algebra.neutral_letter},
                                     {"periodic", nullptr}};
  if (algebra.derived_length) document["derived_length"] = *algebra.derived_length;
  if (algebra.periodic)
    document["periodic"] = {{"word", spelled(named.automaton, algebra.periodic->word)},
                            {"period", algebra.periodic->period}};
  nlohmann::ordered_json mixers = nlohmann::ordered_json::array();
  for (const auto& row : followers)
    mixers.push_back({{"mixer", row.mixer},
                      {"verdict", outcome_name(row.outcome)},
                      {"theorem", row.theorem},
                      {"status", status_name(row.status)},
                      {"note", row.note}});
  document["mixers"] = std::move(mixers);
  return document;
}

void print_class(const NamedAutomaton& named, const Algebra& algebra,
                 const std::vector<Follower>& followers) {
  const auto row = [](std::string_view what, const std::string& text) {
    fmt::print("{:<13}{}\n", what, text);
  };
  const auto yes = [](bool holds) { return std::string(holds ? "yes" : "no"); };
  fmt::print("{}\n\n", named.text);
  row("letters", fmt::format("{}, {} neutral", named.automaton.letters.size(),
                             algebra.neutral_letter ? "one of them" : "none of them"));
  row("classes", fmt::format("{} (of {})", algebra.classes, counted(named.automaton.states.size(), "state")));
  row("monoid", counted(algebra.monoid, "element"));
  row("aperiodic", algebra.periodic ? fmt::format("no: the powers of {} have period {}",
                                                  spelled(named.automaton, algebra.periodic->word),
                                                  algebra.periodic->period)
                                    : "yes");
  row("commutative", yes(algebra.commutative));
  row("R-trivial", yes(algebra.r_trivial));
  row("J-trivial", yes(algebra.j_trivial));
  row("group", yes(algebra.group));
  row("solvable",
      algebra.derived_length ? fmt::format("yes, derived length {}", *algebra.derived_length) : "no");
  fmt::print("\nat every length, at fixed precision, without positions:\n");
  for (const auto& f : followers)
    fmt::print("{:<28}{:<11}{:<34}{}\n", f.mixer, outcome_name(f.outcome),
               f.theorem.empty() ? "-" : fmt::format("{} [{}]", f.theorem, status_name(f.status)), f.note);
}

Result<int> run_class(const ClassFlags& flags) {
  if (flags.name.empty())
    return fail(ErrorCode::missing,
                "[class] no automaton; expected a task (parity, modulo, group, flipflop, dyck, counting) or "
                "an automaton file");
  RUNG_TRY(const NamedAutomaton named, named_automaton(flags));
  const FollowedAutomaton followed = followed_automaton(named.automaton);
  if (!followed.algebra) return fail(ErrorCode::resource, "{}, in {}", followed.refused, flags.name);
  const auto followers = followers_of(followed);
  if (flags.json)
    print_json(class_document(named, *followed.algebra, followers));
  else
    print_class(named, *followed.algebra, followers);
  return 0;
}

}  // namespace

Command class_command() {
  auto flags = std::make_shared<ClassFlags>();
  Command command{.name = "class", .summary = "the algebra of an automaton task, and who can follow it"};
  command.description =
      "The least automaton of a task, the monoid of the maps that words make of its states, and what is true "
      "of it: aperiodic, commutative, R-trivial, J-trivial, a group, solvable. NAME is an automaton task, "
      "dyck, counting with --k, or the path of an automaton (docs/tasks.md). The algebra is that of words of "
      "every length. Then which mixers can follow it at every length and which cannot, by which theorem.";
  command.examples = {"rung class group --name S5", "rung class dyck --k 2 --depth 3",
                      "rung class automaton.json --json"};
  command.options = {
      {"NAME", "the task: a word, or the path of an automaton", &flags->name},
      {"--json", "one JSON document, schema rung.class/1", &flags->json},
  };
  flags->sizes.declare(command);
  // Words of every length, wherever they are read.
  std::erase_if(command.options,
                [](const Option& option) { return option.names == "--n" || option.names == "--read"; });
  command.run = [flags] { return run_class(*flags); };
  return command;
}

}  // namespace rung::cli
