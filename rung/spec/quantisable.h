// Whether a trained network has an integer form at all: what `rung quantise` will refuse, known before
// training begins.
#pragma once

#include "rung/spec/architecture.h"

namespace rung {

// ENSURES an error names the first part without an integer form: rotary positions, a mixer that is counted
// and not evaluated, log-linear levels or a position code without a context; or what resolve() refuses.
Result<void> quantisable(const Architecture& architecture);

}  // namespace rung
