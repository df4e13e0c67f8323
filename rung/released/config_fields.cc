#include "rung/released/config_fields.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "rung/base/checked_size.h"
#include "rung/base/nearest_word.h"
#include "rung/base/plural.h"
#include "rung/released/layer_fields.h"

namespace rung {
namespace {

using Json = nlohmann::json;

std::optional<std::int64_t> whole_number(const Json& value, std::int64_t low, std::int64_t high) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(high))
    return std::nullopt;
  if (!value.is_number_integer()) return std::nullopt;
  const auto number = value.get<std::int64_t>();
  return number >= low && number <= high ? std::optional(number) : std::nullopt;
}

std::string shown(const Json& value) {
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  return rung::quoted(value.is_string() ? value.get<std::string>() : value.dump());
}

}  // namespace

const Json* ConfigFields::find(std::string_view name) const {
  const auto found = object_.find(std::string(name));
  if (found == object_.end() || found->is_null()) return nullptr;
  (*read_)[&object_].names.emplace(name);
  return &*found;
}

Error ConfigFields::refused(ErrorCode code, const std::string& what) const {
  return fail(code, "[config] {}: {}", model_type_, what);
}

Error ConfigFields::missing(std::string_view name, std::string_view why) const {
  return fail(ErrorCode::missing, "[config] {}: field \"{}\" is missing; {}", model_type_, name, why);
}

Error ConfigFields::wrong(std::string_view name, std::string_view expected) const {
  const Json* value = find(name);
  return fail(ErrorCode::format, "[config] {}: field \"{}\" is {}; expected {}", model_type_, name,
              value ? shown(*value) : "absent", expected);
}

Error ConfigFields::disagree(std::string_view name, std::string_view other) const {
  return refused(ErrorCode::format,
                 fmt::format("fields \"{}\" and \"{}\" describe different layers", name, other));
}

Result<const Json*> ConfigFields::value(Names names, bool optional) {
  for (const auto name : names)
    if (const Json* found = find(name)) return found;
  const bool may_assume = !options_.partial || options_.assume_defaults;
  for (const auto name : names) {
    if (defaults_ == nullptr || !defaults_->contains(std::string(name))) continue;
    const Json& given = (*defaults_)[std::string(name)];
    if (!may_assume) return missing(name, "a partial file gets class defaults only with `assume-defaults`");
    if (given.is_null()) break;
    const auto used = fmt::format("{}={}", name, given.dump());
    if (std::find(used_defaults_.begin(), used_defaults_.end(), used) == used_defaults_.end())
      used_defaults_.push_back(used);
    return &given;
  }
  if (!optional) return missing(*names.begin(), "it has no class default that could stand in");
  if (options_.partial && !options_.assume_defaults && defaults_ == nullptr)
    return missing(*names.begin(), "a partial file gets class defaults only with `assume-defaults`");
  return nullptr;
}

Result<std::int64_t> ConfigFields::size(Names names) {
  RUNG_TRY(const Json* found, value(names, false));
  if (const auto number = whole_number(*found, 1, kMaxSize)) return *number;
  for (const auto name : names)
    if (find(name) == found) return wrong(name, fmt::format("a number in 1..{}", kMaxSize));
  return wrong(*names.begin(), "a number");
}

Result<std::int64_t> ConfigFields::offset(std::string_view name) {
  RUNG_TRY(const Json* found, value({name}, false));
  if (const auto number = whole_number(*found, 0, kMaxSize)) return *number;
  return wrong(name, fmt::format("a number in 0..{}", kMaxSize));
}

Result<std::int64_t> ConfigFields::size_or(std::string_view name, std::int64_t computed) {
  RUNG_TRY(const Json* found, value({name}, true));
  if (found == nullptr || *found == "auto") return computed;
  if (const auto number = whole_number(*found, 1, kMaxSize)) return *number;
  return wrong(name, fmt::format("a number in 1..{}", kMaxSize));
}

Result<std::optional<std::int64_t>> ConfigFields::stated(std::string_view name) const {
  const Json* found = find(name);
  if (found == nullptr) return std::optional<std::int64_t>();
  if (const auto number = whole_number(*found, 1, kMaxSize)) return number;
  return wrong(name, fmt::format("a number in 1..{}", kMaxSize));
}

Result<std::int64_t> ConfigFields::stated_count(std::string_view name) const {
  const Json* found = find(name);
  if (found == nullptr) return std::int64_t{0};
  if (const auto number = whole_number(*found, 0, kMaxSize)) return *number;
  return wrong(name, fmt::format("a number in 0..{}", kMaxSize));
}

Result<double> ConfigFields::factor(Names names) {
  constexpr double kLargestFactor = 1e6;
  RUNG_TRY(const Json* found, value(names, false));
  const double number = found->is_number() ? found->get<double>() : 0;
  if (number > 0 && number <= kLargestFactor) return number;
  for (const auto name : names)
    if (find(name) == found) return wrong(name, "a positive factor");
  return wrong(*names.begin(), "a positive factor");
}

Result<std::int64_t> ConfigFields::scaled(std::string_view name, double factor, std::int64_t base) const {
  const double product = factor * static_cast<double>(base);
  const double rounded = std::floor(product);
  if (rounded != product || rounded < 1 || rounded > static_cast<double>(kMaxSize))
    return refused(ErrorCode::range,
                   fmt::format("{} = {} times {} is not a size in 1..{}", name, factor, base, kMaxSize));
  return static_cast<std::int64_t>(rounded);
}

Result<bool> ConfigFields::flag(std::string_view name, bool computed) {
  RUNG_TRY(const Json* found, value({name}, true));
  if (found == nullptr) return computed;
  if (!found->is_boolean()) return wrong(name, "true or false");
  return found->get<bool>();
}

Result<std::string> ConfigFields::text(std::string_view name) {
  RUNG_TRY(const Json* found, value({name}, false));
  if (!found->is_string()) return wrong(name, "a text");
  return found->get<std::string>();
}

std::optional<std::string> ConfigFields::stated_text(std::string_view name) const {
  const Json* found = find(name);
  if (found == nullptr || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

std::optional<bool> ConfigFields::stated_flag(std::string_view name) const {
  const Json* found = find(name);
  if (found == nullptr || !found->is_boolean()) return std::nullopt;
  return found->get<bool>();
}

Result<std::vector<std::string>> ConfigFields::words(std::string_view name) {
  RUNG_TRY(const Json* found, value({name}, false));
  if (!found->is_array()) return wrong(name, "a list of words");
  if (found->size() > static_cast<std::size_t>(kMaxLayers))
    return wrong(name, fmt::format("at most {} entries", kMaxLayers));
  std::vector<std::string> out;
  for (const auto& entry : *found) {
    if (!entry.is_string()) return wrong(name, "a list of words");
    out.push_back(entry.get<std::string>());
  }
  return out;
}

Result<std::vector<std::int64_t>> ConfigFields::numbers(std::string_view name, std::int64_t low,
                                                        std::int64_t high) {
  RUNG_TRY(const Json* found, value({name}, false));
  if (!found->is_array()) return wrong(name, "a list of numbers");
  if (found->size() > static_cast<std::size_t>(kMaxLayers) + 1)
    return wrong(name, fmt::format("at most {} entries", kMaxLayers));
  std::vector<std::int64_t> out;
  for (const auto& entry : *found) {
    const auto number = whole_number(entry, low, high);
    if (!number)
      return refused(ErrorCode::format, fmt::format("field \"{}\" holds {}; expected numbers in {}..{}", name,
                                                    shown(entry), low, high));
    out.push_back(*number);
  }
  return out;
}

Result<std::vector<std::int64_t>> ConfigFields::one_or_each(std::string_view name, std::int64_t layers,
                                                            std::int64_t computed) {
  const Json* found = find(name);
  if (found != nullptr && found->is_array()) {
    RUNG_TRY(auto each, numbers(name, 1, kMaxSize));
    RUNG_CHECK(same_length(name, each.size(), layers));
    return each;
  }
  RUNG_TRY(const auto number, stated(name));
  return std::vector<std::int64_t>(static_cast<std::size_t>(layers), number.value_or(computed));
}

Result<ConfigFields> ConfigFields::object(std::string_view name) {
  const Json* found = find(name);
  if (found == nullptr) return missing(name, "it says how the layers are made");
  if (!found->is_object()) return wrong(name, "an object");
  return inside(name, *found);
}

ConfigFields ConfigFields::inside(std::string_view name, const Json& value) const {
  ConfigFields out(fmt::format("{}.{}", model_type_, name), value, nullptr, options_);
  const std::string path = fmt::format("{}{}.", (*read_)[&object_].path, name);
  out.read_ = read_;
  (*read_)[&value].path = path;
  return out;
}

Result<std::vector<ConfigFields>> ConfigFields::objects(std::string_view name) {
  std::vector<ConfigFields> out;
  const Json* found = find(name);
  if (found == nullptr) return out;
  if (found->is_object()) out.push_back(inside(name, *found));
  if (!found->is_structured()) return wrong(name, "an object or a list of objects");
  if (found->is_object()) return out;
  for (const auto& entry : *found) {
    if (!entry.is_object()) return wrong(name, "an object or a list of objects");
    out.push_back(inside(name, entry));
  }
  return out;
}

Result<std::int64_t> ConfigFields::layers(std::string_view name) {
  RUNG_TRY(const std::int64_t count, size(name));
  if (count > kMaxLayers) return wrong(name, fmt::format("at most {}", kMaxLayers));
  return count;
}

bool ConfigFields::was_read(std::string_view name) const { return (*read_)[&object_].names.contains(name); }

Result<void> ConfigFields::refuse_unread(std::size_t layers) const {
  std::set<std::string> unread;
  for (const auto& [object, read] : *read_)
    for (const auto& [name, value] : object->items()) {
      if (read.names.contains(name)) continue;
      const bool describes = object == &object_ ? describes_layers(name, value, layers)
                                                : !is_off(value) && !is_position_wise(name);
      if (describes) unread.insert(read.path + name);
    }
  if (unread.empty()) return {};
  return unknown(*unread.begin());
}

Error ConfigFields::unknown(std::string_view name) const {
  return refused(
      ErrorCode::unsupported,
      fmt::format("field {} describes layers in a way that is not known here", rung::quoted(name)));
}

Result<void> ConfigFields::same_length(std::string_view name, std::size_t length, std::int64_t layers) const {
  if (static_cast<std::int64_t>(length) == layers) return {};
  return refused(ErrorCode::format, fmt::format("field \"{}\" describes {}; num_hidden_layers is {}", name,
                                                counted(length, "layer"), layers));
}

Result<std::int64_t> ConfigFields::quotient(std::string_view what, std::int64_t large, std::string_view by,
                                            std::int64_t small) const {
  if (large % small == 0) return large / small;
  return refused(ErrorCode::range,
                 fmt::format("{} = {} is not divisible by {} = {}", what, large, by, small));
}

void ConfigFields::note(std::string text) {
  if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(std::move(text));
}

std::vector<std::string> ConfigFields::notes() const {
  auto out = notes_;
  if (!used_defaults_.empty()) {
    std::string line = "class defaults:";
    for (const auto& used : used_defaults_) line += " " + used;
    out.insert(out.begin(), line);
  }
  return out;
}

}  // namespace rung
