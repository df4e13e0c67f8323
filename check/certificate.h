// docs/certificate_v1.md: what every kind of certificate says, and what is rerun for it.
#pragma once

#include <string>
#include <vector>

#include "check/verdict.h"

namespace rung_check {

// What has been rerun. Coming back from verify() at all means that everything held.
struct Report {
  std::string kind;
  std::vector<std::string> lines;  // for people
  std::uint64_t prompts = 0;       // run through the model
  std::uint64_t answers = 0;       // reference answers computed
  std::uint64_t multiply_adds = 0;
};

// REQUIRES: the texts of the files; `model` is nullptr where none was given.
// Throws Rejected, Malformed or OutOfResources.
Report verify(const std::string& certificate, const std::string* model, Budget& budget);

}  // namespace rung_check
