#include "rung/tasks/sampling.h"

#include <bit>
#include <numeric>
#include <unordered_set>

namespace rung {

std::int64_t zipf(Random& random, std::int64_t bound) {
  RUNG_REQUIRE(bound >= 1 && bound <= (std::int64_t{1} << 62), "bound={}", bound);
  const auto blocks = static_cast<std::uint64_t>(std::bit_width(static_cast<std::uint64_t>(bound)));
  for (;;) {
    const std::uint64_t first = std::uint64_t{1} << random.below(blocks);
    const std::uint64_t rank = first + random.below(first);
    if (rank <= static_cast<std::uint64_t>(bound) && random.below(rank) < first)
      return static_cast<std::int64_t>(rank) - 1;
  }
}

std::vector<std::int64_t> distinct(Random& random, std::int64_t count, std::int64_t bound) {
  RUNG_REQUIRE(0 <= count && count <= bound, "count={} bound={}", count, bound);
  std::vector<std::int64_t> values;
  if (count == 0) return values;
  if (bound / count < 4) {  // dense: the head of a shuffled list
    values.resize(static_cast<std::size_t>(bound));
    std::iota(values.begin(), values.end(), 0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
      std::swap(values[i], values[i + random.below(values.size() - i)]);
    values.resize(static_cast<std::size_t>(count));
    return values;
  }
  std::unordered_set<std::int64_t> seen;  // sparse: draw again on a repetition, at most every fourth time
  values.reserve(static_cast<std::size_t>(count));
  while (values.size() < static_cast<std::size_t>(count)) {
    const auto value = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
    if (seen.insert(value).second) values.push_back(value);
  }
  return values;
}

}  // namespace rung
