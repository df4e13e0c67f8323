// Random numbers that depend on (seed, stream) alone: the same on every machine, compiler and thread count.
// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a counter passed through a mixing function, so stream number
// i can be started anywhere without touching the streams before it. Instance i of a task uses Random(seed,
// i).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "rung/base/require.h"

namespace rung {

class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0)
      : counter_(mix(mix(seed + kGamma) + stream * kGamma)) {}

  std::uint64_t next() { return mix(counter_ += kGamma); }

  // Uniform on [0, bound), exactly (Lemire's rejection). REQUIRES bound >= 1.
  std::uint64_t below(std::uint64_t bound) {
    RUNG_REQUIRE(bound >= 1, "bound={}", bound);
    unsigned __int128 product = static_cast<unsigned __int128>(next()) * bound;
    if (static_cast<std::uint64_t>(product) < bound) {
      const std::uint64_t threshold = (0 - bound) % bound;
      while (static_cast<std::uint64_t>(product) < threshold)
        product = static_cast<unsigned __int128>(next()) * bound;
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

  // Uniform on [low, high], both included. REQUIRES low <= high.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    RUNG_REQUIRE(low <= high, "low={} high={}", low, high);
    const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    if (span == ~0ULL) return static_cast<std::int64_t>(next());
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + below(span + 1));
  }

  // Uniform on [0, 1) in steps of 2^-53.
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  static constexpr std::uint64_t kGamma = 0x9E3779B97F4A7C15ULL;
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  std::uint64_t counter_;
};

}  // namespace rung
