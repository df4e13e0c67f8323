// The forms in which an automaton task is built: models without positions and without a context, which
// `rung verify` proves right at every length (docs/verify.md).
#pragma once

#include "rung/constructions/construction.h"
#include "rung/tasks/automaton.h"
#include "rung/theory/permutation_rows.h"
#include "rung/theory/tracking_cost.h"

namespace rung {

using SharedTask = std::shared_ptr<const Task>;

// Which recurrent cells: relu ones, those with a table of their own, or gated ones whose gates are fixed.
enum class AutomatonCell { relu, table, gated };
// REQUIRES task->automaton(). Any automaton, in one layer.
Result<Construction> build_automaton_rnn(const ConstructionRequest& request, const SharedTask& task,
                                         AutomatonCell kind);
// Automata whose letters permute the states, by delta or gdelta. Errors: a letter that does not; groups too
// large to read.
Result<Construction> build_automaton_delta(const ConstructionRequest& request, const SharedTask& task,
                                           bool gated);
// Automata of up to kMostCascadeStates states without groups. Errors: larger ones, and those with a group.
Result<Construction> build_automaton_cascade(const ConstructionRequest& request, const SharedTask& task);
// Flip-flops. REQUIRES the task flipflop.
Result<Construction> build_flipflop_mamba2(const ConstructionRequest& request, const SharedTask& task);
// Parity of up to n letters. REQUIRES the task parity.
Result<Construction> build_parity_full(const ConstructionRequest& request, const SharedTask& task);

// One-hot slot of the token: a coordinate for every letter, and one for ^.
Slot letter_slot(ModelWriter& model, const Task& task);
// The task's answer as what `slot` holds: a bit for yes or no, else the digits of the answer.
void output_answer(ModelWriter& model, const Automaton& automaton, const Slot& slot);

}  // namespace rung
