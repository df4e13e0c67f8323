// The residual row of a construction, coordinate by coordinate: named slots, each with one line on what it
// holds. The same lines are the documentation of the built model (its notes, docs/constructions.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rung/base/require.h"

namespace rung {

// Consecutive coordinates with one meaning.
struct Slot {
  std::string name;
  std::int64_t first = 0, size = 0;
  std::string holds;

  // Coordinate i of the slot. REQUIRES 0 <= i < size.
  std::int64_t at(std::int64_t i) const {
    RUNG_REQUIRE(i >= 0 && i < size, "{}[{}] of {}", name, i, size);
    return first + i;
  }
};

class ResidualLayout {
 public:
  // Appends `size` coordinates. REQUIRES a new name, size >= 1.
  Slot add(std::string name, std::int64_t size, std::string holds);
  std::int64_t width() const { return width_; }
  const std::vector<Slot>& slots() const { return slots_; }

 private:
  std::vector<Slot> slots_;
  std::int64_t width_ = 0;
};

}  // namespace rung
