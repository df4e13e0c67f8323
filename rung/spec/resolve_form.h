// The form of a mixer: what its options say about the released layer around it (mixer_form.h).
#pragma once

#include "rung/spec/architecture.h"

namespace rung {

// Fills shape.form (and shape.signed_weights, and the cache of a latent) from the options as given. REQUIRES the sizes of the
// shape. Errors: without the area and the layer, which the caller knows.
Result<void> resolve_form(const Mixer& given, const Dimensions& dimensions, MixerShape& shape);

}  // namespace rung
