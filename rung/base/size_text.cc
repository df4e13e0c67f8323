#include "rung/base/size_text.h"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "rung/base/nearest_word.h"

namespace rung {
namespace {

using Wide = __int128;
constexpr Wide kWidestSize = std::numeric_limits<std::int64_t>::max();

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<Wide> suffix_factor(std::string_view suffix) {
  if (suffix.empty()) return 1;
  if (suffix.size() > 2 || (suffix.size() == 2 && suffix[1] != 'i')) return std::nullopt;
  switch (suffix[0]) {
    case 'k':
    case 'K':
      return Wide{1} << 10;
    case 'm':
    case 'M':
      return Wide{1} << 20;
    case 'g':
    case 'G':
      return Wide{1} << 30;
    case 't':
    case 'T':
      return Wide{1} << 40;
  }
  return std::nullopt;
}

// Digits with one kind of separator before every third from the right, or with none.
std::optional<std::string> without_separators(std::string_view digits) {
  const std::size_t first = digits.find_first_of(",_");
  if (first == std::string_view::npos) return std::string(digits);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const bool here = (digits.size() - i) % 4 == 0 && i > 0;
    if (here != (digits[i] == digits[first])) return std::nullopt;
    if (!here) out += digits[i];
  }
  return out;
}

// The parts of a size; nothing where the text is not made of them.
struct SizeParts {
  std::string digits;        // whole and fraction
  std::size_t fraction = 0;  // how many of them stand behind the point
  std::size_t exponent = 0;  // of ten
  Wide factor = 1;           // of the suffix
};

std::optional<SizeParts> size_parts(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && (is_decimal_digit(text[end]) || text[end] == ',' || text[end] == '_')) ++end;
  SizeParts parts;
  const auto whole = without_separators(text.substr(0, end));
  if (!whole || whole->empty() || !is_decimal_digit(text[0])) return std::nullopt;
  parts.digits = *whole;
  if (end < text.size() && text[end] == '.') {
    const std::size_t begin = ++end;
    while (end < text.size() && is_decimal_digit(text[end])) ++end;
    if (end == begin) return std::nullopt;
    parts.digits += text.substr(begin, end - begin);
    parts.fraction = end - begin;
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    ++end;
    if (end < text.size() && text[end] == '+') ++end;
    const std::size_t begin = end;
    while (end < text.size() && is_decimal_digit(text[end])) ++end;
    if (end != text.size() || end == begin || end - begin > 2) return std::nullopt;
    for (std::size_t i = begin; i < end; ++i)
      parts.exponent = 10 * parts.exponent + static_cast<std::size_t>(text[i] - '0');
    return parts;
  }
  const auto factor = suffix_factor(text.substr(end));
  if (!factor) return std::nullopt;
  parts.factor = *factor;
  return parts;
}

}  // namespace

Result<std::int64_t> parse_size(std::string_view text) {
  const bool negative = text.starts_with('-');
  const auto parts = size_parts(negative ? text.substr(1) : text);
  if (!parts)
    return fail(
        ErrorCode::parse,
        "[size] {} is not a whole number; expected one such as 4096, 128k (131,072), 1M (1,048,576) or 1e6",
        quoted(text));
  const auto too_large = [&] {
    return fail(ErrorCode::range, "[size] {} is larger than 2^63", quoted(text));
  };
  Wide value = 0;
  for (const char digit : parts->digits) {
    value = 10 * value + (digit - '0');
    if (value > kWidestSize) return too_large();
  }
  value *= parts->factor;  // at most 2^63 · 2^40
  std::size_t fraction = parts->fraction;
  for (std::size_t i = 0; i < parts->exponent; ++i) {
    if (fraction > 0) {
      --fraction;
      continue;
    }
    value *= 10;
    if (value > kWidestSize) return too_large();
  }
  for (; fraction > 0; --fraction) {
    if (value % 10 != 0) return fail(ErrorCode::parse, "[size] {} is not a whole number", quoted(text));
    value /= 10;
  }
  if (value > kWidestSize) return too_large();
  return static_cast<std::int64_t>(negative ? -value : value);
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::ptrdiff_t sign = number < 0 ? 1 : 0;
  for (std::ptrdiff_t i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > sign; i -= 3)
    digits.insert(static_cast<std::size_t>(i), 1, ',');
  return digits;
}

std::string size_note(std::string_view text) {
  const auto value = parse_size(text);
  if (!value || text.find_first_not_of("+-0123456789,_") == std::string_view::npos) return "";
  return fmt::format("{} is {}", text, grouped(*value));
}

}  // namespace rung
