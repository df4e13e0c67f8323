// The beginnings that a collision search varies: prefixes of a task that any solver must keep apart.
//
// Invariant: any two different choices of rows give prefixes that some common ending separates (their answers
// differ), so every collision of the model's state on them is a refutation. Tasks: eva and index (all
// functions), retrieval (keys in a fixed order, all values), mqar (different keys in a fixed order, all
// values), two-sum (position i draws from its own range of values, so different choices are different sets),
// seqcomp (all functions z_L).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rung/tasks/task.h"

namespace rung {

struct BeginningSpace {
  struct Slot {
    std::int64_t position = 0;
    std::vector<std::vector<std::int64_t>> rows;  // every field's numbers, in field order; at least two
  };
  Prompt base;              // `cut` positions; at the slots the first row stands
  std::vector<Slot> slots;  // increasing positions
  std::int64_t cut() const { return base.positions; }

  // The prefix of `cut` positions with row choices[j] at slot first + j, and the first rows elsewhere.
  Prompt prefix(std::span<const std::uint16_t> choices, std::size_t first = 0) const;
  double lg_size() const;  // lg of the number of beginnings
};

// At most `most_rows` rows a slot (the first ones). Nothing for other tasks.
std::optional<BeginningSpace> beginnings(const Task& task, std::size_t most_rows);

}  // namespace rung
