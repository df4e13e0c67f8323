// Random architectures over the whole language: every word, every option of every word, head groups,
// stacks, dimensions, precisions, positions, encoders and chains of thought, all of them small.
#pragma once

#include "rung/base/random.h"
#include "tests/witness/case.h"
#include "tests/witness/task_tree.h"

namespace rung {

// A mixer with small numbers. `in_heads`: one that may stand in heads(...).
Mixer small_mixer(Random& random, bool in_heads);
// One to four layers, the same one often more than once.
Stack small_stack(Random& random);
// The flags of an architecture that is asked about the task. What resolve() refuses is among them.
WitnessCase random_case(Random& random, const TinyTask& task);
// The same with every layer a recurrence, causal: what capacities speak about.
WitnessCase random_recurrence(Random& random, const TinyTask& task);

// The same case with more of one thing: heads, dimensions, width, bits, state, a layer. Nothing where the
// case has none of the thing that was drawn. `what` names it.
std::optional<WitnessCase> enlarged(Random& random, const WitnessCase& given, std::string& what);

}  // namespace rung
