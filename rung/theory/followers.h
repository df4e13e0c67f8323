// Which mixers can follow an automaton at every length, and which cannot: what `rung class` says after the algebra.
#pragma once

#include <string>
#include <vector>

#include "rung/theory/theorem.h"

namespace rung {

struct Follower {
  std::string mixer;  // a layer, or a stack of them, as in the language; sizes as large as it takes
  Outcome outcome = Outcome::open;
  std::string theorem;  // empty where none speaks
  Status status = Status::proved;
  std::string note;  // what it takes, or why nothing is known
};

// At fixed precision, without positions, unless the row says otherwise. REQUIRES followed.algebra.
std::vector<Follower> followers_of(const FollowedAutomaton& followed);

}  // namespace rung
