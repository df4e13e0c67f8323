// The additive attack on a first full layer (additive_sums.cc).
#pragma once

#include "rung/adversary/attack.h"

namespace rung {

AttackMethod additive_sums_method();

}  // namespace rung
