// The automaton of `modulo`, and with m = 2 of `parity`: the sum of the letters modulo m.
#pragma once

#include "rung/tasks/automaton.h"

namespace rung {

// States and letters are the numbers of [m]. REQUIRES 1 <= m and m * m <= kMaxTransitions.
Automaton modular_sum(std::int64_t m);

}  // namespace rung
