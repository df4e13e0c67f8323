// The data of the report, gathered from what is there: schema rung.report/1 (docs/report.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "rung/base/result.h"

namespace rung::report {

struct Sources {
  std::string hierarchy;  // the folder of `rung hierarchy`; may be absent
  std::string labs;       // the folder whose NAME/results.json are the user's own experiments; may be absent
  std::vector<std::string>
      shipped;        // folders of records that came with the program; those that are there are read
  std::string store;  // of runs; may be absent
  bool live = false;
};

// Where the records that came with this program may be, seen from its own place.
std::vector<std::string> shipped_results();
inline constexpr const char* kLabs = "rung-runs/lab";  // where `rung lab` writes unless told otherwise

// What is absent is left out and listed under "absent"; what is there and cannot be read is an error that
// names the file.
Result<nlohmann::ordered_json> gather(const Sources& sources);

}  // namespace rung::report
