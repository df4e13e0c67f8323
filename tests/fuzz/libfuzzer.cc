// The libFuzzer program of one target, RUNG_FUZZ_TARGET.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rung::fuzz::RUNG_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
