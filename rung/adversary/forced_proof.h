// Where a theorem says beforehand that two prompts must end in one activation: the numbers that it asks for,
// counted from the shapes of a concrete model by the rules of docs/certificate_v1.md ("fooling-pair").
#pragma once

#include <optional>

#include "rung/adversary/target.h"

namespace rung {

// One full layer among recurrent ones on 2-SeqComp: what the two sides of one-full-layer-late and -early are
// made of.
struct OneFullLayerBits {
  std::int64_t partial = 0;  // M_part
  std::int64_t before =
      0;  // s_0: state bits of the recurrent layers before it, after z_2 or after z_1, where they are more
  std::int64_t after = 0;  // s_1: of those behind it, after the n_1 m + m tokens of z_2 and z_1
};
// Nothing unless the stack has one causal full layer (no window, chunk or convolution) among layers of
// bounded state, integer weights, no chain of thought, seqcomp with L = 2 in the hard order.
std::optional<OneFullLayerBits> one_full_layer_bits(const Target& target);

// Parameters that prove, for all weights of these shapes, that a fooling pair exists which differs in z_2
// only; nothing where the count does not reach this size.
std::optional<FoolingPairClaim::Transcripts> forced_proof(const Target& target);

// M_part = H (dv p_num + p_den), p_num = bits(E_max) + v.bits + ⌈lg T⌉ + 1, p_den = bits(E_max) + ⌈lg T⌉, of
// a model whose only layer that mixes tokens is full (no window, chunk or convolution); nothing for others,
// float weights, a chain of thought.
std::optional<std::int64_t> full_alone_bits(const Target& target);

// A part of a task's prompts whose contents all matter to an answer token that they do not change
// (full-alone-*).
struct AnsweredPart {
  std::vector<std::int64_t> positions;  // increasing; the answer position is none of them
  bool outgrows = false;                // more contents that must be told apart than 2^bits
};
// equality and disjointness: the first string. 3-Sum: all numbers but two. Dyck: the opening brackets of
// pairs that follow each other, but the last. SeqComp with L = 1: z_1. Nothing for other tasks, and sizes
// without such a part.
std::optional<AnsweredPart> answered_part(const Task& task, std::int64_t bits);

// Puts the label `forced` with its proof on a fooling pair where a theorem forces one that differs in the
// same part.
void label_fooling_pair(const Target& target, Certificate& certificate);

}  // namespace rung
