// Where the aperiodicity theorem says beforehand that a model of an automaton task is wrong somewhere:
// for all weights of its shapes, and on a word of at most so many letters (docs/certificate_v1.md,
// "wrong-word").
#pragma once

#include <optional>
#include <string>

#include "rung/adversary/target.h"
#include "rung/theory/outcome.h"

namespace rung {

struct ForcedWord {
  std::string theorem;
  Status status = Status::proved;
  // Absent where no length is counted: full attention, top-k and exact sums, whose count rung-check does
  // not make.
  std::optional<WrongWordClaim::Powers> powers;
};

// Nothing where the theorem does not speak: another layer, a negative decay, sums that wrap, positions, a
// context, floats, an aperiodic task. REQUIRES an automaton task, the machine loaded from the weights.
std::optional<ForcedWord> forced_word(const Target& target);

}  // namespace rung
