// Equal messages of different blocks: what one block-sparse layer cannot tell apart (sparse_blocks.cc).
#pragma once

#include "rung/adversary/attack.h"

namespace rung {

AttackMethod sparse_blocks_method();

}  // namespace rung
