#include "rung/base/json_text.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "rung/base/nearest_word.h"

namespace rung {
namespace {

// The text with the three bare words turned into null; `longer` are the places where it grew by a byte
// ("NaN").
struct PlainJson {
  std::string text;
  std::vector<std::size_t> longer;
};

// One pass outside strings, which also checks the depth. A null is padded to the length of the word it
// replaces, so that the byte positions of later messages stay true.
Result<PlainJson> tolerate(std::string_view text, std::string_view area) {
  static constexpr std::string_view kBare[] = {"-Infinity", "Infinity", "NaN"};
  PlainJson plain;
  plain.text.reserve(text.size());
  bool in_string = false;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\' && i + 1 < text.size())
        plain.text += text[i++];
      else if (c == '"')
        in_string = false;
      plain.text += text[i];
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth > kMaxJsonDepth)
      return fail(ErrorCode::resource, "[{}] JSON nested deeper than {} at byte {}", area, kMaxJsonDepth,
                  i + 1);
    const auto bare = std::find_if(std::begin(kBare), std::end(kBare),
                                   [&](std::string_view word) { return text.substr(i).starts_with(word); });
    if (bare == std::end(kBare)) {
      plain.text += c;
      continue;
    }
    plain.text += "null";
    if (bare->size() < 4) plain.longer.push_back(plain.text.size());
    if (bare->size() > 4) plain.text.append(bare->size() - 4, ' ');
    i += bare->size() - 1;
  }
  return plain;
}

}  // namespace

Result<nlohmann::json> parse_json(std::string_view text, std::string_view area) {
  if (text.size() > kMaxJsonBytes)
    return fail(ErrorCode::resource, "[{}] JSON of {} bytes; at most {} are read", area, text.size(),
                kMaxJsonBytes);
  RUNG_TRY(const PlainJson plain, tolerate(text, area));
  try {
    return nlohmann::json::parse(plain.text);
  } catch (const nlohmann::json::parse_error& error) {
    const auto shift = std::count_if(plain.longer.begin(), plain.longer.end(),
                                     [&](std::size_t p) { return p < error.byte; });
    return fail(ErrorCode::parse, "[{}] not JSON at byte {}; expected one complete document", area,
                error.byte - static_cast<std::size_t>(shift));
  } catch (const nlohmann::json::exception& error) {  // numbers out of range
    return fail(ErrorCode::parse, "[{}] JSON refused: {}", area, rung::quoted(error.what()));
  }
}

Result<std::string> read_text_file(const std::string& path, std::string_view area) {
  std::error_code problem;
  if (!std::filesystem::is_regular_file(path, problem))
    return fail(ErrorCode::io, "[{}] no file {}", area, rung::quoted(path));
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorCode::io, "[{}] cannot open {}", area, rung::quoted(path));
  std::string text;
  char block[1 << 16];
  while (file.read(block, sizeof block) || file.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMaxJsonBytes)
      return fail(ErrorCode::resource, "[{}] {} is larger than {} bytes", area, rung::quoted(path),
                  kMaxJsonBytes);
  }
  if (file.bad()) return fail(ErrorCode::io, "[{}] cannot read {}", area, rung::quoted(path));
  return text;
}

}  // namespace rung
