// Prompts whose answers differ and whose activations at the answer position do not (flip.cc).
#pragma once

#include "rung/adversary/attack.h"

namespace rung {

AttackMethod flip_method();

}  // namespace rung
