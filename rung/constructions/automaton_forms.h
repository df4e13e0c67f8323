// The forms in which an automaton task is built: models without positions and without a context, which
// `rung verify` proves right at every length (docs/verify.md).
#pragma once

#include "rung/constructions/construction.h"
#include "rung/tasks/automaton.h"

namespace rung {

using SharedTask = std::shared_ptr<const Task>;

// REQUIRES task->automaton(). Any automaton, in one layer with relu cells.
Result<Construction> build_automaton_rnn(const ConstructionRequest& request, const SharedTask& task);
// Automata whose letters permute the states. Errors: a letter that does not; groups too large to read.
Result<Construction> build_automaton_delta(const ConstructionRequest& request, const SharedTask& task);
// Automata of up to kMostCascadeStates states without groups. Errors: larger ones, and those with a group.
Result<Construction> build_automaton_cascade(const ConstructionRequest& request, const SharedTask& task);
// Flip-flops. REQUIRES the task flipflop.
Result<Construction> build_flipflop_mamba2(const ConstructionRequest& request, const SharedTask& task);
// Parity of up to n letters. REQUIRES the task parity.
Result<Construction> build_parity_full(const ConstructionRequest& request, const SharedTask& task);

inline constexpr std::uint32_t kMostCascadeStates = 6;

using Permutation = std::vector<std::uint32_t>;  // where each point goes
// Pairs (i, j) whose exchanges, one after the other, move every entry to where the permutation says.
std::vector<std::pair<std::uint32_t, std::uint32_t>> transpositions(Permutation goes);

// One-hot slot of the token: a coordinate for every letter, and one for ^.
Slot letter_slot(ModelWriter& model, const Task& task);
// The task's answer as what `slot` holds: a bit for yes or no, else the digits of the answer.
int answer_digits(const Automaton& automaton);
void output_answer(ModelWriter& model, const Automaton& automaton, const Slot& slot);

}  // namespace rung
