// The sizes of a task by name, in the task's own order: {"n": 64, "M": 128}.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rung {

// One size: an integer, which may also be read as a JSON number is, get<std::int64_t>().
struct Size {
  std::int64_t value = 0;
  operator std::int64_t() const { return value; }
  template <class T>
  T get() const {
    return static_cast<T>(value);
  }
  bool operator==(const Size&) const = default;
};

class SizeList {
 public:
  using Entry = std::pair<std::string, Size>;

  SizeList() = default;
  // REQUIRES names that differ.
  SizeList(std::initializer_list<std::pair<std::string_view, std::int64_t>> sizes);
  void add(std::string name, std::int64_t value);  // REQUIRES !contains(name)

  bool contains(std::string_view name) const;
  Size at(std::string_view name) const;  // REQUIRES contains(name)
  Size operator[](std::string_view name) const { return at(name); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  const std::vector<Entry>& items() const& { return entries_; }
  std::vector<Entry> items() && { return std::move(entries_); }
  std::string dump() const;  // JSON in one line: {"n":64,"M":128}
  bool operator==(const SizeList&) const = default;

 private:
  std::vector<Entry> entries_;
};

// A SizeList is a value wherever a JSON document is put together.
void to_json(nlohmann::ordered_json& json, const SizeList& sizes);
void to_json(nlohmann::json& json, const SizeList& sizes);
// The inverse (rung/base/json_fields.h): false for JSON that is no object of whole numbers.
bool read_fields(const nlohmann::ordered_json& json, SizeList& sizes);

}  // namespace rung
