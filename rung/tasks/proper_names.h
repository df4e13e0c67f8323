// Words for plain-language prompts: names of people and places made of syllables, and nouns of relations. Two
// different (kind, number) never share a name, and a name never equals a relation word.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rung {

inline constexpr std::int64_t kEntityKinds = 9;
inline constexpr std::string_view kHomeWord = "home";

// Kind 0 are people ("Bado"); kinds 1 .. 8 are places, told apart by their ending ("Kiluton", "Kiluberg").
// REQUIRES 0 <= kind < kEntityKinds, number >= 0.
std::string entity_name(std::int64_t kind, std::int64_t number);

// "mayor", "river", …; beyond the list "mayor2", "river2", …. REQUIRES number >= 0.
std::string relation_word(std::int64_t number);

}  // namespace rung
