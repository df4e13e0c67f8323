// A list that a flag was given.
#pragma once

#include <string>
#include <vector>

namespace rung::cli {

// What stands between the separators, without blanks around it; one empty piece of an empty text.
inline std::vector<std::string> pieces(const std::string& text, char separator) {
  std::vector<std::string> out;
  std::size_t start = 0;
  for (;;) {
    const std::size_t end = text.find(separator, start);
    std::string piece = text.substr(start, end == std::string::npos ? end : end - start);
    const std::size_t first = piece.find_first_not_of(' '), last = piece.find_last_not_of(' ');
    out.push_back(first == std::string::npos ? "" : piece.substr(first, last - first + 1));
    if (end == std::string::npos) return out;
    start = end + 1;
  }
}

}  // namespace rung::cli
