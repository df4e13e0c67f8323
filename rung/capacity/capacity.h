// Capacity: how many bits of state any machine that reads a task's prompts once, left to right, must carry.
//
// Claim (Myhill-Nerode; one-way communication). After t tokens the state must tell apart every two prefixes
// that some common continuation answers differently, with any amount of computation and any chain of thought
// after it. The number of classes at cut t is the number of different rows of the communication matrix; the
// state needs ⌈lg classes⌉ bits, and a machine with that many exists for this length.
//
//   auto capacity = count_capacity(*task, {});
//   capacity->classes, capacity->bits          // the largest cut
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rung/base/result.h"
#include "rung/ranks/ranks.h"
#include "rung/tasks/task.h"
#include "rung/theory/counting.h"
#include "rung/theory/outcome.h"

namespace rung {

struct CapacityLimits {
  std::optional<std::int64_t> cut;             // this cut alone; absent: all
  std::int64_t prompts = 400'000'000;          // complete prompts looked at; some two minutes on one core
  std::int64_t bytes = std::int64_t{1} << 30;  // held by the table of rows
  std::uint64_t seed = 1;                      // of the sampled fooling set
  Ranks* ranks = nullptr;                      // those who share the work; null: this process alone
};

struct CutCapacity {
  std::int64_t position = 0;          // tokens read
  std::int64_t classes = 1;           // exact, or a certified lower bound
  std::optional<std::int64_t> upper;  // states that suffice, where known
  bool exact() const { return upper == classes; }
};

// What the theorem for this task says, where there is one.
struct TheoremFigure {
  std::string statement;  // "s >= n lg n"
  Count count;            // classes at that cut
  std::int64_t cut = 0;
  Source source = Source::literature;
  Status status = Status::proved;
};
std::optional<TheoremFigure> theorem_figure(const Task& task);

enum class CapacityMethod { enumeration, fooling_set };

struct Capacity {
  CapacityMethod method = CapacityMethod::enumeration;
  std::int64_t prompts = 0;       // complete prompts looked at
  std::vector<CutCapacity> cuts;  // in order of position; a fooling set looks at some only
  std::size_t largest = 0;        // the cut with the most classes, the first of equals
  std::optional<TheoremFigure> theorem;
};

// Errors: unsupported (cannot be enumerated; an answer depends on later tokens), range (no such cut),
// resource (a prompt too long even to sample). Deterministic for given limits, whatever the number of ranks;
// on a rank that does not lead it only helps, and what it returns says nothing. One call a job with several
// ranks.
Result<Capacity> count_capacity(const Task& task, const CapacityLimits& limits,
                                const std::function<void(double)>& progress = {});

// ⌈lg classes⌉. REQUIRES classes >= 1.
std::int64_t class_bits(std::int64_t classes);

}  // namespace rung
