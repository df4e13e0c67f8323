#include "rung/base/nearest_word.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace rung {

namespace {
constexpr std::size_t kLongestWord = 64;
constexpr std::size_t kLongestQuote = 40;
}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  if (a.size() > kLongestWord || b.size() > kLongestWord) return std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string_view nearest_word(std::string_view typed, std::span<const std::string_view> known) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, typed.size() / 2) + 1;
  for (const auto word : known) {
    const std::size_t distance = edit_distance(typed, word);
    if (distance >= best_distance || distance >= word.size()) continue;
    best = word;
    best_distance = distance;
  }
  return best;
}

std::string suggest(std::string_view typed, std::span<const std::string_view> known,
                    std::string_view otherwise) {
  const auto near = nearest_word(typed, known);
  return near.empty() ? std::string(otherwise) : fmt::format("did you mean \"{}\"?", near);
}

std::string suggest(std::string_view typed, std::span<const std::string_view> known) {
  if (known.empty()) return "nothing is expected here";
  return suggest(typed, known,
                 fmt::format("expected {}{}", known.size() > 1 ? "one of " : "", fmt::join(known, ", ")));
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  const bool cut = text.size() > kLongestQuote;
  std::size_t end = cut ? kLongestQuote : text.size();
  // Never cut inside a UTF-8 sequence.
  while (cut && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  for (const char c : text.substr(0, end)) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  return out + (cut ? "...\"" : "\"");
}

}  // namespace rung
