// What `rung build` makes for a task, verified, and whether an architecture has room for it.
//
// Padding lemma: idle heads, layers, width and bits change no number of the construction (padding.h), so
// a file fits every architecture that has at least its layers in order, each with at least its heads,
// dimensions and bits, and the position code that it reads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rung/constructions/construction.h"
#include "tests/witness/case.h"
#include "tests/witness/task_tree.h"

namespace rung {

struct Building {
  ConstructionRequest request;
  Construction made;
  std::vector<LayerShape> layers;
  std::int64_t weight_bits = 0;  // of the largest softmax weight
  std::int64_t sum_bits = 0;     // that its softmax sums take, over all tokens
  std::string line() const;      // "rung build eva --n 4 --by linear --precision 3"
};

// Everything that `rung build` makes for the task in at most `most_bits` bits and that answers every
// prompt. Kept: asked again, the same list.
const std::vector<Building>& buildings(const TinyTask& task, int most_bits);

// Why the setting has no room for the file, or nothing.
std::optional<std::string> misfit(const Building& building, const Setting& setting);

}  // namespace rung
