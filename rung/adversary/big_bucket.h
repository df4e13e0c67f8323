// Collisions inside the oldest bucket of log-linear stacks (big_bucket.cc).
#pragma once

#include "rung/adversary/attack.h"

namespace rung {

AttackMethod big_bucket_method();

}  // namespace rung
