// Structs as JSON: one description of the fields of a struct serves writing and reading.
//
//   template <class Fields>
//   void describe(Fields& field, SeedScore& score) {
//     field.need("seed", score.seed);
//     field("rate", score.rate, "exhaustive", score.exhaustive);  // names and values by turns
//   }
//   const nlohmann::ordered_json json = to_fields(score);
//   Result<SeedScore> again = from_fields<SeedScore>(json, "[lab] scores.json");
//
// Written are all fields in this order. Read are those that are there: a field that is absent or null keeps the
// struct's default unless need() names it; one of another type is an error with its path; a field that is not
// described is ignored. Values: numbers, truth values, texts, enums with names (words.h), optional ones (null),
// pairs and lists (arrays), maps by name (objects), JSON itself, structs that are described, and types of their own
// with `void to_json(nlohmann::ordered_json&, const T&)` and `bool read_fields(const nlohmann::ordered_json&, T&)`,
// which is false for JSON of another shape.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rung/base/json_text.h"
#include "rung/base/result.h"
#include "rung/base/words.h"

namespace rung {

class FieldWriter;
class FieldReader;

template <class T>
concept Described = requires(FieldWriter& writer, T& value) {
  describe(writer, value);
};

template <class T>
nlohmann::ordered_json to_fields(const T& value);

// What stands at `where`; the first error stays.
class FieldReader {
 public:
  static constexpr bool kReads = true;

  FieldReader(const nlohmann::ordered_json& object, std::string where, std::optional<Error>& error)
      : object_(object), where_(std::move(where)), error_(error) {}

  template <class T, class... Rest>
  void operator()(const char* name, T& value, Rest&&... rest) {
    const auto found = object_.find(name);
    if (found != object_.end() && !found->is_null()) take(*found, value, where_ + "." + name);
    if constexpr (sizeof...(rest) > 0) (*this)(std::forward<Rest>(rest)...);
  }
  template <class T>
  void need(const char* name, T& value) {
    const auto found = object_.find(name);
    if (found == object_.end() || found->is_null())
      return refuse(where_, fmt::format("no field \"{}\"", name));
    take(*found, value, where_ + "." + name);
  }
  // The same as (); a writer leaves empty ones out.
  template <class... Fields>
  void some(Fields&&... fields) {
    (*this)(std::forward<Fields>(fields)...);
  }

  void refuse(const std::string& where, const std::string& what) {
    if (!error_) error_ = fail(ErrorCode::format, "{}: {}", where, what);
  }

  template <class T>
  void take(const nlohmann::ordered_json& json, T& value, const std::string& where) {
    if (json.is_null()) return;
    if constexpr (std::same_as<T, nlohmann::ordered_json>) {
      value = json;
    } else if constexpr (requires { read_fields(json, value); }) {
      if (!read_fields(json, value)) refuse(where, "another shape expected");
    } else if constexpr (std::same_as<T, bool>) {
      if (!json.is_boolean()) return refuse(where, "true or false expected");
      value = json.get<bool>();
    } else if constexpr (std::integral<T>) {
      const bool fits = json.is_number_unsigned()
                            ? std::in_range<T>(json.get<std::uint64_t>())
                            : json.is_number_integer() && std::in_range<T>(json.get<std::int64_t>());
      if (!fits) return refuse(where, "a whole number expected");
      value = json.get<T>();
    } else if constexpr (std::floating_point<T>) {
      if (!json.is_number()) return refuse(where, "a number expected");
      value = json.get<T>();
    } else if constexpr (std::same_as<T, std::string>) {
      if (!json.is_string()) return refuse(where, "a text expected");
      value = json.get<std::string>();
    } else if constexpr (NamedWord<T>) {
      const auto word = json.is_string() ? find_word<T>(json.get_ref<const std::string&>()) : std::nullopt;
      if (!word) return refuse(where, fmt::format("one of {} expected", word_list(kWords<T>)));
      value = *word;
    } else {
      take_many(json, value, where);
    }
  }

 private:
  static std::string word_list(const auto& words) {
    std::string out;
    for (const auto word : words) out += (out.empty() ? "" : ", ") + std::string(word);
    return out;
  }

  template <class T>
  void take_many(const nlohmann::ordered_json& json, std::optional<T>& value, const std::string& where) {
    take(json, value.emplace(T{}), where);  // clang 14 takes no aggregate without arguments
  }
  template <class T>
  void take_many(const nlohmann::ordered_json& json, std::vector<T>& value, const std::string& where) {
    if (!json.is_array()) return refuse(where, "a list expected");
    value.clear();
    for (const auto& item : json) {
      const std::string place = fmt::format("{}[{}]", where, value.size());
      take(item, value.emplace_back(), place);
    }
  }
  template <class A, class B>
  void take_many(const nlohmann::ordered_json& json, std::pair<A, B>& value, const std::string& where) {
    if (!json.is_array() || json.size() != 2) return refuse(where, "a pair expected");
    take(json[0], value.first, where + "[0]");
    take(json[1], value.second, where + "[1]");
  }
  template <class T>
  void take_many(const nlohmann::ordered_json& json, std::map<std::string, T>& value,
                 const std::string& where) {
    if (!json.is_object()) return refuse(where, "an object expected");
    value.clear();
    for (const auto& [name, item] : json.items()) take(item, value[name], where + "." + name);
  }
  template <Described T>
  void take_many(const nlohmann::ordered_json& json, T& value, const std::string& where) {
    if (!json.is_object()) return refuse(where, "an object expected");
    FieldReader inner(json, where, error_);
    describe(inner, value);
  }

  const nlohmann::ordered_json& object_;
  std::string where_;
  std::optional<Error>& error_;
};

class FieldWriter {
 public:
  static constexpr bool kReads = false;

  explicit FieldWriter(nlohmann::ordered_json& object) : object_(object) {}

  template <class T, class... Rest>
  void operator()(const char* name, const T& value, Rest&&... rest) {
    object_[name] = to_fields(value);
    if constexpr (sizeof...(rest) > 0) (*this)(std::forward<Rest>(rest)...);
  }
  template <class T>
  void need(const char* name, const T& value) {
    object_[name] = to_fields(value);
  }
  template <class T, class... Rest>
  void some(const char* name, const T& value, Rest&&... rest) {
    if constexpr (requires { value.has_value(); }) {
      if (value.has_value()) object_[name] = to_fields(*value);
    } else if constexpr (requires { value.empty(); }) {
      if (!value.empty()) object_[name] = to_fields(value);
    } else if (value != T{}) {
      object_[name] = to_fields(value);
    }
    if constexpr (sizeof...(rest) > 0) some(std::forward<Rest>(rest)...);
  }

 private:
  nlohmann::ordered_json& object_;
};

namespace json_fields {

template <class T>
nlohmann::ordered_json encode(const T& value) {
  if constexpr (Described<T>) {
    nlohmann::ordered_json out = nlohmann::ordered_json::object();
    FieldWriter writer(out);
    describe(writer, const_cast<T&>(value));  // a writer only reads
    return out;
  } else if constexpr (NamedWord<T>) {
    return name_of(value);
  } else {
    return value;
  }
}
template <class T>
nlohmann::ordered_json encode(const std::optional<T>& value) {
  return value ? to_fields(*value) : nlohmann::ordered_json();
}
template <class T>
nlohmann::ordered_json encode(const std::vector<T>& value) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const auto& item : value) out.push_back(to_fields(item));
  return out;
}
template <class A, class B>
nlohmann::ordered_json encode(const std::pair<A, B>& value) {
  return nlohmann::ordered_json::array({to_fields(value.first), to_fields(value.second)});
}
template <class T>
nlohmann::ordered_json encode(const std::map<std::string, T>& value) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const auto& [name, item] : value) out[name] = to_fields(item);
  return out;
}

}  // namespace json_fields

template <class T>
nlohmann::ordered_json to_fields(const T& value) {
  return json_fields::encode(value);
}

// An object of names and values by turns: json_object("n", 4, "word", word).
template <class... Fields>
nlohmann::ordered_json json_object(const Fields&... fields) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  FieldWriter writer(out);
  writer(fields...);
  return out;
}

// Errors: "`where`.path: what was expected".
template <class T>
Result<T> from_fields(const nlohmann::ordered_json& json, const std::string& where) {
  std::optional<Error> error;
  T value;
  FieldReader(json, where, error).take(json, value, where);
  if (error) return *error;
  return value;
}

// Text as to_fields(value).dump() writes it. Errors: whatever else, as parse_json and from_fields say it.
template <class T>
Result<T> from_text(const std::string& text) {
  RUNG_TRY(const nlohmann::ordered_json json, parse_json(text, "json"));
  return from_fields<T>(json, "[json]");
}

// An error that travels.
template <class Fields>
void describe(Fields& field, Error& error) {
  int code = static_cast<int>(error.code);
  field("code", code);
  if constexpr (Fields::kReads) error.code = static_cast<ErrorCode>(code);
  field("message", error.message);
}

}  // namespace rung
