// A model with linear attention in both of its forms: the recurrence, which carries a state, and the parallel
// form, which weighs every earlier token and carries none. The paper's lemma that linear attention is a
// recurrence says that they are equal; here both are run and every row after every layer is compared
// (docs/theorems.md, linear-recurrence).
//
// Mixers without a parallel form run as they are in both. Deterministic.
#pragma once

#include <cstdint>
#include <optional>

#include "rung/exact/machine.h"

namespace rung {

struct FormDifference {
  std::int64_t layer = 0, position = 0, coordinate = 0;  // from 0
  std::int64_t parallel = 0, recurrent = 0;              // the two numbers
};

struct FormComparison {
  std::int64_t rows = 0;                // compared, over all layers
  bool rounds = false;                  // some state is rounded at every step: the forms need not agree
  std::optional<FormDifference> first;  // by layer, then position
};

// fields: those of the weights. Errors: mode Q; encoders and stacks in which no mixer has a parallel form; a prompt that the machine refuses.
Result<FormComparison> compare_forms(const Machine& machine, const std::vector<FieldSpec>& fields,
                                     const Prompt& prompt);

}  // namespace rung
