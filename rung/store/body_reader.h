// A few fields out of a body in one pass, without building its tree: bodies carry curves, and a query looks
// at thousands.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rung {

// A record's line adds one level around its body; parse_json stops at kMaxJsonDepth.
inline constexpr int kMaxBodyDepth = 63;

struct BodyField {
  enum class Kind { absent, number, word } kind = Kind::absent;
  double number = 0;
  std::string word;
  bool is_integer = false;
};

// Whether the text is one JSON object, nested no deeper than kMaxBodyDepth.
bool is_sound_body(std::string_view text);
// One answer a path; "size.n" is the field n of the object size. Absent: neither a number nor a string stands
// there.
std::vector<BodyField> read_fields(std::string_view body, std::span<const std::string_view> paths);

}  // namespace rung
