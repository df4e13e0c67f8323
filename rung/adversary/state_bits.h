// The bits that a recurrent model's memory has on paper: numbers times their declared widths, as
// docs/certificate_v1.md counts them ("State"). Caches of full attention grow with the prompt and are not
// counted.
#pragma once

#include "rung/spec/weights.h"

namespace rung {

// After `positions` tokens, all layers together. REQUIRES layers == resolve(weights.architecture), integer
// weights.
std::int64_t nominal_state_bits(const Weights& weights, const std::vector<LayerShape>& layers,
                                std::int64_t positions);
// Of one layer.
std::int64_t layer_state_bits(const Weights& weights, const MixerShape& mixer, const std::string& prefix,
                              std::int64_t positions);

// Identity and none: no other position enters.
bool is_position_wise(const MixerShape& m);
// Whether a later token depends on earlier ones through a state that does not grow with a cache: the layers
// that a collision certificate may speak of.
bool has_bounded_state(const MixerShape& mixer);

// A scalar tensor, or `fallback`: "layers.0.v.bits".
std::int64_t stored_number(const Weights& weights, const std::string& name, std::int64_t fallback);

}  // namespace rung
