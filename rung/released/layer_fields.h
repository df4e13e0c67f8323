// Which fields of a configuration describe layers. A reader that passes one of these over would invent a
// model, so a field that describes layers and was not read is refused; see ConfigFields::refuse_unread.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace rung {

// By its shape: a list as long as the stack, a text of one letter a layer, an object keyed by layer numbers,
// or an object that holds such a list. By its name: words such as layer, block, attn, window, pattern. Not
// the fields that are known to touch nothing between tokens: MLP and experts, norms, rotary angles,
// training, kernels, multi-token prediction. Null, false and what is empty describe nothing.
bool describes_layers(std::string_view name, const nlohmann::json& value, std::size_t layers);

// Known to touch nothing between tokens, whatever its value.
bool is_position_wise(std::string_view name);

// Null, false, an empty text, list or object: a field that is switched off.
bool is_off(const nlohmann::json& value);

}  // namespace rung
