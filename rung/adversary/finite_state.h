// Which models are finite automata: those whose memory is a fixed number of bits at every length
// (docs/verify.md). Everything else is named, with the reason.
#pragma once

#include <optional>
#include <string>

#include "rung/spec/weights.h"

namespace rung {

// Why the model is no finite automaton, as a phrase that names the part: "layer 2 is full, which keeps
// every token"; nothing when it is one. REQUIRES layers == resolve(weights.architecture).
// `floats`: run in a float format, in which sums are rounded at every token.
std::optional<std::string> why_not_finite(const Weights& weights, const std::vector<LayerShape>& layers,
                                          bool floats = false);

}  // namespace rung
