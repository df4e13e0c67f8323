#include "rung/report/ceilings.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "rung/theory/ceiling.h"

namespace rung::report {
namespace {

using nlohmann::ordered_json;

constexpr int kFirst = 12, kLast = 40;  // quarters of a power of two: n = 8 .. 1024

struct StateBits {
  std::int64_t bits = 0;
  bool one_level = false;
};

std::optional<StateBits> read_reason(const std::string& reason) {
  StateBits out;
  const auto [rest, error] = std::from_chars(reason.data(), reason.data() + reason.size(), out.bits);
  if (error != std::errc() || out.bits < 1) return std::nullopt;
  const std::string_view unit(rest, static_cast<std::size_t>(reason.data() + reason.size() - rest));
  out.one_level = unit.starts_with(" bits a level");
  if (!out.one_level && !unit.starts_with(" bits of state")) return std::nullopt;
  return out;
}

ordered_json curve(const StateBits& state) {
  ordered_json out = ordered_json::array();
  for (int k = kFirst; k <= kLast; ++k) {
    const auto n = static_cast<std::int64_t>(std::lround(std::exp2(k / 4.0)));
    const double ceiling =
        state.one_level ? log_linear_ceiling(n, n, state.bits).average : accuracy_ceiling(n, state.bits);
    out.push_back({n, std::ceil(ceiling * 1e4) / 1e4});
  }
  return out;
}

}  // namespace

ordered_json ceiling_curves(const std::vector<ordered_json>& results) {
  ordered_json out = ordered_json::object();
  for (const ordered_json& record : results) {
    const auto lab = record.find("lab");
    if (lab == record.end() || !lab->is_object() || lab->value("experiment", ordered_json()) != "capacity")
      continue;
    const auto configurations = lab->find("configurations");
    if (configurations == lab->end() || !configurations->is_array()) continue;
    for (const ordered_json& configuration : *configurations) {
      if (!configuration.is_object()) continue;
      const auto reason = configuration.find("ceiling_reason");
      if (reason == configuration.end() || !reason->is_string() || out.contains(reason->get<std::string>()))
        continue;
      if (const auto state = read_reason(reason->get<std::string>()))
        out[reason->get<std::string>()] = curve(*state);
    }
  }
  return out;
}

}  // namespace rung::report
