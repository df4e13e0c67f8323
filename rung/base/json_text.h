// JSON of the outside world: bounded in size and depth before a tree is built.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "rung/base/result.h"

namespace rung {

inline constexpr std::size_t kMaxJsonBytes = std::size_t{64} << 20;
inline constexpr int kMaxJsonDepth = 64;  // open brackets and braces

// ENSURES: no exception; one-line error "[area] ..." for text that is not JSON, too large, or nested too
// deep. Bare NaN, Infinity and -Infinity, which Python writes, are accepted as null where a value may stand.
Result<nlohmann::json> parse_json(std::string_view text, std::string_view area);

// The whole file, at most kMaxJsonBytes.
Result<std::string> read_text_file(const std::string& path, std::string_view area);

}  // namespace rung
