// Counting: one softmax head counts the visible tokens whose code equals the query's.
//
// Claim. Matches and one blank have score 0, every other token at most -sat; values are 1 at tokens that
// count and 0 at the blank. The output is V cnt/(cnt+1), up to the leak δ = keys E[-sat] / E[0]: it lies
// between V cnt/(cnt+1+δ) and V (cnt+δ)/(cnt+1+δ). Neighbouring counts are V/((cnt+1)(cnt+2)) apart, so V of
// about 2 most² and p = 2 lg most + O(1) bits tell counts up to `most` apart; the thresholds stand half way.
// One mismatched digit already reaches the clip (2β >= sat). Reference: ours; the blank is the repair of
// 2-Sum's i = j (two_sum.cc).
#pragma once

#include "rung/constructions/model_writer.h"
#include "rung/constructions/relu_gadgets.h"
#include "rung/theory/softmax_gadgets.h"

namespace rung {

// The bits of the count, lowest first, of a head's output: Σ_j (-1)^(j+1) [output >= at_least(j 2^d)]. 1
// layer, 2 units a count.
Bits count_bits(ReluCircuit& circuit, const CountingGadget& gadget, const Number& output, int digits);

}  // namespace rung
