// The cut argument, once for all tasks: after a prefix of the prompt, a recurrent stack is its state. If the
// prefixes fall into more classes (told apart by some continuation) than the state has values, two of them
// collide, and no amount of chain of thought parts them again, for all that is written later is a function of
// the state.
//
// Holds in every arithmetic, with the bits actually stored; causal stacks of R letters and position-wise
// layers only. Reference: docs/theorems.md, recurrent-* and log-linear-*.
//
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
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "rung/theory/counting.h"
#include "rung/theory/theorem.h"

namespace rung {

struct CutBound {
  std::string prefix;    // "f(0) .. f(n-1)"
  std::string symbolic;  // "n lg n"
  // The number of classes at size n (the task's other sizes fixed); nothing where the family is empty.
  std::function<std::optional<Count>(std::int64_t n)> classes;
  std::int64_t n = 1;  // the size asked about
  std::string size_name = "n";
  std::int64_t tokens_each = 1;  // tokens read at the cut: at most this many times n
};

// Which bits cross the cut: all live states, or (log-linear) one bucket of every layer.
enum class Crossing { all_states, oldest_bucket };

// impossible where the classes outnumber the states; else vacuous, with the horizon; open when a
// hypothesis fails.
Verdict cut_verdict(const Theorem& theorem, const Setting& setting, const Question& question,
                    const CutBound& bound, Crossing crossing = Crossing::all_states);

}  // namespace rung
