// A configuration with another layout: the file as it is, its list of layers rewritten.
#pragma once

#include <string>

#include "rung/base/result.h"
#include "rung/spec/architecture.h"

namespace rung {

// `json` with layer_types (or layers_block_type) and num_hidden_layers of this stack. The words are those that the
// file itself uses for its mixers. ENSURES: reading the result gives this stack; errors name a family without such
// a list, and a mixer that the file has no word for.
Result<std::string> with_layer_types(const std::string& json, const Stack& stack);

}  // namespace rung
