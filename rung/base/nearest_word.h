// Suggestions in error messages: the known word that a mistyped one is closest to.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rung {

// Insertions, deletions, substitutions and swaps of neighbours that turn one word into the other (optimal
// string alignment). Cost |a|·|b|; words longer than 64 bytes count as infinitely far from everything.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The closest known word, the first of equals; empty when none is within half of the typed word's length
// (at least 2 edits are always allowed).
std::string_view nearest_word(std::string_view typed, std::span<const std::string_view> known);

// `did you mean "full"?`, or `expected one of full, linear` when nothing is near; ready to follow "; ".
std::string suggest(std::string_view typed, std::span<const std::string_view> known);

// The same where the words are too many to be printed: `otherwise` when nothing is near.
std::string suggest(std::string_view typed, std::span<const std::string_view> known,
                    std::string_view otherwise);

// Text of the outside world inside a message: quoted, control bytes as '?', cut after 40 bytes.
std::string quoted(std::string_view text);

}  // namespace rung
