// The step function of a collision walk, without the model: how choices of rows are drawn from a code, and how
// a state becomes one. The same on the host and on a device, so that a search goes on where another began it.
//
// A code is one word where the state has at most 64 bits, and then injective; beyond, for walks, two words of
// hash: one would meet itself after 2^32 steps, long before states of more than 64 bits do.
#pragma once

#include <cstdint>

#include "rung/adversary/lanes/host_device.h"

namespace rung::lanes {

// SplitMix64's output function: what spreads a state's bits over the choices.
RUNG_INLINE constexpr std::uint64_t spread(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}
inline constexpr std::uint64_t kGoldenGamma = 0x9E3779B97F4A7C15ULL;
inline constexpr int kMostWords = 2;  // of a code
inline constexpr std::uint64_t kKeyMultiplier = 0xD1342543DE82EF95ULL;
RUNG_INLINE constexpr std::uint64_t multiplier(int word) {
  return word == 0 ? kKeyMultiplier : 0xAF251AF3B0F025B5ULL;
}
inline constexpr int kChoicesPerDraw = 4;  // 16 bits each

// Rows of a slot are drawn one after the other: 16 random bits times their number, over 2^16.
struct Draw {
  std::uint64_t even, odd, bits = 0;
  std::uint32_t drawn = 0;

  // code: `words` words.
  RUNG_INLINE Draw(const std::uint64_t* code, int words, std::uint64_t salt)
      : even(spread(code[0] ^ salt)), odd(even) {
    if (words == 1) return;
    odd = spread(code[1] ^ even);  // together one to one with the code
    even += odd;
  }
  RUNG_INLINE std::uint32_t next(std::uint32_t rows) {
    if (drawn % kChoicesPerDraw == 0) {
      const std::uint32_t block = drawn / kChoicesPerDraw;
      bits = spread((block % 2 == 0 ? even : odd) + (block + std::uint64_t{1}) * kGoldenGamma);
    }
    const auto choice = (static_cast<std::uint32_t>(bits) & 0xffff) * rows >> 16;
    bits >>= 16;
    ++drawn;
    return choice;
  }
};

// The code of a state, number by number.
struct Code {
  bool packs;  // at most 64 bits: the numbers side by side
  std::uint64_t word[kMostWords] = {0, 0};

  RUNG_INLINE explicit Code(bool packed) : packs(packed) {}
  RUNG_INLINE void add(std::int64_t number, int width) {
    const auto value = static_cast<std::uint64_t>(number);
    if (packs && width < 64) {
      word[0] = word[0] << width | (value & ((std::uint64_t{1} << width) - 1));
    } else {
      for (int w = 0; w < kMostWords; ++w) word[w] = word[w] * multiplier(w) + value;
    }
  }
};

// The last number of a packed code, which loses it.
RUNG_INLINE std::int64_t take_number(std::uint64_t& code, int width) {
  const int unused = 64 - width;
  const auto number = static_cast<std::int64_t>(code << unused) >> unused;
  code = unused == 0 ? 0 : code >> width;
  return number;
}

// Whether a walk ends here: so many leading zeros, of one number in 2^zeros.
RUNG_INLINE bool distinguished(std::uint64_t first_word, int zeros) {
  return zeros == 0 || spread(first_word + kGoldenGamma) >> (64 - zeros) == 0;
}

}  // namespace rung::lanes
