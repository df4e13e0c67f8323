// A user's task as a finite automaton: a string of n symbols → whether the automaton accepts it, or the
// output of the state it ends in. Token ids number the alphabet in the order of the file.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "rung/base/nearest_word.h"
#include "rung/tasks/sampling.h"
#include "rung/tasks/token_task.h"
#include "rung/tasks/user_task.h"

namespace rung {
namespace {

using Json = nlohmann::json;

struct Automaton {
  std::vector<std::string> alphabet;
  std::vector<std::vector<std::size_t>> next;  // [state][symbol]
  std::vector<std::int64_t> output;            // [state]
  std::size_t start = 0;
  std::int64_t answers = 2;
  bool accepts = true;  // outputs are yes and no
};

class AutomatonTask final : public TokenTask {
 public:
  AutomatonTask(std::string name, Automaton automaton, std::int64_t n)
      : name_(std::move(name)), automaton_(std::move(automaton)), n_(n) {}

  std::string_view name() const override { return name_; }
  bool built_in() const override { return false; }
  SizeList size() const override { return {{"n", n_}}; }
  AnswerSpec answer_spec() const override {
    return automaton_.accepts ? boolean_answer() : token_answer(automaton_.answers);
  }
  std::int64_t prompt_length() const override { return n_; }
  bool supports(Variant variant) const override {
    return variant == Variant::uniform || variant == Variant::zipf;
  }

  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override {
    RUNG_REQUIRE(supports(variant), "{} {}", name_, variant_name(variant));
    Random random(seed, index);
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(n_));
    for (auto& token : tokens) token = draw(random, variant, vocabulary());
    Instance instance = token_instance(std::move(tokens), {});
    instance.answer = answer(instance.prompt);
    return instance;
  }
  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    std::size_t state = automaton_.start;
    for (const auto token : prompt.fields[0]) state = automaton_.next[state][static_cast<std::size_t>(token)];
    return {automaton_.output[state]};
  }
  std::string symbol(std::size_t, std::int64_t value) const override {
    return automaton_.alphabet[static_cast<std::size_t>(value)];
  }

 protected:
  std::int64_t vocabulary() const override { return static_cast<std::int64_t>(automaton_.alphabet.size()); }
  Range range(std::int64_t) const override { return {0, vocabulary()}; }

 private:
  std::string name_;
  Automaton automaton_;
  std::int64_t n_;
};

// A document in which no object names a field twice.
Result<Json> parse_document(std::string_view text) {
  std::vector<std::set<std::string>> names;
  std::string twice;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) names.emplace_back();
    if (event == Json::parse_event_t::object_end) names.pop_back();
    if (event == Json::parse_event_t::key && !names.back().insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return true;
  };
  Json document = Json::parse(text, watch, /*allow_exceptions=*/false);
  if (document.is_discarded() || !document.is_object())
    return fail(ErrorCode::parse, "[task] no JSON object; expected an automaton");
  if (!twice.empty())
    return fail(ErrorCode::format, "[task] field {} stands twice in an object", rung::quoted(twice));
  return document;
}

Result<std::vector<std::string>> read_names(const Json& document, const char* field) {
  constexpr std::size_t kLongestName = 32;
  const auto found = document.find(field);
  if (found == document.end() || !found->is_array() || found->empty())
    return fail(ErrorCode::format, "[task] \"{}\" of an automaton; expected a list of names", field);
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const auto& entry : *found) {
    if (!entry.is_string())
      return fail(ErrorCode::format, "[task] \"{}\" of an automaton; expected names in quotes", field);
    auto name = entry.get<std::string>();
    const bool plain = !name.empty() && name.size() <= kLongestName &&
                       std::all_of(name.begin(), name.end(),
                                   [](char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7F; });
    if (!plain)
      return fail(ErrorCode::format, "[task] {} in \"{}\"; expected 1 to {} characters without spaces",
                  rung::quoted(name), field, kLongestName);
    if (!seen.insert(name).second)
      return fail(ErrorCode::format, "[task] {} stands twice in \"{}\"", rung::quoted(name), field);
    names.push_back(std::move(name));
  }
  return names;
}

using Numbering = std::map<std::string, std::size_t>;

Numbering number(const std::vector<std::string>& names) {
  Numbering numbers;
  for (std::size_t i = 0; i < names.size(); ++i) numbers[names[i]] = i;
  return numbers;
}

Result<std::size_t> find_state(const Numbering& states, const Json& name, std::string_view where) {
  if (!name.is_string() || !states.contains(name.get<std::string>()))
    return fail(ErrorCode::format, "[task] {} names no state in \"{}\"; expected one of \"states\"",
                name.is_string() ? rung::quoted(name.get<std::string>())
                                 : rung::quoted(name.dump(-1, ' ', true, Json::error_handler_t::replace)),
                where);
  return states.at(name.get<std::string>());
}

Result<void> read_transitions(const Json& document, const std::vector<std::string>& states,
                              const Numbering& numbers, Automaton& automaton) {
  const auto found = document.find("transitions");
  if (found == document.end() || !found->is_object())
    return fail(ErrorCode::format,
                "[task] \"transitions\" of an automaton; expected {{state: {{symbol: state}}}}");
  for (const auto& [from, row] : found->items())
    if (!numbers.contains(from))
      return fail(ErrorCode::format,
                  "[task] {} names no state in \"transitions\"; expected one of \"states\"",
                  rung::quoted(from));
  for (const auto& from : states) {
    const auto row = found->find(from);
    if (row == found->end() || !row->is_object() || row->size() != automaton.alphabet.size())
      return fail(ErrorCode::format,
                  "[task] transitions of state {}; expected one for each of the {} symbols",
                  rung::quoted(from), automaton.alphabet.size());
    auto& next = automaton.next.emplace_back();
    for (const auto& symbol : automaton.alphabet) {
      const auto to = row->find(symbol);
      if (to == row->end())
        return fail(ErrorCode::format, "[task] state {} has no transition for {}", rung::quoted(from),
                    rung::quoted(symbol));
      RUNG_TRY(const std::size_t state, find_state(numbers, *to, "transitions"));
      next.push_back(state);
    }
  }
  return {};
}

Result<void> read_outputs(const Json& document, const std::vector<std::string>& states,
                          const Numbering& numbers, Automaton& automaton) {
  const bool accepting = document.contains("accepting"), outputs = document.contains("outputs");
  if (accepting == outputs)
    return fail(
        ErrorCode::format,
        "[task] an automaton has \"accepting\" (states) or \"outputs\" (a number a state), one of them");
  automaton.output.assign(states.size(), 0);
  if (accepting) {
    const auto& list = document["accepting"];
    if (!list.is_array())
      return fail(ErrorCode::format, "[task] \"accepting\" of an automaton; expected a list of states");
    for (const auto& name : list) {
      RUNG_TRY(const std::size_t state, find_state(numbers, name, "accepting"));
      automaton.output[state] = 1;
    }
    return {};
  }
  automaton.accepts = false;
  const auto& table = document["outputs"];
  if (!table.is_object() || table.size() != states.size())
    return fail(ErrorCode::format,
                "[task] \"outputs\" of an automaton; expected a number for each of the {} states",
                states.size());
  for (const auto& [name, value] : table.items()) {
    RUNG_TRY(const std::size_t state, find_state(numbers, name, "outputs"));
    if (!value.is_number_integer() || value < 0 || value >= kMaxAlphabet)
      return fail(ErrorCode::format, "[task] output of state {}; expected a whole number from 0 to {}",
                  rung::quoted(name), kMaxAlphabet - 1);
    automaton.output[state] = value.get<std::int64_t>();
    automaton.answers = std::max(automaton.answers, 1 + automaton.output[state]);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Task>> read_automaton_task(std::string name, std::string_view text,
                                                  const TaskSizes& sizes) {
  static constexpr std::string_view kFields[] = {"alphabet",  "states",  "start",  "transitions",
                                                 "accepting", "outputs", "length", "about"};
  RUNG_TRY(const Json document, parse_document(text));
  for (const auto& [field, value] : document.items())
    if (std::find(std::begin(kFields), std::end(kFields), field) == std::end(kFields))
      return fail(ErrorCode::format, "[task] unknown field {} of an automaton; {}", rung::quoted(field),
                  suggest(field, kFields));
  for (const auto& [size, value] : sizes)
    if (size != "n")
      return fail(ErrorCode::parse, "[task] an automaton has no size {}; expected n", rung::quoted(size));
  Automaton automaton;
  RUNG_TRY(automaton.alphabet, read_names(document, "alphabet"));
  RUNG_TRY(const auto states, read_names(document, "states"));
  const Numbering numbers = number(states);
  if (!document.contains("start")) return fail(ErrorCode::missing, "[task] an automaton without \"start\"");
  RUNG_TRY(automaton.start, find_state(numbers, document["start"], "start"));
  RUNG_CHECK(read_transitions(document, states, numbers, automaton));
  RUNG_CHECK(read_outputs(document, states, numbers, automaton));
  std::int64_t n = size_or(sizes, "n", 0);
  if (!sizes.contains("n")) {
    const auto length = document.find("length");
    if (length == document.end())
      return fail(ErrorCode::missing,
                  "[task] the length of the prompts is missing; give \"length\" in the file or --n");
    if (!length->is_number_integer() || *length < 1 || *length > kMaxPromptLength)
      return fail(ErrorCode::range, "[task] \"length\" of an automaton; expected a whole number from 1 to {}",
                  kMaxPromptLength);
    n = length->get<std::int64_t>();
  }
  if (n < 1 || n > kMaxPromptLength)
    return fail(ErrorCode::range, "[task] n = {} of an automaton; expected 1 to {}", n, kMaxPromptLength);
  return new_task<AutomatonTask>(std::move(name), std::move(automaton), n);
}

}  // namespace rung
