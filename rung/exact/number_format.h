// Rounding of reals to a storage format, for mode Q: fixed point fx(p, f) and the float formats of hardware.
#pragma once

#include "rung/spec/architecture.h"

namespace rung {

// The number of `precision` nearest to x, ties to even. Fixed point saturates. fp8 e4m3 (no infinities,
// largest 448) and e5m2 saturate to their largest finite number, as inference hardware does; bf16, fp16 and
// fp32 overflow to infinity as IEEE 754 says. NaN stays NaN.
double round_to_format(double x, const Precision& precision);

}  // namespace rung
