// Collisions of additive states with linear values, by lattice reduction (the short-integer-solution
// problem).
#pragma once

#include "rung/adversary/attack.h"

namespace rung {

AttackMethod lattice_method();

}  // namespace rung
