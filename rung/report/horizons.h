// Horizons of released models: from which context on a task is certified impossible, whatever the weights.
//
// The configurations travel with the program (embedded_file.h); nothing is read from disk. Softmax layers are
// read as exact integers of the model's own width (mode X), as `rung bound --assume-exact` does; files that
// quote only some fields get the defaults of their class.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "rung/released/embedded_config.h"

namespace rung::report {

// One entry a model that can be read, in the order of the files: {"model", "partial", "word", "layers",
// "full", "state_bits", "context" (null:
// the file does not say), "tasks": [{"task", "verdict" (at that context), "theorem", "status", "horizon"
// (tokens, or null)}], "composition": {"solvable", "impossible", "first_bite": {"L", "tokens", "theorem",
// "status"}}}.
nlohmann::ordered_json released_horizons(std::span<const EmbeddedConfig> configs);
// The same for the configurations that the program carries, worked out once.
const nlohmann::ordered_json& released_horizons();

}  // namespace rung::report
