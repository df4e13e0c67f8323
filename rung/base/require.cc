#include "rung/base/require.h"

#include <cstdio>
#include <cstdlib>

namespace rung {

void require_failed(const char* file, int line, const char* condition, const std::string& values) {
  fmt::print(stderr, "{}:{}: RUNG_REQUIRE({}) failed: {}\n", file, line, condition, values);
  std::fflush(stderr);
  std::abort();
}

}  // namespace rung
