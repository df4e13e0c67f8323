#include "rung/tasks/automaton_task.h"

#include <algorithm>
#include <numeric>

#include "rung/base/nearest_word.h"
#include "rung/tasks/sampling.h"
#include "rung/tasks/user_task.h"

namespace rung {
namespace {

// Brackets of k types nested to depth D: a state is the string of open brackets, or the sink of a mistake. Strings are
// numbered by length and then in order: number i followed by type t is number i k + t + 1, so its last bracket is
// (i - 1) mod k and what is left without it is number ⌊(i - 1) / k⌋.
Result<Automaton> dyck_automaton(std::int64_t types, std::int64_t depth) {
  const auto too_large = [&] {
    return fail(ErrorCode::resource, "[task] dyck of k = {} and depth = {}; expected at most {} transitions",
                types, depth, kMaxTransitions);
  };
  if (types > kMaxTransitions / 4) return too_large();
  const std::int64_t letters = 2 * types, most = kMaxTransitions / letters - 1;
  std::int64_t strings = 1,
               closed = 0;  // closed: strings shorter than `depth`, which may still open a bracket
  for (std::int64_t length = 0, of_length = 1; length < depth; ++length) {
    closed += of_length;
    of_length *= types;  // at most `most` times `types`
    strings += of_length;
    if (strings > most) return too_large();
  }
  Automaton automaton{.accepts = true};
  for (std::int64_t letter = 0; letter < letters; ++letter)
    automaton.letters.push_back(fmt::format("{}{}", letter < types ? '(' : ')', letter % types));
  for (std::int64_t i = 0; i <= strings; ++i) {
    const bool sink = i == strings;
    automaton.out.push_back(i == 0 ? 1 : 0);
    automaton.states.push_back(sink ? "wrong" : fmt::format("open{}", i));
    for (std::int64_t letter = 0; letter < letters; ++letter) {
      std::int64_t to = strings;
      if (letter < types && i < closed) to = i * types + letter + 1;
      if (letter >= types && i > 0 && !sink && (i - 1) % types == letter - types) to = (i - 1) / types;
      automaton.next.push_back(static_cast<std::uint32_t>(to));
    }
  }
  return automaton;
}

// Whether the symbol 0 of [sigma] has come k times: a state is how often it has, up to k.
Result<Automaton> counting_automaton(std::int64_t sigma, std::int64_t k) {
  if (k == 0)
    return fail(ErrorCode::unsupported,
                "[task] counting is an automaton task with a fixed number of times only; give k, at least 1");
  if (k >= kMaxTransitions / sigma)
    return fail(ErrorCode::resource,
                "[task] counting of k = {} and sigma = {}; expected fewer than {} transitions", k, sigma,
                kMaxTransitions);
  Automaton automaton{.accepts = true};
  for (std::int64_t letter = 0; letter < sigma; ++letter) automaton.letters.push_back(std::to_string(letter));
  for (std::int64_t count = 0; count <= k; ++count) {
    automaton.states.push_back(fmt::format("seen{}", count));
    automaton.out.push_back(count == k ? 1 : 0);
    for (std::int64_t letter = 0; letter < sigma; ++letter)
      automaton.next.push_back(static_cast<std::uint32_t>(std::min(k, count + (letter == 0 ? 1 : 0))));
  }
  return automaton;
}

}  // namespace

SizeList AutomatonTask::size() const {
  SizeList sizes{{"n", n_}};
  for (const auto& [name, value] : form_.own_sizes) sizes.add(name, value);
  return sizes;
}

TaskOptions AutomatonTask::options() const {
  TaskOptions options = form_.own_options;
  if (everywhere_) options["read"] = "all";
  return options;
}

std::vector<std::int64_t> AutomatonTask::query_positions() const {
  if (!everywhere_) return {n_};
  std::vector<std::int64_t> positions(static_cast<std::size_t>(n_));
  std::iota(positions.begin(), positions.end(), 1);
  return positions;
}

bool AutomatonTask::supports(Variant variant) const {
  switch (variant) {
    case Variant::uniform:
    case Variant::zipf:
      return true;
    case Variant::adversarial:
      return form_.contrast != nullptr;
    case Variant::permutation:
      return false;
  }
  return false;
}

Instance AutomatonTask::generate(Variant variant, std::uint64_t seed, std::uint64_t index) const {
  RUNG_REQUIRE(supports(variant), "{} {}", name(), variant_name(variant));
  Draw drawn(variant, seed, index);
  std::vector<std::int64_t> word(static_cast<std::size_t>(n_));
  for (auto& letter : word) letter = draw(drawn.random, variant, start_sign());
  if (variant == Variant::adversarial) {
    const auto place = static_cast<std::size_t>(drawn.random.below(word.size()));
    const std::int64_t other = form_.contrast(automaton_, drawn.random, word, place);
    if (drawn.flipped) word[place] = other;
  }
  word.insert(word.begin(), start_sign());
  Instance instance = token_instance(std::move(word), {});
  instance.answer = answer(instance.prompt);
  return instance;
}

std::vector<std::int64_t> AutomatonTask::answer(const Prompt& prompt) const {
  std::vector<std::int64_t> answers;
  if (everywhere_) answers.reserve(static_cast<std::size_t>(n_));
  std::uint32_t state = automaton_.start;
  const auto& tokens = prompt.fields[0];
  for (std::size_t t = 1; t < tokens.size(); ++t) {
    state = automaton_.step(state, static_cast<std::uint32_t>(tokens[t]));
    if (everywhere_) answers.push_back(automaton_.out[state]);
  }
  if (!everywhere_) answers.push_back(automaton_.out[state]);
  return answers;
}

std::string AutomatonTask::symbol(std::size_t, std::int64_t value) const {
  return value == start_sign() ? "^" : automaton_.letters[static_cast<std::size_t>(value)];
}

std::optional<Task::Language> AutomatonTask::language(const Instance& instance) const {
  if (form_.tell == nullptr || everywhere_) return std::nullopt;
  const std::span<const std::int64_t> tokens(instance.prompt.fields[0]);
  return Language{form_.tell(automaton_, tokens.subspan(1)),
                  form_.tell_answer(automaton_, instance.answer.front())};
}

TokenTask::Range AutomatonTask::range(std::int64_t position) const {
  return position == 0 ? Range{start_sign(), 1} : Range{0, start_sign()};
}

TaskWord::Size letters_size() { return {"n", "letters", kDefaultLetters, 1, kMaxLetters}; }

TaskWord::Option read_option() {
  return {"read", "where answers are read: at the last place, or at every one", {"last", "all"}};
}

Result<std::unique_ptr<Task>> new_automaton_task(AutomatonTaskForm form, Automaton automaton,
                                                 const TaskSizes& sizes, const TaskOptions& options) {
  const auto read = options.find("read");
  return new_task<AutomatonTask>(std::move(form), std::move(automaton), sizes.at("n"),
                                 read != options.end() && read->second == "all");
}

std::int64_t another_letter(const Automaton& automaton, Random& random, AutomatonTaskForm::Letters& word,
                            std::size_t place) {
  return other_than(random, word[place], static_cast<std::int64_t>(automaton.letters.size()));
}

Result<Automaton> task_automaton(const Task& task) {
  if (const Automaton* automaton = task.automaton()) return *automaton;
  if (task.built_in() && task.name() == "dyck")
    return dyck_automaton(task.size().at("k"), task.size().at("depth"));
  if (task.built_in() && task.name() == "counting")
    return counting_automaton(task.size().at("sigma"), task.size().at("k"));
  return fail(
      ErrorCode::unsupported,
      "[task] {} is not an automaton task; expected parity, modulo, group, flipflop, dyck, counting or an "
      "automaton file",
      task.name());
}

Result<std::unique_ptr<Task>> read_automaton_task(std::string name, std::string_view text,
                                                  const TaskSizes& sizes, const TaskOptions& options) {
  for (const auto& [size, value] : sizes)
    if (size != "n")
      return fail(ErrorCode::parse, "[task] an automaton has no size {}; expected n", rung::quoted(size));
  for (const auto& [option, value] : options) {
    if (option != "read")
      return fail(ErrorCode::parse, "[task] an automaton has no option {}; expected read",
                  rung::quoted(option));
    if (value != "last" && value != "all")
      return fail(ErrorCode::parse, "[task] unknown read {} of an automaton; expected last or all",
                  rung::quoted(value));
  }
  RUNG_TRY(AutomatonFile file, parse_automaton(text));
  const std::int64_t n = size_or(sizes, "n", file.length.value_or(kDefaultLetters));
  if (n < 1 || n > kMaxLetters)
    return fail(ErrorCode::range, "[task] n = {} of an automaton; expected 1 to {}", n, kMaxLetters);
  return new_automaton_task({.name = std::move(name), .built_in = false}, std::move(file.automaton),
                            {{"n", n}}, options);
}

}  // namespace rung
