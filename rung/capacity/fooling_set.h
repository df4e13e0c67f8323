// A certified lower bound on the classes at one cut, by sampling: prefixes that answer differently on a
// common set of continuations. Every pair of the counted prefixes is told apart by a continuation that both
// allow, so the number is a lower bound with certainty; only its size depends on luck.
#pragma once

#include <cstdint>

#include "rung/base/result.h"
#include "rung/ranks/ranks.h"
#include "rung/tasks/task.h"

namespace rung {

struct FoolingSample {
  std::int64_t cut = 0;                          // tokens read
  std::int64_t prefixes = 0;                     // to draw, at most
  std::int64_t suffixes = 0;                     // at most; all of them where one prefix has no more
  std::int64_t answers = std::int64_t{1} << 60;  // prefixes times suffixes, at most (but one prefix at least)
  std::uint64_t seed = 1;
  Ranks* ranks = nullptr;  // those who share the work; null: this process alone
};

struct FoolingSet {
  std::int64_t separated = 1;  // prefixes that are pairwise told apart
  std::int64_t prefixes = 0;   // drawn
  std::int64_t suffixes = 0;   // continuations tried on each
};

// Depends on the sample alone, not on the number of workers or ranks; on a rank that does not lead the set is
// empty (it answers what rank 0 hands out). One call a cut and job with several ranks. REQUIRES 0 <= cut <=
// prompt_length, prefixes >= 1, suffixes >= 1. Error (unsupported): a position that cannot be enumerated.
Result<FoolingSet> find_fooling_set(const Task& task, const FoolingSample& sample);

}  // namespace rung
