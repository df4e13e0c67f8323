// Collisions of additive states by Wagner's tree of lists (CRYPTO 2002).
#pragma once

#include "rung/adversary/attack.h"

namespace rung {

AttackMethod generalised_birthday_method();

}  // namespace rung
