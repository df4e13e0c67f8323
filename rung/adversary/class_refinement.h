// The indistinguishable decomposition as an algorithm: 2-SeqComp against one full layer among recurrent ones,
// toy sizes (class_refinement.cc).
#pragma once

#include "rung/adversary/attack.h"

namespace rung {

AttackMethod class_refinement_method();

}  // namespace rung
