// The states that a recurrent stack can reach, all of them: its exact capacity.
#pragma once

#include "rung/adversary/attack.h"

namespace rung {

AttackMethod reachable_states_method();

}  // namespace rung
