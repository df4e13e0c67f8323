// Where a theorem says beforehand that two prompts must end alike: the numbers that it asks for, counted from
// the shapes of a concrete model by the rules of docs/certificate_v1.md ("fooling-pair").
#pragma once

#include <optional>

#include "rung/adversary/target.h"

namespace rung {

// One full layer followed by recurrent ones on 2-SeqComp: what the two sides of one-full-layer-late are made
// of.
struct OneFullLayerBits {
  std::int64_t partial = 0;  // M_part = H (dv p_num + p_den), p_num = bits(E_max) + v.bits + ⌈lg T⌉ + 1,
                             // p_den = bits(E_max) + ⌈lg T⌉
  std::int64_t after =
      0;  // s_1: state bits of the recurrent layers after the n_1 m + m tokens of z_2 and z_1
};
// Nothing unless the stack is one causal full layer (no window, chunk or convolution) followed by layers of
// bounded state, integer weights, no chain of thought, seqcomp with L = 2 in the hard order.
std::optional<OneFullLayerBits> one_full_layer_bits(const Target& target);

// Parameters that prove, for all weights of these shapes, that a fooling pair exists which differs in z_2
// only; nothing where the count does not reach this size.
std::optional<FoolingPairClaim::Proof> forced_proof(const Target& target);

// Puts the label `forced` with its proof on a fooling pair that differs in z_2 only, where the theorem
// speaks.
void label_fooling_pair(const Target& target, Certificate& certificate);

// Whether the task has more than 2^bits beginnings of `cut` positions that some common ending separates
// pairwise, counted exactly as docs/certificate_v1.md counts them (eva, index, retrieval, mqar, two-sum,
// equality, disjointness, seqcomp): two of them share a state of so many bits. Never for other tasks.
bool collision_is_forced(const Task& task, std::int64_t cut, std::int64_t bits);

}  // namespace rung
