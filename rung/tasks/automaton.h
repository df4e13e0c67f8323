// A complete deterministic automaton with an answer at every state (a Moore machine): what an automaton task
// asks a model to follow.
//
//   Automaton parity = ...;                        // states even, odd; letters 0, 1
//   parity.out[parity.run(word)]                   // the answer to ^ word
//   Automaton least = minimised(parity);           // the algebra (monoid.h) is about this one
//
// A letter's number is its token's id; the start sign ^ has the id after the last letter's. Nothing else stands
// between a prompt and the automaton: docs/tasks.md, automaton tasks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rung/base/result.h"

namespace rung {

inline constexpr std::int64_t kMaxTransitions = std::int64_t{1} << 24;  // states times letters

struct Automaton {
  std::vector<std::string> letters;  // names, by number
  std::vector<std::string> states;   // names, by number
  std::vector<std::uint32_t> next;   // [state * letters.size() + letter]
  std::vector<std::int64_t> out;     // [state], the answer: a number of [answers]
  std::uint32_t start = 0;
  std::int64_t answers = 2;
  bool accepts = false;  // the answer is no (0) or yes (1)

  std::uint32_t letter_count() const { return static_cast<std::uint32_t>(letters.size()); }
  std::uint32_t state_count() const { return static_cast<std::uint32_t>(states.size()); }
  // REQUIRES state and letter in range, here and below.
  std::uint32_t step(std::uint32_t state, std::uint32_t letter) const {
    return next[static_cast<std::size_t>(state) * letters.size() + letter];
  }
  std::uint32_t run(std::span<const std::uint32_t> word, std::uint32_t from) const;
  std::uint32_t run(std::span<const std::uint32_t> word) const { return run(word, start); }
  bool operator==(const Automaton&) const = default;
};

// Whether a state comes after some word, by number.
std::vector<bool> reachable_states(const Automaton& automaton);

// The least automaton with the same answers: reachable states, equal ones made one. ENSURES: states numbered in the
// order in which words of growing length, letters in order, first come to them (so start is 0), each with the name of
// its first member; two automata over the same letters have the same answers iff next and out of their least ones agree.
Automaton minimised(const Automaton& automaton);

// The letters that change no state. REQUIRES nothing; of a least automaton these are the neutral ones.
std::vector<std::uint32_t> neutral_letters(const Automaton& automaton);

// A user's file (docs/formats.md): the automaton, and the number of letters of a prompt where it gives one.
struct AutomatonFile {
  Automaton automaton;
  std::optional<std::int64_t> length;
};
// ENSURES: one-line errors that name the entry: a transition that is missing, a state that no word comes to, a name
// that stands twice. Memory in proportion to the text.
Result<AutomatonFile> parse_automaton(std::string_view text);

}  // namespace rung
