// Whether the size of a composition leaves no room for one layer less.
//
// A reading of the constructions, no theorem (docs/lab.md). A layer is saved where a value that attention fetches
// carries, in place of one entry of z_{l+1}, a whole branch of it (N_{l-1} entries) or all continuations of one value
// of z_l (n_l entries), ⌈lg N_l⌉ bits each. It separates where the cheaper of the two, at every level, is more than
// kSeparationSlack times what one full layer fetches, H dv p bits, and no recurrent state holds half of z_1, m lg m
// bits.
#pragma once

#include <optional>
#include <span>

#include "rung/records/experiment_results.h"
#include "rung/spec/weights.h"
#include "rung/tasks/task.h"

namespace rung::lab {

// A value that is fetched is added to what is there, and the layers around it may code more tightly than one number
// a coordinate; four times the room is meant to leave none of that in doubt.
inline constexpr std::int64_t kSeparationSlack = 4;

// Nothing for other tasks, one function, and the easy order. p is that of `weights` as they are scored.
std::optional<Separation> separation(const Weights& weights, const Task& task);

// The same with so many bits a number that is fetched or kept. REQUIRES s.bits >= 1.
void count_with(Separation& s, std::int64_t bits);

// A member of this accuracy composes.
inline constexpr double kComposes = 0.9;
// Floats carry fewer bits than they have. Where members that compose at a size were measured (SeedScore::carried_bits),
// all configurations of that size count with the most that one of them needed; one that composes and was not
// measured, or needs more than can be, counts with all of its bits.
void measure_separation(std::span<ConfigurationOutcome> outcomes);

// "separated: 70 > 64 bits; states of 16 bits < half of 33.2"
std::string separation_text(const Separation& separation);

}  // namespace rung::lab
