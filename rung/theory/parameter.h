// What a verdict notes beside its numbers: sizes, searched proof parameters, the cost of a construction. A
// parameter is nothing, an integer, a real, a text, or named parameters in the order in which they were
// noted.
//
//   v.parameters["n"] = 64;
//   v.parameters["construction"] = {{"word", "F"}, {"heads", 1}};
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rung {

class Parameter {
 public:
  struct Entry;

  Parameter();  // nothing
  Parameter(std::nullptr_t);
  Parameter(std::integral auto value);
  Parameter(double value);
  Parameter(std::string value);
  Parameter(std::string_view value);
  Parameter(const char* value);
  Parameter(std::initializer_list<Entry> entries);
  static Parameter object();  // named parameters, none so far
  template <class T>
  Parameter(const std::optional<T>& value);

  // REQUIRES named parameters; the second, contains(name). The first adds nothing under a new name.
  Parameter& operator[](std::string_view name);
  const Parameter& operator[](std::string_view name) const;
  bool contains(std::string_view name) const;  // REQUIRES named parameters
  bool empty() const;                          // REQUIRES named parameters
  std::int64_t integer() const;                // REQUIRES an integer
  std::optional<double> number() const;        // of an integer or a real
  // Those of the named parameters that are numbers. REQUIRES named parameters.
  std::vector<std::pair<std::string, double>> numbers() const;
  std::string text() const;  // JSON in one line

  bool operator==(const Parameter&) const;

 private:
  friend void to_json(nlohmann::ordered_json& json, const Parameter& parameter);
  std::variant<std::monostate, std::int64_t, double, std::string, std::vector<Entry>> value_;
};

struct Parameter::Entry {
  std::string name;
  Parameter value;
  bool operator==(const Entry&) const = default;
};

// Here, where Entry is complete, which what is made of it needs.
inline Parameter::Parameter() = default;
inline Parameter::Parameter(std::nullptr_t) {}
Parameter::Parameter(std::integral auto value) : value_(static_cast<std::int64_t>(value)) {}
inline Parameter::Parameter(double value) : value_(value) {}
inline Parameter::Parameter(std::string value) : value_(std::move(value)) {}
inline Parameter::Parameter(std::string_view value) : value_(std::string(value)) {}
inline Parameter::Parameter(const char* value) : value_(std::string(value)) {}
template <class T>
Parameter::Parameter(const std::optional<T>& value) : Parameter(value ? Parameter(*value) : Parameter()) {}

// null, a number, a string, or an object: a Parameter is a value wherever a JSON document is put together.
void to_json(nlohmann::ordered_json& json, const Parameter& parameter);

}  // namespace rung
