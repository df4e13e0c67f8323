// The padding lemma as code: a construction written with exactly the sizes of a larger architecture.
//
// Lemma. If an architecture has every resource of a construction (rung/theory/construction_fit.h), these weights answer
// every prompt as the construction does. Layers that the construction does not use have W_O = 0 and an MLP whose last
// map is 0, and arbitrary weights otherwise; so do heads and groups of heads beside those that it uses. Its heads take
// the first query head of different key/value heads. Unused key dimensions have key features 0, unused residual
// coordinates are 0. A position table holds the binary code. More bits change nothing: the residual stream saturates
// where it did (`stream.bits`), and nothing else relied on saturation.
//
// What is not padded: MLPs (the file keeps the construction's own, since a verdict assumes arbitrary ones), vocabulary,
// output and context (the task's).
#pragma once

#include "rung/constructions/construction.h"
#include "rung/theory/theorem.h"

namespace rung {

// The construction's layers become layers of the target's stack, in order, each the first that has room for it. Errors: no
// room; a target that cannot be evaluated (opaque mixers, rotary positions, floats, norms). Determinism: a function of
// the arguments; `seed` draws the weights of idle parts.
Result<Construction> padded_to(Construction made, const Architecture& target, std::uint64_t seed);

// What a verdict `possible` names, built and padded to the architecture of the setting: its witness. Errors: a verdict
// that names no construction, and those of build_construction and padded_to.
Result<Construction> build_possible(const Setting& setting, const Question& question, const Verdict& verdict,
                                    std::uint64_t seed);

}  // namespace rung
