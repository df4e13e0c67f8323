// The indistinguishable decomposition with constants: L-SeqComp against L-1 full layers, and against L full
// layers with no recurrence before the second, for every L >= 3 (L = 2 has sharper counts: one_full_layer.h,
// two_full_layers.h).
//
// Claim, L-1 full layers (any R layers). D_1 = s_0, J_1 = x_0, and for l = 1 .. L-1
//   J_l lg(2 N_{l-1} / (e T_l J_l)) >= 2 D_l + 2/T_l            (only T_1 J_1 <= m when D_1 = 0)
//   J_{l+1} = n_l ⌈T_l J_l / 2⌉                                 (n_1 T_1 x_0 when D_1 = 0: disjoint images)
//   D_{l+1} = T_l D_l + 1 + s_{<=l} + M_part [(L+1+spare) x_0 Πn Π_{k<l} T_k + Σ_{i=1}^{l-1} N_{i-1} Π_{k=i}^{l-1} T_k]
//             + M_out l N_{l-1} T_l                             (the 1 absent when D_l = 0)
// where s_{<=l} are the state bits of the R layers before the (l+1)-th F; in the last step M_out l becomes
// M_out (l-1) and s_{<=l} becomes s_before + T_l s_after (before and after the last F). Impossible when D_L <
// J_L lg N_{L-1}.
//
// Claim, L full layers, R only after the second F; recurrent heads inside F layers allowed (head-wise). The
// recursion starts at l = 2: with E = (Σn_k + 1) M_part + s_beside1 and x_0 lg(2m / (e T_1 x_0)) > 2E, J_2 =
// n_1 ⌈T_1 x_0 / 2⌉ and
//   D_2 = M_part (Σn_k + 1 + x_0 + L x_0 Πn + x_0 T_1) + 2 M_out m T_1 + s (all R before the third F),
// then as above with every F index one higher.
//
// D is the deficiency -lg(kept share) of a set of inputs. Invariant between steps: on the kept set the
// activations of players below l before the l-th F (in the second claim: the (l+1)-th) depend on z_{<l} only.
// Exact integer sums (mode X), decoders, no chain of thought. Proved for all these sizes; the searched sizes
// are upper bounds. Reference: docs/theorems.md, decomposition-*.
#pragma once

#include <optional>
#include <vector>

#include "rung/theory/seqcomp_proof.h"

namespace rung {

struct Decomposition {
  int L = 3;
  bool one_more_full = false;  // false: L-1 full layers; true: L, and gaps[0] = gaps[1] = 0
  Integer partial = 0;         // M_part
  Integer outputs = 0;         // M_out
  std::vector<Integer>
      gaps;  // state bits of the R layers before the first F, after the first, ..., after the last
  std::vector<Integer> beside;  // one_more_full: state bits of recurrent heads inside each F layer
  int spare = 0;  // bottom tokens that hold a constant (w_L .. of a deeper composition), beside the L+1

  std::size_t full_layers() const { return static_cast<std::size_t>(one_more_full ? L : L - 1); }
};

inline constexpr int kLongestSearch = 4;  // beyond, sizes exceed M^87: only the exponent is given

// Exact. REQUIRES proof.sizes.L() == decomposition.L >= 3, L-1 values of T, gaps and beside of matching
// length.
bool certify(const Decomposition& decomposition, const SeqcompProof& proof);

// The best parameters found at these sizes (powers of two, then refined). REQUIRES L >= 3.
SeqcompProof best_proof(const Decomposition& decomposition, const SeqcompSizes& sizes);

// The smallest sizes found, integers, certified. Nothing when the search ends empty or L > kLongestSearch.
// Deterministic: a descent with a fixed seed.
std::optional<SeqcompProof> smallest_proof(const Decomposition& decomposition);

// N grows like M to this power: F_{2L+1} - 2 with L-1 full layers (Fibonacci; 11, 32, 87 for L = 3, 4, 5; 1
// for L = 2); with L full layers 6, 17, 46. Saturates at 2^62. REQUIRES L >= 2.
std::int64_t size_exponent(int L, bool one_more_full);

}  // namespace rung
