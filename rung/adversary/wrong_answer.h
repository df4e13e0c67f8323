// The weakest attack: an instance that the model gets wrong. It refutes this model, and says nothing about
// other weights.
#pragma once

#include "rung/adversary/attack.h"

namespace rung {

AttackMethod wrong_answer_method();

}  // namespace rung
