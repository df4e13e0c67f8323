// The members of a store's runs, as light as a page can carry a thousand of them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "rung/base/result.h"
#include "rung/records/training_run.h"
#include "rung/store/sweep.h"

namespace rung::report {

inline constexpr std::size_t kMemberCurvePoints = 20;
inline constexpr std::size_t kMemberLimit = 4000;  // the newest

struct StoredRuns {
  std::string store;
  std::size_t total = 0;
  std::vector<MemberRecord> members;
  std::vector<SweepFields> asked;  // of each: what it was asked to do (rung/store/sweep.h)
};

// Nothing where no store is there, or none of its members.
Result<std::optional<StoredRuns>> read_runs(const std::string& store);
// Settings are numbers in order of appearance: the page needs only to tell them apart.
nlohmann::ordered_json runs_json(const StoredRuns& runs);

}  // namespace rung::report
