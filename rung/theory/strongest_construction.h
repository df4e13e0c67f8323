// What constructions alone say: much cheaper than decide(), which also searches for refutations.
#pragma once

#include <optional>

#include "rung/theory/theorem.h"

namespace rung {

// The strongest verdict `possible`; nothing where no construction fits. A layout that holds another as a subsequence
// has one that is no weaker (construction_fit.h, padding).
std::optional<Verdict> strongest_construction(const Setting& setting, const Question& question);

}  // namespace rung
