#include "rung/report/ceilings.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "rung/theory/ceiling.h"

namespace rung::report {
namespace {

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

// A log-linear state has as many levels as n has ones: at a power of two all but one are gone, and the ceiling falls at once.
// Each of its points has its neighbour before it, so that a line through them shows the fall where it is.
CeilingCurve curve(const StateBits& state) {
  CeilingCurve out;
  const auto add = [&](std::int64_t n) {
    const double ceiling =
        state.one_level ? log_linear_ceiling(n, n, state.bits).average : accuracy_ceiling(n, state.bits);
    if (out.empty() || out.back().first < n) out.emplace_back(n, std::ceil(ceiling * 1e4) / 1e4);
  };
  for (int k = kFirst; k <= kLast; ++k) {
    const auto n = static_cast<std::int64_t>(std::lround(std::exp2(k / 4.0)));
    if (state.one_level && k > kFirst) add(n - 1);
    add(n);
  }
  return out;
}

}  // namespace

std::map<std::string, CeilingCurve> ceiling_curves(const std::vector<ResultsEntry>& results) {
  std::map<std::string, CeilingCurve> out;
  for (const ResultsEntry& entry : results) {
    if (entry.results.lab.experiment != "capacity") continue;
    for (const ConfigurationOutcome& outcome : entry.results.lab.configurations) {
      const std::string& reason = outcome.label.ceiling_reason;
      if (out.contains(reason)) continue;
      if (const auto state = read_reason(reason)) out[reason] = curve(*state);
    }
  }
  return out;
}

}  // namespace rung::report
