#include "rung/store/body_reader.h"

#include <algorithm>
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

// What the parser meets, without a tree.
class BodyEvents final : public nlohmann::json_sax<Json> {
 public:
  explicit BodyEvents(std::span<const std::string_view> paths) : followers(paths.begin(), paths.end()) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool binary(binary_t&) override { return false; }
  bool number_integer(number_integer_t value) override { return number(static_cast<double>(value), true); }
  bool number_unsigned(number_unsigned_t value) override { return number(static_cast<double>(value), true); }
  bool number_float(number_float_t value, const string_t& text) override {
    return number(value, text.find_first_of(".eE") == text.npos);
  }
  bool string(string_t& value) override { return found({BodyField::Kind::word, 0, value, false}); }
  bool start_object(std::size_t) override { return ++depth_ <= kMaxBodyDepth; }
  bool start_array(std::size_t) override { return ++depth_ <= kMaxBodyDepth; }
  bool end_object() override { return depth_-- > 0; }
  bool end_array() override { return depth_-- > 0; }
  bool key(string_t& name) override {
    for (PathFollower& follower : followers) follower.key(depth_, name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

  // One object and nothing around it but white space behind it. The parser takes a zero byte for the end.
  bool run(std::string_view text) {
    return text.starts_with('{') && text.find('\0') == text.npos && Json::sax_parse(text, this);
  }

  std::vector<PathFollower> followers;

 private:
  bool number(double value, bool is_integer) {
    return found({BodyField::Kind::number, value, {}, is_integer});
  }
  bool found(const BodyField& field) {
    for (PathFollower& follower : followers)
      if (follower.is_here(depth_)) follower.field = field;
    return true;
  }

  std::size_t depth_ = 0;
};

}  // namespace

bool is_sound_body(std::string_view text) { return BodyEvents({}).run(text); }

std::vector<BodyField> read_fields(std::string_view body, std::span<const std::string_view> paths) {
  BodyEvents events(paths);
  const bool sound = events.run(body);
  std::vector<BodyField> fields;
  for (PathFollower& follower : events.followers)
    fields.push_back(sound ? std::move(follower.field) : BodyField{});
  return fields;
}

}  // namespace rung
