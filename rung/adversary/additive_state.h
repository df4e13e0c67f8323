// A state that is a sum: S = Σ_i u(i, row at slot i), entry by entry, modulo 2^bits (wrap) or without end
// (exact). One layer of linear attention has it; every attack on sums starts from this table.
#pragma once

#include "rung/adversary/state_kernel.h"

namespace rung {

struct AdditiveState {
  std::int64_t numbers = 0;
  int bits =
      0;  // of an entry; exact sums: enough that a difference of two states is 0 iff it is 0 modulo 2^bits
  bool wraps = false;
  std::vector<std::vector<std::int64_t>>
      terms;  // by slot: rows x numbers; a constant common to all rows is left in
  const std::int64_t* term(std::size_t slot, std::size_t row) const {
    return terms[slot].data() + static_cast<std::int64_t>(row) * numbers;
  }
};

// The reason why the state is no sum, or nothing.
std::optional<std::string> not_additive(const Target& target);
// REQUIRES !not_additive(target), kernel.restarts().
AdditiveState additive_state(const Target& target, const StateKernel& kernel);

}  // namespace rung
