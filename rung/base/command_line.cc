#include "rung/base/command_line.h"

#include <algorithm>

namespace rung {
namespace {

std::string quoted_for_shell(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_./:@%+=,-").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return std::string(text);
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  const bool escaped = std::any_of(text.begin(), text.end(), control);
  std::string out = escaped ? "$'" : "'";
  for (const char c : text) {
    if (escaped && control(c))
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else if (escaped && (c == '\'' || c == '\\'))
      out += fmt::format("\\{}", c);
    else if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

}  // namespace

std::string shell_word(std::string_view text) {
  return quoted_for_shell(text.starts_with('-') ? fmt::format("./{}", text) : std::string(text));
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const auto& word : words) line += (line.empty() ? "" : " ") + quoted_for_shell(word);
  return line;
}

}  // namespace rung
