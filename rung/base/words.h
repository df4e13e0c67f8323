// Enums whose values have names: one list each, which writing and reading share.
//   template <> inline constexpr auto kWords<Decision> =
//       std::to_array<std::string_view>({"held", "failed", "undecided"});
//   name_of(Decision::held)          // "held"
//   find_word<Decision>("failed")    // Decision::failed
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "rung/base/nearest_word.h"
#include "rung/base/result.h"

namespace rung {

template <class Word>
inline constexpr std::nullptr_t kWords = nullptr;  // an enum without names has no words

template <class Word>
concept NamedWord = !std::is_same_v<std::remove_cv_t<decltype(kWords<Word>)>, std::nullptr_t>;

template <NamedWord Word>
constexpr std::string_view name_of(Word word) {
  return kWords<Word>[static_cast<std::size_t>(word)];
}

template <NamedWord Word>
constexpr std::optional<Word> find_word(std::string_view text) {
  for (std::size_t i = 0; i < kWords<Word>.size(); ++i)
    if (kWords<Word>[i] == text) return static_cast<Word>(i);
  return std::nullopt;
}

// Errors: "`where` "text"; did you mean ...".
template <NamedWord Word>
Result<Word> parse_word(std::string_view text, std::string_view where) {
  if (const auto word = find_word<Word>(text)) return *word;
  return fail(ErrorCode::parse, "{} {}; {}", where, quoted(text), suggest(text, kWords<Word>));
}

}  // namespace rung
