// One full layer among recurrent ones, 2-SeqComp (and, at L = 1, one full layer alone).
//
// Claim, late recurrence (pattern F R^a). Impossible as soon as, for some T x_0 <= m and y <= n_1,
//   T x_0 y lg N_1 > (x_0 + y + 1) M_part + T s_1.
// Proof. z_1^t(z_0) = t x_0 + z_0 for t < T: T x_0 y distinct arguments of z_2 are asked for. In the F layer
// z_0, w_1 and `=` query with their own token, so z_2 reaches them through its partial sums at x_0 + y + 1
// token states; everything else reaches them through the s_1 state bits that leave the z_1 segment, a
// function of z_2 for each t. The table of answers takes at most 2^right values over z_2, correctness needs
// N_1^(T x_0 y).
//
// Claim, early recurrence (R.. F R^a, s_0 bits before the F). Sufficient:
//   x_0 lg(2m / (e T x_0)) >= 2 s_0 + 2/T   and   ⌈T x_0 / 2⌉ y lg N_1 > T (s_0 + s_1) + s_0 + 1 + M_part x_0 (2y + 1).
// The T functions z_1 now come from the rectangle of equal crossing states (Jensen), and the states entering
// the z_1 segment cost s_0 more.
//
// Claim, one full layer alone (L = 1). `=` queries with its own token: M_part + s bits (s: recurrent heads
// inside that layer) must hold z_1, so m lg m > M_part + s is impossible.
//
// Holds for exact integer sums (mode X), decoders, no chain of thought. Reference: docs/theorems.md,
// one-full-layer-*. Invariant of the searches: floating point only steers; `certified` is decided on
// integers.
#pragma once

#include <optional>

#include "rung/theory/seqcomp_proof.h"

namespace rung {

struct OneFullLayer {
  Integer partial;  // M_part, bits of partial softmax sums per receiving token
  Integer before;   // s_0, state bits of the R layers before the F
  Integer after;    // s_1, state bits of the R layers after (and of R heads beside) the F
  Integer spare =
      0;  // bottom tokens beyond z_0, w_1 and `=` that hold a constant (w_2 .. of a deeper composition): one more
          // state each, or x_0 y more behind an early recurrence
};

// Is the inequality (early or late, by whether before is 0) met by exactly these parameters? Exact.
// REQUIRES proof.sizes.L() == 2, one T.
bool certify(const OneFullLayer& layer, const SeqcompProof& proof);

// The parameters with the largest margin at these sizes; `certified` says whether they prove impossibility.
// REQUIRES sizes.L() == 2.
SeqcompProof best_proof(const OneFullLayer& layer, const SeqcompSizes& sizes);

// The smallest sizes found at which some parameters prove impossibility: exact for the late pattern, an upper
// bound (fixed grid over T and x_0, m and n_1 solved for) for the early one. Never lowered by more state
// bits. Nothing when none is found below 2^100.
std::optional<SeqcompProof> smallest_proof(const OneFullLayer& layer, Objective objective);

// L = 1. `beside`: state bits of recurrent heads in the same layer.
SeqcompProof full_alone_proof(const Integer& partial, const Integer& beside, const Integer& m);

}  // namespace rung
