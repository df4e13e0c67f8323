// TOML as the same tree that JSON gives. toml++ is optional: without it every text is refused by name.
// ENSURES: no exception; one-line error "[area] ..." for text that is not TOML.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "rung/base/result.h"

namespace rung {

Result<nlohmann::json> parse_toml(const std::string& text, const std::string& path, std::string_view area);

}  // namespace rung
