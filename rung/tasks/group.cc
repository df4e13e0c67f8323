// The word problem of a group: ^ and n letters → their product, a number of [|G|]. Letters are all elements, in their
// order, or (letters = generators) the identity and a generating set. Groups, their numbering and generators:
// finite_group.h; a group of one's own is a Cayley table in a file.

#include "rung/base/json_text.h"
#include "rung/tasks/automaton_task.h"
#include "rung/tasks/finite_group.h"

namespace rung {
namespace {

constexpr std::string_view kDefaultGroup = "S3";

Automaton group_automaton(const FiniteGroup& group, bool generators) {
  std::vector<std::uint32_t> letters;
  if (generators) letters.push_back(group.identity);
  for (std::uint32_t a = 0; a < group.order(); ++a)
    if (!generators) letters.push_back(a);
  if (generators) letters.insert(letters.end(), group.generators.begin(), group.generators.end());
  Automaton automaton{.states = group.elements, .start = group.identity, .answers = group.order()};
  for (const auto letter : letters) automaton.letters.push_back(group.elements[letter]);
  for (std::uint32_t state = 0; state < group.order(); ++state) {
    automaton.out.push_back(state);
    for (const auto letter : letters) automaton.next.push_back(group.product(state, letter));
  }
  return automaton;
}

Result<std::unique_ptr<Task>> make_group(const TaskSizes& sizes, const TaskOptions& options) {
  const auto word = [&](const char* option, std::string_view fallback) {
    const auto found = options.find(option);
    return found == options.end() ? std::string(fallback) : found->second;
  };
  const std::string name = word("name", kDefaultGroup);
  const bool generators = word("letters", "all") == "generators", file = name.ends_with(".json");
  const auto group = [&]() -> Result<FiniteGroup> {
    if (!file) return named_group(name);
    RUNG_TRY(const std::string text, read_text_file(name, "task"));
    auto parsed = parse_cayley_table(text);
    if (!parsed) return fail(parsed.error().code, "{}, in {}", parsed.error().message, name);
    return parsed;
  }();
  if (!group) return group.error();
  TaskOptions own;
  if (name != kDefaultGroup) own["name"] = name;
  if (generators) own["letters"] = "generators";
  return new_automaton_task(
      {.name = "group", .own_options = std::move(own), .built_in = !file, .contrast = another_letter},
      group_automaton(*group, generators), sizes, options);
}

}  // namespace

TaskWord group_word() {
  return {
      .name = "group",
      .summary = "^, then n elements of a group -> their product",
      .sizes = {letters_size()},
      .make = make_group,
      .options = {{.name = "name",
                   .help = "the group: Z5, D4, Q8, S3, A4, Z2xZ2 and the like, or the path of a Cayley table",
                   .words = {kDefaultGroup, "Z5", "D4", "Q8", "A4", "S4", "A5", "S5"},
                   .open = true},
                  {.name = "letters",
                   .help = "which elements stand in a prompt: all, or the identity and generators",
                   .words = {"all", "generators"}},
                  read_option()}};
}

}  // namespace rung
