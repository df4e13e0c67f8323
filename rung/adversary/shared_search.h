// One search on several ranks. Rank 0 calls the others to it; they run the same method with the same options
// on their own copy of the target, and inside it the two engines (distinguished points, birthday) share their
// work on queues below the search's name. What is found is found on rank 0.
#pragma once

#include <optional>

#include "rung/adversary/attack.h"
#include "rung/ranks/task_queue.h"

namespace rung {

// Rank 0's searches, one after the other. Without ranks, or alone, run() is method.run().
class SharedSearches {
 public:
  explicit SharedSearches(const SearchOptions& options);
  Result<AttackOutcome> run(const Target& target, const AttackMethod& method, const SearchOptions& options);

 private:
  std::optional<TaskQueue> calls_;
  int searches_ = 0;
};

}  // namespace rung
