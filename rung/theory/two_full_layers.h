// Two full layers and no recurrence before the second one, 2-SeqComp: F F, F F R^a, and head-wise (F∥R)(F∥R)
// R^a.
//
// Claim. Impossible as soon as, for some T, x_0 and y <= n_1, with D_1 = (y + 1) M_part + s_beside1,
//   x_0 lg(2m / (e T x_0)) > 2 D_1   and
//   ⌈T x_0 / 2⌉ y lg N_1 > M_part (x_0 y + x_0 + y + 1) + M_out T m + s_beside1 + T s_beside2
//                          [+ M_part x_0 (y + T) + T s_after   if R layers follow the second F].
// Proof. In the first F a query depends on its own token alone, so the partial sums of z_1 at w_1 and `=` (y
// + 1 states), and the state that recurrent heads of layer 1 carry out of z_1, are D_1 bits: T functions z_1
// of one class with T x_0 / 2 distinct values on [x_0] exist. On that class `=` before the second F depends
// on (z_0, w_1) but not on z_1. Fixed for z_2: its first-F partial sums at x_0 + y + 1 states, the first-F
// outputs of the m tokens of each z_1 (M_out), its second-F partial sums at the x_0 y states of `=`, and the
// crossing states. R layers after the second F also read w_1 (x_0 y states) and z_0 (x_0 T states) there, and
// the z_1 segment through T s_after bits.
//
// Holds for exact integer sums (mode X), decoders, no chain of thought. Reference: docs/theorems.md,
// two-full-layers and head-wise. Invariant of the searches: floating point only steers; `certified` is
// decided on integers.
#pragma once

#include <optional>

#include "rung/theory/seqcomp_proof.h"

namespace rung {

struct TwoFullLayers {
  Integer partial;  // M_part
  Integer outputs;  // M_out, bits of rounded head outputs per token
  bool recurrence_follows = false;
  Integer after = 0;          // state bits of R layers after the second F
  Integer beside_first = 0;   // state bits of recurrent heads inside the first F layer (head-wise)
  Integer beside_second = 0;  // and inside the second
};

// Exact. REQUIRES proof.sizes.L() == 2, one T.
bool certify(const TwoFullLayers& layers, const SeqcompProof& proof);

// The parameters with the largest margin found at these sizes. REQUIRES sizes.L() == 2.
SeqcompProof best_proof(const TwoFullLayers& layers, const SeqcompSizes& sizes);

// The smallest sizes found (fixed grid over T and n_1, x_0 and m solved for): an upper bound of the true
// minimum. Nothing when none is found below 2^100.
std::optional<SeqcompProof> smallest_proof(const TwoFullLayers& layers, Objective objective);

}  // namespace rung
