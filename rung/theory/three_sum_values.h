// The values on which 3-Sum contains set membership (recurrent_two_sum.cc, full_alone.cc).
#pragma once

#include "rung/theory/logarithm.h"

namespace rung {

// How many integers lie strictly between M/6 and M/3. REQUIRES M >= 1.
inline Integer three_sum_values(const Integer& M) {
  const Integer above = M / 6, below = (M - 1) / 3;  // a > M/6 iff a > ⌊M/6⌋; a < M/3 iff 3a <= M-1
  return below > above ? below - above : Integer(0);
}

}  // namespace rung
