#include "rung/tasks/proper_names.h"

#include <fmt/format.h>

#include <array>

#include "rung/base/require.h"

namespace rung {
namespace {

constexpr std::string_view kConsonants = "bdfgklmnprstvz";
constexpr std::string_view kVowels = "aiou";
constexpr std::int64_t kSyllables = static_cast<std::int64_t>(kConsonants.size() * kVowels.size());

// A person's name ends in a vowel, a place's in one of these; none is the end of another.
constexpr std::array<std::string_view, kEntityKinds> kEndings = {"",     "ton",  "berg", "ford", "wick",
                                                                 "holm", "dorf", "stad", "mark"};

constexpr std::array<std::string_view, 24> kRelations = {
    "mayor",  "river", "market",  "garden", "teacher", "bridge",  "harbour", "baker",
    "tower",  "rival", "library", "patron", "school",  "painter", "mill",    "doctor",
    "chapel", "guild", "museum",  "judge",  "orchard", "captain", "theatre", "founder"};

}  // namespace

std::string entity_name(std::int64_t kind, std::int64_t number) {
  RUNG_REQUIRE(kind >= 0 && kind < kEntityKinds && number >= 0, "kind={} number={}", kind, number);
  // Syllables are the digits of the number, two at least. So that neighbours do not look alike, a digit is
  // stretched by a stride without a factor in common with the number of syllables, and moved by the syllable
  // before it.
  constexpr std::int64_t kStride = 25;
  std::string name;
  std::int64_t syllable = 0;
  for (int digit = 0; digit < 2 || number > 0; ++digit, number /= kSyllables) {
    syllable = (number % kSyllables * kStride + 3 * syllable + digit) % kSyllables;
    const auto place = static_cast<std::size_t>(syllable);
    name += kConsonants[place % kConsonants.size()];
    name += kVowels[place / kConsonants.size()];
  }
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name + std::string(kEndings[static_cast<std::size_t>(kind)]);
}

std::string relation_word(std::int64_t number) {
  RUNG_REQUIRE(number >= 0, "number={}", number);
  const auto round = number / static_cast<std::int64_t>(kRelations.size());
  const auto word = kRelations[static_cast<std::size_t>(number) % kRelations.size()];
  return round == 0 ? std::string(word) : fmt::format("{}{}", word, round + 1);
}

}  // namespace rung
