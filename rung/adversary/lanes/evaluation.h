// A lane program in a device's memory, and what is asked of it. All pointers are the device's.
#pragma once

#include "rung/adversary/lanes/lane_step.h"
#include "rung/adversary/lanes/state_walk.h"

namespace rung::lanes {

// A position of the beginnings: its rows in the table of rows. rows = 0: a fixed token, which has one.
struct Step {
  std::uint32_t row = 0, rows = 0;
};

// Steps begin .. end; those before `varying` take their first row.
struct Route {
  const Step* steps = nullptr;
  std::int32_t begin = 0, varying = 0, end = 0;
};

// Every mixer: rows of first-layer channels as feed() reads them, and the layers.
template <class V>
struct StackRows {
  const Layer<View>* layers = nullptr;
  const V* rows = nullptr;
  std::int64_t stride = 0;                // numbers a row
  std::int64_t width = 0;                 // of the stream
  std::int64_t numbers = 0, scratch = 0;  // the most that a thread needs
  int stream_bits = 16;
};

// The entrywise form of a first layer: a row is `entries` terms, then `groups` decays, each for as many entries.
struct EntryRows {
  const std::int32_t* rows = nullptr;
  std::int32_t stride = 0;               // numbers a row: a multiple of 4
  std::int32_t entries = 0, groups = 0;  // entries: 4, 8 or 16, padded by zeros; groups: 0, 2 or `entries`
  EntryRule rule;
};
// Whether a device's step is made for the rule: no shift that does nothing, and sums of 31 bits.
constexpr bool fits_entries(const EntryRule& rule) {
  return rule.bits > 0 && rule.bits < 32 && (!rule.gated || (rule.shift > 0 && rule.shift < 31));
}
// Numbers a row. An odd multiple of 4: rows that threads read at once begin in different banks.
constexpr std::int32_t entry_stride(std::int32_t entries, std::int32_t groups) {
  return ((entries + groups + 3) / 4 | 1) * 4;
}

// An evaluation: code -> choices -> state -> code.
struct Evaluation {
  enum class Form { entries, stack32, stack64 } form = Form::stack64;
  EntryRows entries;
  StackRows<std::int32_t> stack32;
  StackRows<std::int64_t> stack64;
  Route route;
  std::uint32_t route_first = 0, route_rows = 0;  // rows that the route passes: the first, and how many
  std::int64_t depth = 1;
  const std::int64_t* start = nullptr;   // `numbers` numbers; null: an empty memory
  const std::int32_t* widths = nullptr;  // of the numbers, in bits
  std::int32_t numbers = 0;              // of the first `depth` layers
  bool packs = true;                     // the code is the numbers side by side
  int words = 1;                         // of a code
  std::uint64_t salt = 0;
};

// Walks side by side, one a thread; all arrays have `count` items.
struct Chains {
  std::uint64_t count = 0;
  std::uint64_t* code[kMostWords] = {nullptr, nullptr};
  std::uint64_t *start = nullptr, *length = nullptr;  // of the trail behind the code
  std::uint64_t* drawn = nullptr;                     // starts so far
  std::uint64_t seed = 0;  // start k of chain i is spread(seed + (k count + i) gamma)
};
struct TrailEnd {
  std::uint64_t end = 0, start = 0, length = 0;
};
struct TrailEnds {
  TrailEnd* ends = nullptr;
  std::uint32_t* count = nullptr;  // of those that ended; ends beyond the capacity are lost
  std::uint32_t capacity = 0;
};

// Codes and the numbers that they came from, by open addressing. Who finds its code there appends a meeting: its
// number, and the place where the earlier number stands once all are done.
struct Meeting {
  std::uint64_t place = 0, number = 0;
};
struct CodeTable {
  std::uint64_t* codes = nullptr;  // plus one; 0: an empty place
  std::uint32_t* numbers = nullptr;
  std::uint64_t places = 0;  // a power of two, more than there are codes
  Meeting* meetings = nullptr;
  std::uint32_t* met = nullptr;  // so many, also those beyond the capacity
  std::uint32_t capacity = 0;
};

// States that agree on the layers below the last, from a common state of these on: leaf i < count takes the rows
// `one`, leaf count + i, which starts as leaf i does, the rows `two`.
struct Leaves {
  const std::uint32_t *one = nullptr, *two = nullptr;  // `steps` numbers of rows
  std::int32_t steps = 0;
  std::int32_t below = 0, own = 0;       // numbers of the layers below, and of the last
  const std::int64_t* common = nullptr;  // `below` numbers
  const std::int64_t* leaves = nullptr;  // count x own
  std::uint64_t count = 0;
  std::int64_t* grown = nullptr;  // 2 count x own
  std::int64_t* end = nullptr;    // the layers below, afterwards
};

// Sets of states, a bit each, by packed code: what is reachable, and what one more slot makes of it.
struct StateSets {
  const std::uint32_t* now = nullptr;
  std::uint32_t* next = nullptr;
  std::uint64_t first = 0, count = 0;   // words of `now` that are looked at
  unsigned long long* fresh = nullptr;  // states that were new in `next`, counted up
};

}  // namespace rung::lanes
