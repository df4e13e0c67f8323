// The flags of `rung lab`, shared by rung, which knows them for --help and the man page, and rung-learn,
// which runs experiments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "rung/base/result.h"

namespace rung::cli {

struct LabFlags {
  std::optional<std::string> name, file, out, store, only;
  std::string size = "small";
  std::optional<std::int64_t> seeds, workers;
  bool resume = false, list = false, dry_run = false, no_store = false, quiet = false, json = false;
};

// In rung: hands over to rung-learn, which stands beside it. In rung-learn: runs the experiment.
Result<int> run_lab(const LabFlags& flags);

}  // namespace rung::cli
