// A construction inside a hybrid: the same weights, with a linear layer in front of them or a linear head
// beside those of every full layer, whose outputs are multiplied by 0.
//
// Claim: what full attention solves, a hybrid that contains it solves. The added parts are idle and the
// construction's own numbers are untouched, so every activation of its coordinates is the same, bit for bit;
// the claim, the precision and the argument about all inputs carry over.
#pragma once

#include "rung/constructions/construction.h"

namespace rung {

enum class IdlePart {
  layer,  // linear before the first layer: a layer-wise hybrid
  head,   // one linear head in every full layer: a head-wise hybrid
};
Result<IdlePart> parse_idle_part(std::string_view word);  // "layer", "head"

// Errors: for `head`, a construction without a full layer.
Result<Construction> beside_idle(Construction made, IdlePart part);

}  // namespace rung
