// The holonomy decomposition of an automaton without groups into flip-flops (Krohn, Rhodes 1965; Eilenberg
// 1976, Automata, Languages and Machines B, II.7).
//
// A *set* is an image of the set of all states under a word, or a single state. A set is below another if
// some word makes the other cover it; two that are below each other are *alike*, and in an automaton
// without groups every word that leads from one to the other does so in the same way, point for point. The
// height of a set is the longest chain strictly below it; single states have height 0. The *tiles* of a
// set are the largest smaller sets inside it.
//
// A *chain* follows the state from the set of all states down to a single one: at level h, a set of height
// h goes on to the tile that coordinate h names, a set of less height stays. When a letter is read, the
// coordinate of a level either stays (the letter led the level's set onto the new one, tiles onto tiles,
// and alike sets name their tiles alike) or is set to a tile that covers what the set became: a flip-flop,
// whose control depends on the letter and on the higher levels before the letter.
//
// Invariant: the state lies in the set of every level of the chain.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rung/base/result.h"
#include "rung/tasks/automaton.h"

namespace rung {

// Coordinates from the highest level down; -1 where the level's set has less height and the coordinate
// means nothing.
using Chain = std::vector<int>;

struct Holonomy {
  int levels = 0;
  std::vector<int> values;  // by level: how many tiles a set of that height has at most
  Chain start;
  // What a letter does to a level, given the chain before it: nothing (the coordinate stays) or a value to
  // set.
  struct Control {
    std::vector<std::optional<int>> set;  // by level
    Chain after;                          // with -1 where the level means nothing
  };
  // Of a chain that words lead to.
  struct Node {
    Chain chain;
    std::uint32_t state = 0;
    std::vector<Control> letters;
    std::vector<std::size_t> next;  // by letter: the node after
  };
  std::vector<Node> nodes;  // every chain that words lead to from `start`, in the order of a queue
};

// Errors: more than 16 states; a word that permutes the states of a set, which an aperiodic automaton has
// not.
Result<Holonomy> holonomy(const Automaton& automaton);

}  // namespace rung
