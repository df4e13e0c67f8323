// The cut argument, once for all tasks: after a prefix of the prompt, a recurrent stack is its state. If the
// prefixes fall into more classes (told apart by some continuation) than the state has values, two of them
// collide, and no amount of chain of thought parts them again, for all that is written later is a function of
// the state.
//
// Holds in every arithmetic, with the bits actually stored; causal stacks of R letters and position-wise
// layers only. Reference: docs/theorems.md, recurrent-* and log-linear-*.
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
