#include "rung/tasks/size_list.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rung/base/require.h"

namespace rung {

SizeList::SizeList(std::initializer_list<std::pair<std::string_view, std::int64_t>> sizes) {
  for (const auto& [name, value] : sizes) add(std::string(name), value);
}

void SizeList::add(std::string name, std::int64_t value) {
  RUNG_REQUIRE(!contains(name), "{} stands twice", name);
  entries_.emplace_back(std::move(name), Size{value});
}

bool SizeList::contains(std::string_view name) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return entry.first == name; });
}

Size SizeList::at(std::string_view name) const {
  for (const auto& [own, value] : entries_)
    if (own == name) return value;
  RUNG_REQUIRE(false, "no size {} in {}", name, dump());
  return {};
}

std::string SizeList::dump() const { return nlohmann::ordered_json(*this).dump(); }

void to_json(nlohmann::ordered_json& json, const SizeList& sizes) {
  json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : sizes) json[name] = value.value;
}

void to_json(nlohmann::json& json, const SizeList& sizes) {
  json = nlohmann::json::object();
  for (const auto& [name, value] : sizes) json[name] = value.value;
}

bool read_fields(const nlohmann::ordered_json& json, SizeList& sizes) {
  if (!json.is_object()) return false;
  sizes = {};
  for (const auto& [name, value] : json.items()) {
    if (!value.is_number_integer() || sizes.contains(name)) return false;
    sizes.add(name, value.get<std::int64_t>());
  }
  return true;
}

}  // namespace rung
