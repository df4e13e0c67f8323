#include "rung/theory/permutation_rows.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "rung/theory/softmax_gadgets.h"

namespace rung {

std::vector<std::pair<std::uint32_t, std::uint32_t>> transpositions(Permutation goes) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> steps;
  for (std::uint32_t i = 0; i < goes.size(); ++i)
    while (goes[i] != i) {
      const std::uint32_t j = goes[i];
      steps.emplace_back(i, j);  // what stands at i comes home; what stood at j now stands at i
      std::swap(goes[i], goes[j]);
    }
  return steps;
}

namespace {

constexpr int kWidestRead = 29;  // bits of the number that a row is read as; a logit squares it

// A partition of the states into blocks that letters map to blocks.
struct BlockSystem {
  std::vector<std::uint32_t> block;  // by state
  std::uint32_t blocks = 0;
};

class Blocks {
 public:
  explicit Blocks(const Automaton& automaton) : a_(automaton), parent_(automaton.state_count()) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  // Makes two states one, and whatever follows.
  void merge(std::uint32_t p, std::uint32_t q) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> open{{p, q}};
    while (!open.empty()) {
      auto [x, y] = open.back();
      open.pop_back();
      x = find(x), y = find(y);
      if (x == y) continue;
      parent_[y] = x;
      // Members of one block must go to one block: the classes of x and y, through their representatives.
      for (std::uint32_t l = 0; l < a_.letter_count(); ++l) open.emplace_back(a_.step(x, l), a_.step(y, l));
    }
  }
  BlockSystem system() {
    BlockSystem s;
    s.block.resize(parent_.size());
    std::map<std::uint32_t, std::uint32_t> number;
    for (std::uint32_t q = 0; q < parent_.size(); ++q)
      s.block[q] = number.try_emplace(find(q), static_cast<std::uint32_t>(number.size())).first->second;
    s.blocks = static_cast<std::uint32_t>(number.size());
    return s;
  }

 private:
  std::uint32_t find(std::uint32_t q) {
    while (parent_[q] != q) q = parent_[q] = parent_[parent_[q]];
    return q;
  }
  const Automaton& a_;
  std::vector<std::uint32_t> parent_;
};

std::vector<Permutation> letter_permutations(const Automaton& a, const BlockSystem& system) {
  std::vector<Permutation> letters(a.letter_count(), Permutation(system.blocks));
  for (std::uint32_t l = 0; l < a.letter_count(); ++l)
    for (std::uint32_t q = 0; q < a.state_count(); ++q)
      letters[l][system.block[q]] = system.block[a.step(q, l)];
  return letters;
}

std::size_t most_transpositions(const std::vector<Permutation>& letters) {
  std::size_t most = 0;
  for (const auto& letter : letters) most = std::max(most, transpositions(letter).size());
  return most;
}

// Rows that words leave, beginning with `row`, by the state that they lead to. Nothing where two rows, or
// none, belong to a state, or one row to two states.
std::optional<std::vector<std::vector<std::uint32_t>>> rows_by_state(const Automaton& a,
                                                                     const std::vector<Permutation>& letters,
                                                                     const std::vector<std::uint32_t>& row) {
  std::vector<std::vector<std::uint32_t>> rows(a.state_count());
  std::map<std::vector<std::uint32_t>, std::uint32_t> owner{{row, a.start}};
  std::vector<std::uint32_t> open{a.start};
  rows[a.start] = row;
  for (std::size_t i = 0; i < open.size(); ++i)
    for (std::uint32_t l = 0; l < a.letter_count(); ++l) {
      std::vector<std::uint32_t> moved(row.size());
      for (std::size_t c = 0; c < row.size(); ++c) moved[letters[l][c]] = rows[open[i]][c];
      const std::uint32_t to = a.step(open[i], l);
      const auto [found, fresh] = owner.try_emplace(moved, to);
      if (found->second != to) return std::nullopt;
      if (rows[to].empty()) {
        rows[to] = std::move(moved);
        open.push_back(to);
      } else if (rows[to] != moved) {
        return std::nullopt;
      }
    }
  return rows;
}

std::vector<std::int64_t> reading_digits(std::uint32_t points) {
  std::vector<std::int64_t> reading;
  for (std::uint32_t c = 0; c < points; ++c) reading.push_back(std::int64_t{1} << (digits_for(points) * c));
  return reading;
}

std::optional<PermutationPlan> plan_rows(const Automaton& a, const BlockSystem& system) {
  PermutationPlan plan{.points = system.blocks, .letters = letter_permutations(a, system)};
  if (static_cast<std::int64_t>(digits_for(plan.points)) * plan.points > kWidestRead) return std::nullopt;
  plan.steps = most_transpositions(plan.letters);
  plan.start.resize(plan.points);
  std::iota(plan.start.begin(), plan.start.end(), 0);
  auto rows = rows_by_state(a, plan.letters, plan.start);
  if (!rows) return std::nullopt;
  plan.rows = std::move(*rows);
  plan.reading = reading_digits(plan.points);
  return plan;
}

PermutationPlan plan_states(const Automaton& a) {
  const BlockSystem all = Blocks(a).system();
  PermutationPlan plan{.points = a.state_count(), .letters = letter_permutations(a, all)};
  plan.steps = most_transpositions(plan.letters);
  plan.start.assign(plan.points, 0);
  plan.start[a.start] = 1;
  for (std::uint32_t q = 0; q < plan.points; ++q) {
    plan.rows.emplace_back(plan.points, 0);
    plan.rows.back()[q] = 1;
    plan.reading.push_back(q);
  }
  return plan;
}

}  // namespace

bool letter_permutes(const Automaton& a, std::uint32_t letter) {
  std::vector<bool> hit(a.state_count(), false);
  for (std::uint32_t q = 0; q < a.state_count(); ++q) hit[a.step(q, letter)] = true;
  return std::find(hit.begin(), hit.end(), false) == hit.end();
}

// The fewest steps a letter, then the fewest points. Blocks are those that merging the start with one or
// two states generates: in a group, the cosets of its subgroups of up to two generators.
PermutationPlan permutation_plan(const Automaton& a) {
  PermutationPlan best = plan_states(a);
  const auto consider = [&](Blocks blocks) {
    const BlockSystem system = blocks.system();
    if (system.blocks < 2 || system.blocks > best.points) return;
    auto plan = plan_rows(a, system);
    if (plan && std::pair(plan->steps, plan->points) < std::pair(best.steps, best.points))
      best = std::move(*plan);
  };
  constexpr std::uint32_t kMostPairs = 128;  // states up to which two merges are tried
  consider(Blocks(a));
  for (std::uint32_t p = 0; p < a.state_count(); ++p) {
    Blocks one(a);
    one.merge(a.start, p);
    consider(one);
    if (a.state_count() > kMostPairs) continue;
    for (std::uint32_t q = 0; q < p; ++q) {
      Blocks two = one;
      two.merge(a.start, q);
      consider(two);
    }
  }
  return best;
}

std::int64_t PermutationPlan::number(const std::vector<std::uint32_t>& row) const {
  std::int64_t sum = 0;
  for (std::size_t c = 0; c < row.size(); ++c) sum += reading[c] * row[c];
  return sum;
}

PermutationWidths permutation_widths(const Automaton& a, const PermutationPlan& plan) {
  std::int64_t largest = 1, widest = 1, entry = 1;
  PermutationWidths widths;
  widths.one_row = !a.accepts;
  std::map<std::int64_t, std::int64_t> number_of;  // answer -> number
  for (std::size_t q = 0; q < plan.rows.size(); ++q) {
    if (plan.rows[q].empty()) continue;
    const std::int64_t number = plan.number(plan.rows[q]);
    largest = std::max(largest, number);
    widths.one_row = number_of.try_emplace(a.out[q], number).second && widths.one_row;
  }
  for (const auto weight : plan.reading) widest = std::max(widest, weight);
  for (const auto value : plan.start) entry = std::max<std::int64_t>(entry, value);
  widths.entry = 1 + digits_for(entry + 1);
  widths.read = 1 + digits_for(largest + 1);
  widths.query = 1 + digits_for(widest + 1);
  return widths;
}

}  // namespace rung
