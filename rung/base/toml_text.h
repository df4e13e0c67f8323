// TOML as the same tree that JSON gives. toml++ is optional: without it every text is refused by name.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "rung/base/result.h"

namespace rung {

Result<nlohmann::json> parse_toml(const std::string& text, const std::string& path);

}  // namespace rung
