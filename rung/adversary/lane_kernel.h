// The lane kernel: 16 prompts of int32, or 8 of int64, in the lanes of 64-byte vectors (state_kernel.h).
#pragma once

#include "rung/adversary/lane_plan.h"
#include "rung/adversary/state_kernel.h"

namespace rung {

// REQUIRES plan == plan_lanes(target). int32 lanes where no sum needs more than 31 bits, unless `wide` asks
// for int64 (tests). Errors: sums beyond 62 bits, tables of rows beyond kMostLaneBytes.
Result<std::unique_ptr<StateKernel>> make_lane_kernel(const Target& target, BeginningSpace space,
                                                      LanePlan plan, bool wide = false);

inline constexpr std::int64_t kMostLaneBytes = std::int64_t{1} << 31;

}  // namespace rung
