// What a prompt of nearest neighbour must keep (docs/tasks.md): the one definition for the task, its
// constructions, its bound and its attacks. Numbers are integers over 2^f, products and squares over 4^f.
#pragma once

#include <cstdint>

namespace rung {

// ⌊√x⌋.
std::uint64_t integer_root(unsigned __int128 x);

// The most by which |v|² of a unit vector differs from 4^f once every component is rounded:
// ⌊2^f √d + d/4⌋, below 4^f. REQUIRES 1 <= d <= 4^(f-1), 1 <= f <= 20.
std::int64_t nearest_slack(std::int64_t d, std::int64_t f);

// The lead that the best product has over every other: margin · 2^f.
inline std::int64_t nearest_gap(std::int64_t margin, std::int64_t f) { return margin << f; }

// Whether the corners (±r, …, ±r), r = 2^f/√d rounded, keep the margin as points of a prompt that asks for
// one of them: a corner's own product is d r², any other corner's at least 2r² less.
bool corners_keep_margin(std::int64_t d, std::int64_t f, std::int64_t margin);

}  // namespace rung
