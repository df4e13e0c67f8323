// The query of a request: names and values, decoded strictly.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "rung/base/result.h"

namespace rung::serve {

using Parameters = std::map<std::string, std::string>;

struct Target {
  std::string
      path;  // as it came: nothing in it is decoded, so nothing in it can mean anything else than it says
  Parameters parameters;
};

// Errors: percent signs that are no bytes, control characters, text that is not UTF-8, a name twice, more
// than kMostParameters.
inline constexpr std::size_t kMostParameters = 64;
Result<Target> parse_target(std::string_view target);

}  // namespace rung::serve
