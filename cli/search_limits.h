// How long and in how much memory a search may run, as the command line says it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rung/adversary/attack.h"
#include "rung/base/result.h"

namespace rung::cli {

// "90", "90s", "10m", "2h", "500ms" in seconds. `area` begins the message.
Result<double> parse_duration(const std::string& text, std::string_view area);
// "512M", "4G" in bytes.
Result<std::uint64_t> parse_bytes(const std::string& text, std::string_view area);

// One line on standard error, on a terminal; `things` names what is counted.
void show_search_progress(const SearchProgress& progress, double seconds, std::string_view things);

}  // namespace rung::cli
