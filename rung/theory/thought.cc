// What linear attention and a chain of thought are for a recurrence, as the paper defines one: h_t = g(x_t,
// h_{t-1}), y_t = f(h_t), with arbitrary g and f.
//
// linear-recurrence. With S_t = S_{t-1} + v_t φ(k_t)ᵀ and Z_t = Z_{t-1} + φ(k_t), the weighted sums of
// linear attention are Σ_{j<=t} (φ(q_t)·φ(k_j)) v_j = S_t φ(q_t) and Σ_{j<=t} φ(q_t)·φ(k_j) = Z_t·φ(q_t):
// distributivity, so they hold wherever sums are exact, and modulo 2^a where they wrap. Where S is rounded
// or saturates at every step they do not, and only the recurrence is the model.
//
// recurrent-thought. A stack of such layers is one recurrence whose state is all of theirs. Let h be its
// state and token after the prompt. The first token that it writes is a function of h, so the state after
// reading that token is a function of h, and by induction so are all tokens that it writes, and its answer.
// Call that function F: the recurrence with the same g, the same states and F in place of f gives the same
// answer right after the prompt. So with arbitrary f a chain of thought adds nothing, at any number of
// state bits, and no bound on state needs to ask whether there is one. A concrete layer reads its state
// through few numbers (S φ(q)); for such a layer a chain of thought can read the state several times, and
// nothing is claimed about that.
#include "rung/theory/theorem_groups.h"

namespace rung {

std::vector<Theorem> thought_theorems() {
  constexpr auto file = "rung/theory/thought.cc";
  using enum Source;
  using enum Status;
  return {
      {.id = "linear-recurrence",
       .title = "Linear attention is a recurrence",
       .statement =
           "Σ_j (φ(q_t)·φ(k_j)) v_j = S_t φ(q_t) with S_t = S_{t-1} + v_t φ(k_t)ᵀ, likewise the "
           "denominators: "
           "the same numbers with exact sums, the same modulo 2^a with wrapping ones, not with rounding at "
           "every step. State: H d (d+1) numbers.",
       .source = paper,
       .reference = "its Lemma 2.2",
       .status = proved,
       .file = file,
       .test = "tests/exact/linear_forms_test.cc"},
      {.id = "recurrent-thought",
       .title = "A chain of thought adds nothing to a recurrence with arbitrary output",
       .statement =
           "What a recurrence writes after the prompt is a function of its state there; with arbitrary f the "
           "same state answers at once.",
       .source = ours,
       .reference = "the paper's definition of an RNN",
       .status = proved,
       .file = file,
       .test = "tests/theory/thought_test.cc"},
      {.id = "cited-thought-gain",
       .title = "Recurrent networks gain from a chain of thought",
       .statement = "Under an assumption about complexity classes some task is solved by a small recurrent "
                    "network with "
                    "a chain of thought and by none without: a statement about computation in f and g, not "
                    "about state.",
       .source = literature,
       .reference = "Wen, Dang, Lyu 2402.18510",
       .status = conditional,
       .file = file,
       .test = "tests/theory/thought_test.cc"},
  };
}

}  // namespace rung
