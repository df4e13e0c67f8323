// Numbers of known widths in 64-bit words: a state as a key. Injective, because a proof rests on it: two
// states have equal words if and only if their numbers are equal. No number lies across two words.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rung {

class StateCode {
 public:
  struct Place {
    std::uint32_t word = 0;
    int shift = 0, width = 0;  // bits
  };

  StateCode() = default;
  // REQUIRES widths in 1..64. Negative numbers are stored in two's complement.
  explicit StateCode(std::span<const int> widths) {
    int used = 64;
    for (const int width : widths) {
      if (used + width > 64) {
        ++words_;
        used = 0;
      }
      places_.push_back({static_cast<std::uint32_t>(words_ - 1), used, width});
      used += width;
      bits_ += width;
    }
  }

  std::size_t words() const { return words_; }
  std::int64_t bits() const { return bits_; }
  const std::vector<Place>& places() const { return places_; }

  static std::uint64_t mask(int width) {
    return width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  }
  // REQUIRES that the place is still 0.
  void put(std::size_t place, std::int64_t number, std::uint64_t* words) const {
    const Place& p = places_[place];
    words[p.word] |= (static_cast<std::uint64_t>(number) & mask(p.width)) << p.shift;
  }
  std::int64_t get(std::size_t place, const std::uint64_t* words) const {
    const Place& p = places_[place];
    const int unused = 64 - p.width;
    return static_cast<std::int64_t>(words[p.word] >> p.shift << unused) >> unused;
  }

 private:
  std::vector<Place> places_;
  std::size_t words_ = 0;
  std::int64_t bits_ = 0;
};

}  // namespace rung
