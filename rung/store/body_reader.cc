#include "rung/store/body_reader.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace rung {
namespace {

using Json = nlohmann::json;

// Follows one path through the text. `depth` counts open objects and arrays.
class PathFollower {
 public:
  explicit PathFollower(std::string_view path) {
    for (std::size_t begin = 0; begin <= path.size();) {
      const std::size_t end = std::min(path.find('.', begin), path.size());
      parts_.push_back(path.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  void key(std::size_t depth, std::string_view name) {
    matched_ = std::min(matched_, depth - 1);
    if (matched_ == depth - 1 && depth <= parts_.size() && parts_[depth - 1] == name) matched_ = depth;
    if (is_here(depth)) field = {};  // of two fields with one name, the last counts
  }
  bool is_here(std::size_t depth) const { return matched_ == depth && depth == parts_.size(); }

  BodyField field;

 private:
  std::vector<std::string_view> parts_;
  std::size_t matched_ = 0;
};

// The grammar of RFC 8259 with the strictness of nlohmann's parser (UTF-8, surrogates, finite numbers), which
// a test compares it with.
class Scanner {
 public:
  Scanner(std::string_view text, std::span<const std::string_view> paths)
      : followers(paths.begin(), paths.end()), at_(text.data()), end_(text.data() + text.size()) {}

  // One object and nothing after it.
  bool run() {
    if (at_ == end_ || *at_ != '{' || !object(1)) return false;
    skip_space();
    return at_ == end_;
  }

  std::vector<PathFollower> followers;

 private:
  void skip_space() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
  }
  bool take(char wanted) {
    skip_space();
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view wanted) {
    if (!std::string_view(at_, end_).starts_with(wanted)) return false;
    at_ += wanted.size();
    return true;
  }

  bool value(std::size_t depth) {
    skip_space();
    if (at_ == end_) return false;
    const char* begin = at_;
    switch (*at_) {
      case '{':
        return object(depth + 1);
      case '[':
        return array(depth + 1);
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      case '"':
        if (!string()) return false;
        for (PathFollower& follower : followers)
          if (follower.is_here(depth))
            follower.field = {BodyField::Kind::word, 0, Json::parse(begin, at_).get<std::string>(), false};
        return true;
      default:
        break;
    }
    bool is_integer = true;
    if (!number(is_integer)) return false;
    for (PathFollower& follower : followers)
      if (follower.is_here(depth))
        follower.field = {
            BodyField::Kind::number, std::strtod(std::string(begin, at_).c_str(), nullptr), {}, is_integer};
    return true;
  }

  bool object(std::size_t depth) {
    if (depth > kMaxBodyDepth) return false;
    ++at_;
    if (take('}')) return true;
    do {
      skip_space();
      const char* begin = at_;
      if (at_ == end_ || *at_ != '"' || !string()) return false;
      const std::string_view name(begin + 1, static_cast<std::size_t>(at_ - begin - 2));
      if (name.find('\\') == std::string_view::npos)
        for (PathFollower& follower : followers) follower.key(depth, name);
      else
        for (PathFollower& follower : followers)
          follower.key(depth, Json::parse(begin, at_).get_ref<const std::string&>());
      if (!take(':') || !value(depth)) return false;
    } while (take(','));
    return take('}');
  }

  bool array(std::size_t depth) {
    if (depth > kMaxBodyDepth) return false;
    ++at_;
    if (take(']')) return true;
    do {
      if (!value(depth)) return false;
    } while (take(','));
    return take(']');
  }

  bool digits() {
    const char* begin = at_;
    while (at_ < end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    return at_ > begin;
  }

  bool number(bool& is_integer) {
    // No number this short without an exponent is too large for a double.
    constexpr std::ptrdiff_t kSurelyFinite = 300;
    const char* begin = at_;
    bool has_exponent = false;
    if (*at_ == '-') ++at_;
    if (at_ < end_ && *at_ == '0')
      ++at_;
    else if (!digits())
      return false;
    if (at_ < end_ && *at_ == '.') {
      ++at_;
      is_integer = false;
      if (!digits()) return false;
    }
    if (at_ < end_ && (*at_ == 'e' || *at_ == 'E')) {
      ++at_;
      has_exponent = true;
      is_integer = false;
      if (at_ < end_ && (*at_ == '+' || *at_ == '-')) ++at_;
      if (!digits()) return false;
    }
    if (!has_exponent && at_ - begin < kSurelyFinite) return true;
    return std::isfinite(std::strtod(std::string(begin, at_).c_str(), nullptr));
  }

  bool string() {
    for (++at_; at_ < end_;) {
      const auto byte = static_cast<unsigned char>(*at_);
      if (byte == '"') {
        ++at_;
        return true;
      }
      if (byte < 0x20) return false;
      bool sound = true;
      if (byte == '\\')
        sound = escape();
      else if (byte >= 0x80)
        sound = beyond_ascii();
      else
        ++at_;
      if (!sound) return false;
    }
    return false;
  }

  bool hexadecimal(unsigned& unit) {
    unit = 0;
    if (end_ - at_ < 4) return false;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = *at_;
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return false;
      unit = unit * 16 + static_cast<unsigned>(digit);
    }
    return true;
  }

  bool escape() {
    ++at_;
    if (at_ == end_) return false;
    const char letter = *at_++;
    if (letter != 'u') return std::string_view("\"\\/bfnrt").find(letter) != std::string_view::npos;
    unsigned unit = 0;
    if (!hexadecimal(unit)) return false;
    if (unit >= 0xDC00 && unit <= 0xDFFF) return false;
    if (unit < 0xD800 || unit > 0xDBFF) return true;
    return word("\\u") && hexadecimal(unit) && unit >= 0xDC00 && unit <= 0xDFFF;
  }

  // RFC 3629: no overlong form, no surrogate, nothing above U+10FFFF.
  bool beyond_ascii() {
    const auto first = static_cast<unsigned char>(*at_++);
    const int more = first >= 0xC2 && first <= 0xDF   ? 1
                     : first >= 0xE0 && first <= 0xEF ? 2
                     : first >= 0xF0 && first <= 0xF4 ? 3
                                                      : 0;
    if (more == 0 || end_ - at_ < more) return false;
    const auto second = static_cast<unsigned char>(*at_);
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
        (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F))
      return false;
    for (int i = 0; i < more; ++i, ++at_)
      if ((static_cast<unsigned char>(*at_) & 0xC0) != 0x80) return false;
    return true;
  }

  const char *at_, *end_;
};

}  // namespace

bool is_sound_body(std::string_view text) { return Scanner(text, {}).run(); }

std::vector<BodyField> read_fields(std::string_view body, std::span<const std::string_view> paths) {
  Scanner scanner(body, paths);
  const bool sound = scanner.run();
  std::vector<BodyField> fields;
  for (PathFollower& follower : scanner.followers)
    fields.push_back(sound ? std::move(follower.field) : BodyField{});
  return fields;
}

}  // namespace rung
