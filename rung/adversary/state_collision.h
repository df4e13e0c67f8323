// Two beginnings that leave the same states in every layer, for any task: whatever follows, the model answers
// them alike (state_collision.cc).
#pragma once

#include "rung/adversary/attack.h"

namespace rung {

// Why the stack has no bounded state that a collision could be about: a cache that grows, an encoder. Nothing
// when it has one.
std::optional<std::string> unbounded_state(const Target& target);

// A birthday on the states after `cut` positions, over beginnings that differ in their last entries before
// it. Fills the outcome. REQUIRES 1 <= cut < T, bounded state.
Result<void> collide_states(const Target& target, std::int64_t cut, const SearchOptions& options,
                            AttackOutcome& outcome);

}  // namespace rung
