// Collisions of stacks, layer by layer (after Joux, CRYPTO 2004): depth adds almost no collision resistance.
#pragma once

#include "rung/adversary/attack.h"

namespace rung {

AttackMethod hierarchical_method();

}  // namespace rung
