// Collisions by distinguished points (van Oorschot, Wiener 1999): parallel, black box, little memory.
#pragma once

#include "rung/adversary/attack.h"
#include "rung/adversary/state_kernel.h"

namespace rung {

// Whether the model is a stack of recurrent layers only, on a task whose beginnings are known; else the
// reason why not.
std::optional<std::string> not_purely_recurrent(const Target& target);

}  // namespace rung
