// Collisions inside the oldest bucket of log-linear stacks (big_bucket.cc).
#pragma once

#include "rung/adversary/attack.h"

namespace rung {

AttackMethod big_bucket_method();

// Bits that the first 2^k tokens leave behind in all layers once they form one bucket (after 2^k + 1 positions): one level of
// every log-linear layer, other recurrences and convolution buffers in full. REQUIRES layers of bounded state.
std::int64_t big_bucket_bits(const Target& target, int k);

}  // namespace rung
