#include "rung/theory/parameter.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rung/base/require.h"

namespace rung {
namespace {

const Parameter::Entry* find(const std::vector<Parameter::Entry>& entries, std::string_view name) {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

}  // namespace

Parameter::Parameter(std::initializer_list<Entry> entries) : value_(std::vector<Entry>(entries)) {}

Parameter Parameter::object() { return Parameter(std::initializer_list<Entry>{}); }

Parameter& Parameter::operator[](std::string_view name) {
  auto* entries = std::get_if<std::vector<Entry>>(&value_);
  RUNG_REQUIRE(entries, "[{}] of {}", name, text());
  if (const Entry* entry = find(*entries, name)) return const_cast<Entry*>(entry)->value;
  return entries->emplace_back(Entry{std::string(name), {}}).value;
}

const Parameter& Parameter::operator[](std::string_view name) const {
  RUNG_REQUIRE(contains(name), "[{}] of {}", name, text());
  return find(std::get<std::vector<Entry>>(value_), name)->value;
}

bool Parameter::contains(std::string_view name) const {
  const auto* entries = std::get_if<std::vector<Entry>>(&value_);
  RUNG_REQUIRE(entries, "[{}] of {}", name, text());
  return find(*entries, name) != nullptr;
}

bool Parameter::empty() const {
  const auto* entries = std::get_if<std::vector<Entry>>(&value_);
  RUNG_REQUIRE(entries, "names in {}", text());
  return entries->empty();
}

std::int64_t Parameter::integer() const {
  const auto* integer = std::get_if<std::int64_t>(&value_);
  RUNG_REQUIRE(integer, "{} as an integer", text());
  return *integer;
}

std::optional<double> Parameter::number() const {
  if (const auto* integer = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value_)) return *real;
  return std::nullopt;
}

std::vector<std::pair<std::string, double>> Parameter::numbers() const {
  const auto* entries = std::get_if<std::vector<Entry>>(&value_);
  RUNG_REQUIRE(entries, "numbers in {}", text());
  std::vector<std::pair<std::string, double>> out;
  for (const auto& [name, value] : *entries)
    if (const auto number = value.number()) out.emplace_back(name, *number);
  return out;
}

std::string Parameter::text() const { return nlohmann::ordered_json(*this).dump(); }

bool Parameter::operator==(const Parameter& other) const { return value_ == other.value_; }

void to_json(nlohmann::ordered_json& json, const Parameter& parameter) {
  using Json = nlohmann::ordered_json;
  struct Written {
    Json operator()(std::monostate) const { return nullptr; }
    Json operator()(std::int64_t value) const { return value; }
    Json operator()(double value) const { return value; }
    Json operator()(const std::string& value) const { return value; }
    Json operator()(const std::vector<Parameter::Entry>& entries) const {
      Json object = Json::object();
      for (const auto& [name, value] : entries) object[name] = value;
      return object;
    }
  };
  json = std::visit(Written{}, parameter.value_);
}

}  // namespace rung
