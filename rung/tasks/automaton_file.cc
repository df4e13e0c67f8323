// A user's automaton, read from its JSON text (docs/formats.md). Token ids number the alphabet in the order of the
// file.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "rung/base/nearest_word.h"
#include "rung/tasks/automaton.h"
#include "rung/tasks/task.h"

namespace rung {
namespace {

using Json = nlohmann::json;

// A document in which no object names a field twice.
Result<Json> parse_automaton_document(std::string_view text) {
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

using Numbering = std::map<std::string, std::uint32_t>;

Numbering number(const std::vector<std::string>& names) {
  Numbering numbers;
  for (std::size_t i = 0; i < names.size(); ++i) numbers[names[i]] = static_cast<std::uint32_t>(i);
  return numbers;
}

Result<std::uint32_t> find_state(const Numbering& states, const Json& name, std::string_view where) {
  if (!name.is_string() || !states.contains(name.get<std::string>()))
    return fail(ErrorCode::format, "[task] {} names no state in {}; expected one of \"states\"",
                name.is_string() ? rung::quoted(name.get<std::string>())
                                 : rung::quoted(name.dump(-1, ' ', true, Json::error_handler_t::replace)),
                where);
  return states.at(name.get<std::string>());
}

Result<void> read_transitions(const Json& document, const Numbering& numbers, Automaton& automaton) {
  const auto found = document.find("transitions");
  if (found == document.end() || !found->is_object())
    return fail(ErrorCode::format,
                "[task] \"transitions\" of an automaton; expected {{state: {{symbol: state}}}}");
  for (const auto& [from, row] : found->items())
    if (!numbers.contains(from))
      return fail(ErrorCode::format,
                  "[task] {} names no state in \"transitions\"; expected one of \"states\"",
                  rung::quoted(from));
  const Numbering letters = number(automaton.letters);
  for (const auto& from : automaton.states) {
    const auto row = found->find(from);
    if (row == found->end() || !row->is_object())
      return fail(ErrorCode::format,
                  "[task] state {} has no transitions; expected one for each of the {} symbols",
                  rung::quoted(from), automaton.letters.size());
    for (const auto& [symbol, to] : row->items())
      if (!letters.contains(symbol))
        return fail(ErrorCode::format,
                    "[task] state {} has a transition for {}, which is not in \"alphabet\"",
                    rung::quoted(from), rung::quoted(symbol));
    for (const auto& symbol : automaton.letters) {
      const auto to = row->find(symbol);
      if (to == row->end())
        return fail(ErrorCode::format, "[task] state {} has no transition for {}", rung::quoted(from),
                    rung::quoted(symbol));
      RUNG_TRY(const std::uint32_t state, find_state(numbers, *to,
                                                     fmt::format("the transition of {} for {}",
                                                                 rung::quoted(from), rung::quoted(symbol))));
      automaton.next.push_back(state);
    }
  }
  return {};
}

Result<void> read_outputs(const Json& document, const Numbering& numbers, Automaton& automaton) {
  const bool accepting = document.contains("accepting"), outputs = document.contains("outputs");
  if (accepting == outputs)
    return fail(
        ErrorCode::format,
        "[task] an automaton has \"accepting\" (states) or \"outputs\" (a number a state), one of them");
  automaton.out.assign(automaton.states.size(), 0);
  automaton.accepts = accepting;
  if (accepting) {
    const auto& list = document["accepting"];
    if (!list.is_array())
      return fail(ErrorCode::format, "[task] \"accepting\" of an automaton; expected a list of states");
    for (const auto& name : list) {
      RUNG_TRY(const std::uint32_t state, find_state(numbers, name, "\"accepting\""));
      if (automaton.out[state] == 1)
        return fail(ErrorCode::format, "[task] {} stands twice in \"accepting\"",
                    rung::quoted(automaton.states[state]));
      automaton.out[state] = 1;
    }
    return {};
  }
  const auto& table = document["outputs"];
  if (!table.is_object())
    return fail(ErrorCode::format,
                "[task] \"outputs\" of an automaton; expected a number for each of the {} states",
                automaton.states.size());
  for (const auto& name : automaton.states)
    if (!table.contains(name))
      return fail(ErrorCode::format, "[task] state {} has no output", rung::quoted(name));
  for (const auto& [name, value] : table.items()) {
    RUNG_TRY(const std::uint32_t state, find_state(numbers, name, "\"outputs\""));
    if (!value.is_number_integer() || value < 0 || value >= kMaxAlphabet)
      return fail(ErrorCode::format, "[task] output of state {}; expected a whole number from 0 to {}",
                  rung::quoted(name), kMaxAlphabet - 1);
    automaton.out[state] = value.get<std::int64_t>();
    automaton.answers = std::max(automaton.answers, 1 + automaton.out[state]);
  }
  return {};
}

}  // namespace

Result<AutomatonFile> parse_automaton(std::string_view text) {
  static constexpr std::string_view kFields[] = {"alphabet",  "states",  "start",  "transitions",
                                                 "accepting", "outputs", "length", "about"};
  RUNG_TRY(const Json document, parse_automaton_document(text));
  for (const auto& [field, value] : document.items())
    if (std::find(std::begin(kFields), std::end(kFields), field) == std::end(kFields))
      return fail(ErrorCode::format, "[task] unknown field {} of an automaton; {}", rung::quoted(field),
                  suggest(field, kFields));
  AutomatonFile file;
  Automaton& automaton = file.automaton;
  RUNG_TRY(automaton.letters, read_names(document, "alphabet"));
  RUNG_TRY(automaton.states, read_names(document, "states"));
  const auto transitions = static_cast<std::uint64_t>(automaton.states.size()) *
                           static_cast<std::uint64_t>(automaton.letters.size());
  if (transitions > kMaxTransitions)
    return fail(ErrorCode::resource,
                "[task] an automaton of {} states and {} symbols; expected at most {} transitions",
                automaton.states.size(), automaton.letters.size(), kMaxTransitions);
  const Numbering numbers = number(automaton.states);
  if (!document.contains("start")) return fail(ErrorCode::missing, "[task] an automaton without \"start\"");
  RUNG_TRY(automaton.start, find_state(numbers, document["start"], "\"start\""));
  RUNG_CHECK(read_transitions(document, numbers, automaton));
  RUNG_CHECK(read_outputs(document, numbers, automaton));
  const auto reached = reachable_states(automaton);
  for (std::size_t q = 0; q < reached.size(); ++q)
    if (!reached[q])
      return fail(ErrorCode::format,
                  "[task] no word leads from the start {} to the state {}; expected states that are reached",
                  rung::quoted(automaton.states[automaton.start]), rung::quoted(automaton.states[q]));
  if (const auto length = document.find("length"); length != document.end()) {
    if (!length->is_number_integer() || *length < 1 || *length >= kMaxPromptLength)
      return fail(ErrorCode::range, "[task] \"length\" of an automaton; expected a whole number from 1 to {}",
                  kMaxPromptLength - 1);
    file.length = length->get<std::int64_t>();
  }
  return file;
}

}  // namespace rung
