// The members of a store's runs, as light as a page can carry a thousand of them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "rung/base/result.h"

namespace rung::report {

inline constexpr std::size_t kMemberCurvePoints = 20;
inline constexpr std::size_t kMemberLimit = 4000;  // the newest

// {"store", "total", "members": [...]}; null where no store is there, or none of its members.
Result<nlohmann::ordered_json> read_runs(const std::string& store);

}  // namespace rung::report
