// Result files of EleutherAI's lm-evaluation-harness (from 0.4 on) as records of kind "evaluation".
#pragma once

#include <string>
#include <vector>

#include "rung/store/record.h"

namespace rung {

struct HarnessResults {
  std::vector<Record> records;  // one for every task that `rung task --format lm-eval` named (rung_...)
  std::int64_t skipped = 0;     // other tasks of the file
};

// The id of a record is made of what the file says about its task, so that the same file gives the same
// records. Errors: no result file, or one without any task of rung's.
Result<HarnessResults> read_harness_results(const std::string& path);

}  // namespace rung
