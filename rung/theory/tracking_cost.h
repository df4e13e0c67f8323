// What the constructions that follow a state cost: as constructions_cost.h, of an automaton instead of
// sizes. Every function is the one that the construction itself uses, or is compared with the built file
// by a test.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "rung/tasks/automaton.h"
#include "rung/tasks/tracked_group.h"
#include "rung/theory/constructions_cost.h"
#include "rung/theory/holonomy.h"

namespace rung {

inline constexpr std::int64_t kMostAutomatonCells = 4096;     // states times letters
inline constexpr int kAutomatonCellBits = 2;                  // a cell is 0 or 1
inline constexpr std::uint32_t kMostCascadeStates = 6;        // of the least automaton
inline constexpr std::int64_t kMostCountedLetters = 1 << 14;  // parity by one full layer
inline constexpr std::int64_t kMostTrackedPlaces = 1024;      // tracked recall

// The digits of an answer, one for yes or no.
int automaton_answer_digits(const Automaton& automaton);

// Any automaton by one cell for each state and letter; use: counter (relu), elman (a table) or gru.
// Nothing where there are too many cells. REQUIRES the least automaton, here and below.
std::optional<ConstructionCost> automaton_cells_cost(const Automaton& least, LayerCost::Use use);
// Letters that permute the states, by exchanges; use: delta or gdelta. Nothing where a letter does not,
// or states are too many.
std::optional<ConstructionCost> automaton_exchanges_cost(const Automaton& least, LayerCost::Use use);
// Aperiodic automata by set-reset mamba2 layers. Nothing where a group is in them, or states are too many.
std::optional<ConstructionCost> automaton_cascade_cost(const Automaton& least);
ConstructionCost flipflop_cost(std::int64_t values);
// Words of up to n letters by one full layer. Nothing where n is too large to be counted.
std::optional<ConstructionCost> parity_full_cost(std::int64_t n);
// A delta layer that follows the mark and a full layer that looks it up; `letters`: of a word. Nothing
// for too many places.
std::optional<ConstructionCost> tracked_recall_cost(TrackedGroup group, std::int64_t n, std::int64_t sigma,
                                                    std::int64_t letters);

// A level of V values keeps v 2^k + w, w < V the value before: k = ⌈lg(2V - 1)⌉. The last level keeps v.
int cascade_digits(int values);
std::int64_t cascade_entry(const Holonomy& holonomy, std::size_t level);  // the largest
int cascade_bits(const Holonomy& holonomy);  // of an entry, with its sign; 2 at least
int flipflop_bits(std::int64_t values);
int parity_full_bits(std::int64_t n);  // ⌈lg n⌉ + 3
int tracked_recall_bits(std::int64_t n);

std::vector<std::pair<std::uint32_t, std::uint32_t>> tracked_exchanges(TrackedGroup group, std::int64_t n,
                                                                       std::int64_t letter);
std::int64_t most_tracked_exchanges(TrackedGroup group, std::int64_t n);  // of a letter; 1 at least

}  // namespace rung
