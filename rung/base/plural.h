// Numbers of things in messages.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace rung {

// "1 layer", "12 layers".
inline std::string counted(auto count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace rung
