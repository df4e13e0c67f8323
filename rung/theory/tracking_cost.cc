#include "rung/theory/tracking_cost.h"

#include <algorithm>

#include "rung/base/require.h"
#include "rung/theory/permutation_rows.h"

namespace rung {
namespace {

using Use = LayerCost::Use;

// Of a prompt's tokens: a coordinate for every letter, and one for ^.
std::int64_t letter_width(const Automaton& automaton) { return automaton.letter_count() + 1; }

// The largest number that a row of entries holds, or is read as.
std::int64_t permutation_whole(const PermutationPlan& plan) {
  std::int64_t largest = plan.points;
  for (const auto& row : plan.rows)
    if (!row.empty()) largest = std::max(largest, plan.number(row));
  for (const auto weight : plan.reading) largest = std::max(largest, weight);
  return largest;
}

}  // namespace

int automaton_answer_digits(const Automaton& automaton) {
  return automaton.accepts ? 1 : digits_for(automaton.answers);
}

std::optional<ConstructionCost> automaton_cells_cost(const Automaton& least, Use use) {
  const std::int64_t letters = least.letter_count(), states = least.state_count();
  if (letters * states > kMostAutomatonCells) return std::nullopt;
  const bool entered = std::find(least.next.begin(), least.next.end(), least.start) != least.next.end();
  RUNG_REQUIRE(use == Use::counter || use == Use::elman || use == Use::gru, "use={}", static_cast<int>(use));
  ConstructionCost cost{.options = {{"by", use == Use::counter ? "rnn"
                                           : use == Use::elman ? "elman"
                                                               : "gru"}},
                        .word = "R",
                        .layers = {{.use = use, .value_dim = letters * states + (entered ? 0 : 1)}},
                        .width = letter_width(least) + automaton_answer_digits(least),
                        .precision = kAutomatonCellBits,
                        .entry_bits = kAutomatonCellBits};
  // relu cells are 0 or 1, and what they sum is -1, a letter's 1 (^: 2) and at most one of them; a table that
  // clips is no tanh, and gates that are 0 no sigmoid.
  if (use == Use::counter) cost.float_whole = 2;
  return cost;
}

std::optional<ConstructionCost> automaton_exchanges_cost(const Automaton& least, Use use) {
  RUNG_REQUIRE(use == Use::delta || use == Use::gdelta, "use={}", static_cast<int>(use));
  if (least.state_count() > kMostPermutedStates) return std::nullopt;
  for (std::uint32_t l = 0; l < least.letter_count(); ++l)
    if (!letter_permutes(least, l)) return std::nullopt;
  const PermutationPlan plan = permutation_plan(least);
  const PermutationWidths widths = permutation_widths(least, plan);
  return ConstructionCost{
      .options = {{"by", use == Use::delta ? "delta" : "gdelta"}},
      .word = "R",
      .layers = {{.use = use,
                  .key_dim = plan.points,
                  .value_dim = 1,
                  .steps = std::max<std::int64_t>(1, static_cast<std::int64_t>(plan.steps))}},
      .width = letter_width(least) + 1 + (widths.one_row ? 0 : automaton_answer_digits(least)),
      .precision = std::max(widths.entry, widths.read),
      .entry_bits = widths.entry,
      // Errors are differences of entries. beta is a sigmoid, which is 1 in every format at 40; so is a gate.
      .float_whole = permutation_whole(plan)};
}

// Levels of a cascade are shifted and rounded to whole numbers: nothing is claimed about floats.
int cascade_digits(int values) { return digits_for(2 * std::int64_t{values} - 1); }

std::int64_t cascade_entry(const Holonomy& holonomy, std::size_t level) {
  const std::int64_t highest = holonomy.values(level) - 1;
  const bool last = level + 1 == holonomy.levels.size();
  return last ? highest : (highest << cascade_digits(holonomy.values(level))) + highest;
}

int cascade_bits(const Holonomy& holonomy) {
  std::int64_t largest = 1;
  for (std::size_t i = 0; i < holonomy.levels.size(); ++i)
    largest = std::max(largest, cascade_entry(holonomy, i));
  return std::max(2, 1 + digits_for(largest + 1));
}

std::optional<ConstructionCost> automaton_cascade_cost(const Automaton& least) {
  if (least.state_count() > kMostCascadeStates) return std::nullopt;
  const auto h = holonomy(least);
  if (!h) return std::nullopt;
  // Beside the letter and the answer: a level's control and entry, its sets before and after the letter.
  ConstructionCost cost{.options = {{"by", "cascade"}},
                        .word = h->levels.empty() ? "" : "R",
                        .layers = {{.use = Use::mlp}},
                        .width = letter_width(least) + automaton_answer_digits(least) + 3 +
                                 2 * std::int64_t{least.state_count()},
                        .precision = cascade_bits(*h)};
  if (h->levels.empty()) return cost;
  cost.layers = {
      {.use = Use::ssd, .count = static_cast<std::int64_t>(h->levels.size()), .key_dim = 1, .value_dim = 1}};
  cost.entry_bits = cost.precision;
  return cost;
}

int flipflop_bits(std::int64_t values) { return std::max(2, digits_for(values)); }

ConstructionCost flipflop_cost(std::int64_t values) {
  const int bits = flipflop_bits(values);
  return {.construction = "flipflop",
          .options = {{"by", "mamba2"}},
          .word = "R",
          .layers = {{.use = Use::ssd, .key_dim = 1, .value_dim = 1}},
          .width = 3,
          .precision = bits,
          .entry_bits = bits,
          // Decays are sigmoids, 1 at 40 and 0 at -1000.
          .float_whole = values / 2 + 1};
}

int parity_full_bits(std::int64_t n) { return std::max(3, digits_for(n) + 3); }

std::optional<ConstructionCost> parity_full_cost(std::int64_t n) {
  if (n > kMostCountedLetters) return std::nullopt;
  const int bits = parity_full_bits(n);
  // Weights up to n, values of `bits` bits, n + 1 tokens, a sign.
  return ConstructionCost{.construction = "parity",
                          .options = {{"by", "full"}},
                          .word = "F",
                          .layers = {{.use = Use::softmax, .key_dim = 1, .value_dim = 1}},
                          .width = 4,
                          .precision = bits,
                          .sum_bits = 2 * digits_for(n + 1) + bits + 1};
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> tracked_exchanges(TrackedGroup group, std::int64_t n,
                                                                       std::int64_t letter) {
  Permutation goes;
  for (std::int64_t x = 0; x < n; ++x)
    goes.push_back(static_cast<std::uint32_t>(tracked_step(group, n, letter, x)));
  return transpositions(std::move(goes));
}

std::int64_t most_tracked_exchanges(TrackedGroup group, std::int64_t n) {
  std::int64_t most = 1;
  for (std::int64_t l = 0; l < tracked_letters(group, n); ++l)
    most = std::max(most, static_cast<std::int64_t>(tracked_exchanges(group, n, l).size()));
  return most;
}

int tracked_recall_bits(std::int64_t n) {
  const int D = digits_for(n);
  return std::max({2, 1 + D, 1 + digits_for(D + 2)});
}

std::optional<ConstructionCost> tracked_recall_cost(TrackedGroup group, std::int64_t n, std::int64_t sigma,
                                                    std::int64_t letters) {
  if (n > kMostTrackedPlaces) return std::nullopt;
  const std::int64_t D = digits_for(n), V = digits_for(sigma), keys = std::max(n, tracked_letters(group, n));
  const int bits = tracked_recall_bits(n);
  return ConstructionCost{.construction = "tracked-recall",
                          .options = {{"group", std::string(name_of(group))}},
                          .word = "R F",
                          .layers = {{.use = Use::delta,
                                      .key_dim = n,
                                      .value_dim = 1,
                                      .steps = most_tracked_exchanges(group, n) + 1},
                                     {.use = Use::lookup, .key_dim = D + 1, .value_dim = V}},
                          .width = keys + 2 * D + 2 * V + 3,
                          .precision = bits,
                          .entry_bits = 2,
                          // One token has weight 1.
                          .sum_bits = 2 + bits + digits_for(n + letters + 1)};
}

}  // namespace rung
