// The holonomy decomposition of an automaton without groups into flip-flops (Krohn, Rhodes 1965; Eilenberg
// 1976, Automata, Languages and Machines B, II.7).
//
// A *set* is an image of the set of all states under a word, or a single state. A set is below another if
// some word makes the other cover it; two that are below each other are *alike*, and in an automaton
// without groups every word that leads from one to the other does so in the same way, point for point. The
// height of a set is the longest chain strictly below it; single states have height 0. The *tiles* of a
// set are the largest smaller sets inside it.
//
// The state is followed from the set of all states down to a single one: at level i, a set of height
// levels - i goes on to the tile that the level's coordinate names, a set of less height stays. When a
// letter is read, let B be the level's set before it, A the one after it and M the image of B, which lies in A.
// Where M = A the coordinate stays (tiles went onto tiles, and alike sets name their tiles alike), else it is
// set to the first tile of A that covers M: a flip-flop, whose control depends on the letter and on the
// levels above, before and after the letter. The state lies in the set of every level.
#pragma once

#include <cstdint>
#include <vector>

#include "rung/base/result.h"
#include "rung/tasks/automaton.h"

namespace rung {

using PointSet = std::uint32_t;  // a set of states: bit q

struct HolonomySet {
  PointSet points = 0;
  std::vector<PointSet> tiles;  // in an order that alike sets share
};
struct Holonomy {
  std::vector<std::vector<HolonomySet>> levels;  // from the highest down: the sets of a level's height

  int values(std::size_t level) const;  // the most tiles of a set of that level
};

// The set that `letter` makes of `set`.
PointSet image(const Automaton& automaton, PointSet set, std::uint32_t letter);
// The first tile that covers `part`, or how many there are where none does.
int covering_tile(const HolonomySet& set, PointSet part);

// Errors: more than 16 states; a word that permutes the states of a set, which an aperiodic automaton has
// not.
Result<Holonomy> holonomy(const Automaton& automaton);

}  // namespace rung
