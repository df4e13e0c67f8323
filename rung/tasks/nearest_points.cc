#include "rung/tasks/nearest_points.h"

namespace rung {

std::uint64_t integer_root(unsigned __int128 x) {
  unsigned __int128 root = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const unsigned __int128 tried = root | (static_cast<unsigned __int128>(1) << bit);
    if (tried * tried <= x) root = tried;
  }
  return static_cast<std::uint64_t>(root);
}

// Rounding moves a component of u by 1/2 at most: |v|² - |u|² = 2u·e + |e|² with |u·e| <= 2^f √d / 2.
std::int64_t nearest_slack(std::int64_t d, std::int64_t f) {
  const auto scaled = static_cast<unsigned __int128>(d) << (2 * f + 4);  // (4 · 2^f √d)²
  return (static_cast<std::int64_t>(integer_root(scaled)) + d) / 4;
}

bool corners_keep_margin(std::int64_t d, std::int64_t f, std::int64_t margin) {
  const auto squared = (static_cast<unsigned __int128>(1) << (2 * f + 2)) / static_cast<std::uint64_t>(d);
  const auto r = (static_cast<std::int64_t>(integer_root(squared)) + 1) / 2;  // 2r - 1 <= 2 · 2^f/√d
  return 2 * r * r >= nearest_gap(margin, f);
}

}  // namespace rung
