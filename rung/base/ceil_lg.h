// Bits of whole numbers.
#pragma once

#include <bit>
#include <cstdint>

namespace rung {

// Smallest k >= 0 with 2^k >= x; 0 for x <= 1.
constexpr int ceil_lg(std::uint64_t x) { return x <= 1 ? 0 : static_cast<int>(std::bit_width(x - 1)); }

}  // namespace rung
