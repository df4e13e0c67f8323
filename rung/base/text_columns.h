// Widths of UTF-8 text in a table.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace rung {

// Code points, which is what a terminal shows for the letters and symbols that rung prints.
inline std::size_t text_columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// `text` with spaces behind it up to `width` columns.
inline std::string padded_text(std::string text, std::size_t width) {
  const std::size_t have = text_columns(text);
  if (have < width) text.append(width - have, ' ');
  return text;
}

}  // namespace rung
