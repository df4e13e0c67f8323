// The attacks, a file each; method_list.cc puts them in their order.
#pragma once

#include "rung/adversary/attack.h"

namespace rung {

// The additive attack on a first full layer.
AttackMethod additive_sums_method();
// Collisions inside the oldest bucket of log-linear stacks.
AttackMethod big_bucket_method();
// The indistinguishable decomposition as an algorithm: 2-SeqComp against one full layer among recurrent ones,
// toy sizes.
AttackMethod class_refinement_method();
// Collisions by distinguished points (van Oorschot, Wiener 1999): parallel, black box, little memory.
AttackMethod distinguished_points_method();
// Prompts whose answers differ and whose activations at the answer position do not.
AttackMethod flip_method();
// Collisions of additive states by Wagner's tree of lists (CRYPTO 2002).
AttackMethod generalised_birthday_method();
// Collisions of stacks, layer by layer (after Joux, CRYPTO 2004): depth adds almost no collision resistance.
AttackMethod hierarchical_method();
// Collisions of additive states with linear values, by lattice reduction (the
// short-integer-solution problem).
AttackMethod lattice_method();
// Powers of a short word, of every length and not of the task's alone (orbits.h).
AttackMethod orbits_method();
// Two contents of a part of the prompt that add the same to the answer token's softmax sums, for one
// full layer alone.
AttackMethod partial_sums_method();
// The states that a recurrent stack can reach, all of them: its exact capacity.
AttackMethod reachable_states_method();
// Equal messages of different blocks: what one block-sparse layer cannot tell apart.
AttackMethod sparse_blocks_method();
// Two beginnings that leave the same states in every layer, for any task.
AttackMethod state_collision_method();
// The weakest attack: an instance that the model gets wrong. It refutes this model, and says nothing
// about other weights.
AttackMethod wrong_answer_method();

}  // namespace rung
