// Automata whose letters permute the states, by the delta rule: permutation groups, parity, sums modulo m.
//
// Claim: one head of the delta rule with keys e_i − e_j and β = 1 exchanges two entries of its state a
// step, so that n entries of 1 + ⌈lg n⌉ bits follow every permutation of n points; a letter that is a
// product of k transpositions takes k steps (delta(steps=k)). Reference: Grazzi et al. 2411.12537, Siems
// et al. 2502.10297, in integers: the key has length √2 and I − k kᵀ is the transposition.
//
// The points are blocks of states that every letter maps to blocks, as few as still tell all states apart:
// for S_n given by its products, the n points on which it acts. ^ writes the row (0, 1, …, n−1), key (0,
// 1, …, n−1) and value 1 over the empty state; a letter moves what stands at point c to the point it leads
// c to. The row is read as one number Σ_c S[c] B^c, B = 2^⌈lg n⌉, and the logit of an answer's row r is 2
// c x − c² with c its number: largest at the row that is there. Where the states are not told apart by
// such rows, the points are the states and the row is e_q, read as Σ_c c S[c] = q.
#include <algorithm>
#include <map>
#include <numeric>

#include "rung/base/nearest_word.h"
#include "rung/constructions/automaton_forms.h"
#include "rung/constructions/relu_gadgets.h"

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

constexpr std::uint32_t kMostPermutedStates = 4096;
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

struct PermutationPlan {
  std::uint32_t points = 0;
  std::size_t steps = 0;
  std::vector<Permutation> letters;
  std::vector<std::uint32_t> start;              // the row that ^ writes
  std::vector<std::vector<std::uint32_t>> rows;  // by state; empty where no word comes
  std::vector<std::int64_t> reading;             // what a point's entry counts in the number that is read
};

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

// The fewest steps a letter, then the fewest points. Blocks are those that merging the start with one or
// two states generates: in a group, the cosets of its subgroups of up to two generators.
PermutationPlan choose_plan(const Automaton& a) {
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

// The answer from the number: where every answer has one row, by the nearest number; else by comparing.
template <class Code>
void write_answers(ModelWriter& model, const Automaton& a, const PermutationPlan& plan, const Slot& number,
                   LayerWriter& layer, const Code& code) {
  std::map<std::int64_t, std::int64_t> number_of;  // answer → number
  bool one_row = !a.accepts;
  std::int64_t largest = 0;
  for (std::size_t q = 0; q < plan.rows.size(); ++q) {
    if (plan.rows[q].empty()) continue;
    largest = std::max(largest, code(plan.rows[q]));
    one_row = number_of.try_emplace(a.out[q], code(plan.rows[q])).second && one_row;
  }
  if (one_row) {
    model.output({OutputSpec::Kind::logits, a.answers, 0});
    for (std::int64_t v = 0; v < a.answers; ++v) {
      const auto found = number_of.find(v);
      if (found == number_of.end()) {
        model.output_map().bias(v, -1);  // below c², which the right answer has
        continue;
      }
      model.output_map().set(v, number.at(0), 2 * found->second);
      model.output_map().bias(v, -found->second * found->second);
    }
    return;
  }
  const Slot answer = model.slot("answer", answer_digits(a), "0 at first, then the digits of the answer");
  const Number x = layer.mlp().input(number.at(0), 0, largest);
  std::vector<Number> digits(static_cast<std::size_t>(answer.size));
  for (std::size_t q = 0; q < plan.rows.size(); ++q) {
    if (plan.rows[q].empty() || a.out[q] == 0) continue;
    const Number here = equals(layer.mlp(), x, code(plan.rows[q]));
    for (std::int64_t d = 0; d < answer.size; ++d)
      if (a.out[q] >> d & 1) digits[static_cast<std::size_t>(d)] = digits[static_cast<std::size_t>(d)] + here;
  }
  for (std::int64_t d = 0; d < answer.size; ++d)
    layer.mlp().add(answer.at(d), digits[static_cast<std::size_t>(d)].within(0, 1));
  layer.after("answer: the digits of the answer to the letters so far");
  output_answer(model, a, answer);
}

}  // namespace

Result<Construction> build_automaton_delta(const ConstructionRequest& request, const SharedTask& task) {
  const Automaton& a = *task->automaton();
  if (a.state_count() > kMostPermutedStates)
    return fail(ErrorCode::resource, "[build] {} states; at most {} expected", a.state_count(),
                kMostPermutedStates);
  for (std::uint32_t l = 0; l < a.letter_count(); ++l) {
    std::vector<bool> hit(a.state_count(), false);
    for (std::uint32_t q = 0; q < a.state_count(); ++q) hit[a.step(q, l)] = true;
    if (std::find(hit.begin(), hit.end(), false) != hit.end())
      return fail(
          ErrorCode::unsupported,
          "[build] the letter {} of {} leads two states to one; `by` delta follows automata whose letters "
          "permute the states",
          rung::quoted(a.letters[l]), task->name());
  }
  const PermutationPlan plan = choose_plan(a);
  const std::int64_t n = plan.points,
                     steps = std::max<std::int64_t>(1, static_cast<std::int64_t>(plan.steps)),
                     letters = a.letter_count();
  const auto code = [&](const std::vector<std::uint32_t>& row) {
    std::int64_t number = 0;
    for (std::size_t c = 0; c < row.size(); ++c) number += plan.reading[c] * row[c];
    return number;
  };
  std::int64_t largest = 1, widest = 1, largest_entry = 1;
  for (std::size_t q = 0; q < plan.rows.size(); ++q)
    if (!plan.rows[q].empty()) largest = std::max(largest, code(plan.rows[q]));
  for (const auto weight : plan.reading) widest = std::max(widest, weight);
  for (const auto entry : plan.start) largest_entry = std::max<std::int64_t>(largest_entry, entry);
  const int entry_bits = 1 + digits_for(largest_entry + 1), read_bits = 1 + digits_for(largest + 1),
            query_bits = 1 + digits_for(widest + 1);
  const int proved = std::max({2, entry_bits, read_bits});
  const int p = request.precision.value_or(proved);

  ModelWriter model(*task, p);
  model.context(0);
  const Slot letter = letter_slot(model, *task);
  const Slot number = model.slot("number", 1, "0 at first, then the row of the state as one number");
  model.accumulator(Accumulator::round, std::min(p, entry_bits));
  LayerWriter& layer =
      model.layer(steps == 1 ? fmt::format("delta(heads=1,dim={},vdim=1)", n)
                             : fmt::format("delta(heads=1,dim={},vdim=1,steps={})", n, steps),
                  "a letter exchanges entries");
  MapWriter &key = layer.map("k"), &value = layer.map("v"), &query = layer.map("q");
  for (std::int64_t l = 0; l < letters; ++l) {
    const auto moves = transpositions(plan.letters[static_cast<std::size_t>(l)]);
    for (std::size_t s = 0; s < moves.size(); ++s) {
      key.set(static_cast<std::int64_t>(s) * n + moves[s].first, letter.at(l), 1);
      key.set(static_cast<std::int64_t>(s) * n + moves[s].second, letter.at(l), -1);
    }
  }
  for (std::int64_t c = 0; c < n; ++c) {
    key.set(c, letter.at(letters), plan.start[static_cast<std::size_t>(c)]);
    query.bias(c, plan.reading[static_cast<std::size_t>(c)]);
  }
  value.set(0, letter.at(letters), 1);
  query.bits(std::min(p, query_bits));
  layer.table("beta", 0, {1});
  layer.map("o").set(number.at(0), 0, 1);
  layer.after("number: the row that the letters so far left, read as one number");

  write_answers(model, a, plan, number, layer, code);
  RUNG_TRY(Construction made,
           finish_construction(
               model, task,
               fmt::format("One layer of the delta rule with {} entries follows {} at every length.", n,
                           task->name()),
               "transpositions by the delta rule"));
  made.p_proved = proved;
  made.lemma = fmt::format("{} points, {} transpositions a letter, entries of {} bits, a number of {} bits",
                           n, plan.steps, entry_bits, read_bits);
  made.interval = [p, proved] {
    return IntervalArgument{
        p >= proved, 0, p >= proved ? 1.0 : 0.0,
        "every step exchanges two entries exactly, and every row has a number of its own"};
  };
  return made;
}

}  // namespace rung
