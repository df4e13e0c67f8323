#include "cli/search_limits.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace rung::cli {

Result<double> parse_duration(const std::string& text, std::string_view area) {
  std::size_t used = 0;
  double value = 0;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  const std::string unit = text.substr(used);
  const double scale = unit.empty() || unit == "s" ? 1
                       : unit == "ms"              ? 1e-3
                       : unit == "m"               ? 60
                       : unit == "h"               ? 3600
                                                   : 0;
  if (used == 0 || scale == 0 || !(value >= 0) || value * scale > 1e7)
    return fail(ErrorCode::parse, "[{}] budget \"{}\"; a time such as 90s, 10m or 2h expected", area, text);
  return value * scale;
}

Result<std::uint64_t> parse_bytes(const std::string& text, std::string_view area) {
  std::size_t used = 0;
  unsigned long long value = 0;
  try {
    if (!text.empty() && text[0] != '-') value = std::stoull(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  const std::string unit = text.substr(used);
  const int shift = unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : unit.empty() ? 0 : -1;
  if (used == 0 || shift < 0 || value == 0 || value > (std::uint64_t{1} << 45) >> shift)
    return fail(ErrorCode::parse, "[{}] memory \"{}\"; a size such as 512M or 4G expected", area, text);
  return std::uint64_t{value} << shift;
}

void show_search_progress(const SearchProgress& progress, double seconds, std::string_view things) {
  if (!isatty(STDERR_FILENO) || seconds < 1) return;
  const double rate = static_cast<double>(progress.evaluations) / seconds;
  std::string line = fmt::format("{:.3g} {} ({:.3g}/s), {:.0f} s", static_cast<double>(progress.evaluations),
                                 things, rate, seconds);
  if (progress.expected_evaluations)
    line += fmt::format(
        ", about {:.2g} expected, {:.0f} s left", *progress.expected_evaluations,
        std::max(0.0, (*progress.expected_evaluations - static_cast<double>(progress.evaluations)) /
                          std::max(rate, 1.0)));
  line += fmt::format(", {:.0f} MB", static_cast<double>(progress.memory_bytes) / 1e6);
  if (!progress.stage.empty()) line += "; " + progress.stage;
  fmt::print(stderr, "\r\033[K{}", line);
  std::fflush(stderr);
}

}  // namespace rung::cli
