// RUNG_REQUIRE: the first of the three kinds of error, a caller's bug. Always on, in every build type;
// prints the condition and the values, then aborts. User input never reaches it: that is Result's business
// (result.h).
#pragma once

#include <fmt/core.h>

#include <string>

namespace rung {

[[noreturn]] void require_failed(const char* file, int line, const char* condition,
                                 const std::string& values);

}  // namespace rung

// RUNG_REQUIRE(i < n, "i={} n={}", i, n);
#define RUNG_REQUIRE(condition, ...)                                                         \
  do {                                                                                       \
    if (!(condition)) [[unlikely]]                                                           \
      ::rung::require_failed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
  } while (false)
