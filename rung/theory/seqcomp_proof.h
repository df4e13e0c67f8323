// What an impossibility proof for L-SeqComp consists of, once its inequalities are counted: sizes of the
// task, the proof's own parameters, and the two sides of the last inequality. Letters: N_0 = m, N_l = n_l
// N_{l-1}; x_0 values of z_0; T_l functions in place of all z_l; y values of w_1 (a sub-range of n_1; the
// alphabet N_1 = m n_1 is unchanged).
#pragma once

#include <vector>

#include "rung/theory/logarithm.h"

namespace rung {

struct SeqcompSizes {
  Integer m = 1;
  std::vector<Integer> n;  // n_1 .. n_{L-1}

  int L() const { return static_cast<int>(n.size()) + 1; }
  // N_l. REQUIRES 0 <= l < L.
  Integer arguments(int l) const;
  // The sum of N_0 .. N_{L-1}, plus z_0, w_1 .. w_{L-1} and `=`: L + 1 tokens.
  Integer prompt_length() const;
  bool operator==(const SeqcompSizes&) const = default;
};

struct SeqcompProof {
  SeqcompSizes sizes;
  Integer x0 = 1;
  std::vector<Integer> T;  // T_1 .. T_{L-1}; empty where the argument needs none (L = 1)
  Integer y = 1;           // sub-range of w_1 (L = 2)
  double left = 0;         // bits that correct answers need, printed form
  double right = 0;        // bits that the fixed messages and states leave, printed form
  bool certified = false;  // every inequality verified on integers (inequality.h)

  double margin() const { return right > 0 ? left / right : 0; }
};

// What "smallest" means in a search over sizes.
enum class Objective {
  arguments,  // N_{L-1}, as in the table of certified sizes
  prompt,     // the whole prompt, as a context length counts it
};

}  // namespace rung
