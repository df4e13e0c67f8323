// Two contents of a part of the prompt that add the same to the answer token's softmax sums, for one full
// layer alone (partial_sums.cc).
#pragma once

#include "rung/adversary/attack.h"

namespace rung {

AttackMethod partial_sums_method();

}  // namespace rung
