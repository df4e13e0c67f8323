// The table of results: every mechanism against every task, the symbolic form beside its number at one size.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rung/theory/theorem.h"

namespace rung {

struct ResultRow {
  std::string mechanism;  // "linear, RNN (any CoT)"
  std::string task;
  std::string form;              // "s >= n lg n"
  std::optional<double> number;  // at the asked size
  std::string unit;              // "state bits", "bits per head (d p)", "tokens"
  std::string theorem;           // id
};

// dimensions: width, heads and precision of the hybrid rows; context: the prompt length of all rows.
// REQUIRES 16 <= context <= kMaxContext.
Result<std::vector<ResultRow>> result_table(const Dimensions& dimensions, std::int64_t context);

}  // namespace rung
