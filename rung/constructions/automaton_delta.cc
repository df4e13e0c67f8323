// Automata whose letters permute the states, by the delta rule: permutation groups, parity, sums modulo m.
//
// Claim: one head of the delta rule with keys e_i − e_j and β = 1 exchanges two entries of its state a
// step, so that n entries of 1 + ⌈lg n⌉ bits follow every permutation of n points; a letter that is a
// product of k transpositions takes k steps (delta(steps=k)). Reference: Grazzi et al. 2411.12537, Siems
// et al. 2502.10297, in integers: the key has length √2 and I − k kᵀ is the transposition.
//
// The points and rows are those of permutation_rows.h. ^ writes the row (0, 1, …, n−1), key (0,
// 1, …, n−1) and value 1 over the empty state; a letter moves what stands at point c to the point it leads
// c to. The row is read as one number Σ_c S[c] B^c, B = 2^⌈lg n⌉, and the logit of an answer's row r is 2
// c x − c² with c its number: largest at the row that is there. Where the states are not told apart by
// such rows, the points are the states and the row is e_q, read as Σ_c c S[c] = q.
#include <algorithm>
#include <map>

#include "rung/base/nearest_word.h"
#include "rung/constructions/automaton_forms.h"
#include "rung/constructions/relu_gadgets.h"

namespace rung {
namespace {

// The answer from the number: where every answer has one row, by the nearest number; else by comparing.
void write_answers(ModelWriter& model, const Automaton& a, const PermutationPlan& plan, bool one_row,
                   const Slot& number, LayerWriter& layer) {
  std::map<std::int64_t, std::int64_t> number_of;  // answer → number
  std::int64_t largest = 0;
  for (std::size_t q = 0; q < plan.rows.size(); ++q) {
    if (plan.rows[q].empty()) continue;
    largest = std::max(largest, plan.number(plan.rows[q]));
    number_of.try_emplace(a.out[q], plan.number(plan.rows[q]));
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
  const Slot answer =
      model.slot("answer", automaton_answer_digits(a), "0 at first, then the digits of the answer");
  const Number x = layer.mlp().input(number.at(0), 0, largest);
  std::vector<Number> digits(static_cast<std::size_t>(answer.size));
  for (std::size_t q = 0; q < plan.rows.size(); ++q) {
    if (plan.rows[q].empty() || a.out[q] == 0) continue;
    const Number here = equals(layer.mlp(), x, plan.number(plan.rows[q]));
    for (std::int64_t d = 0; d < answer.size; ++d)
      if (a.out[q] >> d & 1) digits[static_cast<std::size_t>(d)] = digits[static_cast<std::size_t>(d)] + here;
  }
  for (std::int64_t d = 0; d < answer.size; ++d)
    layer.mlp().add(answer.at(d), digits[static_cast<std::size_t>(d)].within(0, 1));
  layer.after("answer: the digits of the answer to the letters so far");
  output_answer(model, a, answer);
}

}  // namespace

Result<Construction> build_automaton_delta(const ConstructionRequest& request, const SharedTask& task,
                                           bool gated) {
  const Automaton a = minimised(*task->automaton());
  if (a.state_count() > kMostPermutedStates)
    return fail(ErrorCode::resource, "[build] {} states; at most {} expected", a.state_count(),
                kMostPermutedStates);
  for (std::uint32_t l = 0; l < a.letter_count(); ++l)
    if (!letter_permutes(a, l))
      return fail(
          ErrorCode::unsupported,
          "[build] the letter {} of {} leads two states to one; `by` delta follows automata whose letters "
          "permute the states",
          rung::quoted(a.letters[l]), task->name());
  const PermutationPlan plan = permutation_plan(a);
  const PermutationWidths widths = permutation_widths(a, plan);
  const std::int64_t n = plan.points,
                     steps = std::max<std::int64_t>(1, static_cast<std::int64_t>(plan.steps)),
                     letters = a.letter_count();
  const int entry_bits = widths.entry, read_bits = widths.read, proved = std::max(entry_bits, read_bits);
  const int p = request.precision.value_or(proved);

  ModelWriter model(*task, p);
  model.context(0);
  const Slot letter = letter_slot(model, *task);
  const Slot number = model.slot("number", 1, "0 at first, then the row of the state as one number");
  model.accumulator(Accumulator::round, std::min(p, entry_bits));
  LayerWriter& layer = model.layer(fmt::format("{}(heads=1,dim={},vdim=1{})", gated ? "gdelta" : "delta", n,
                                               steps == 1 ? "" : fmt::format(",steps={}", steps)),
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
  query.bits(std::min(p, widths.query));
  layer.table("beta", 0, {1});
  if (gated) layer.table("gate", 0, {1});  // nothing decays
  layer.map("o").set(number.at(0), 0, 1);
  layer.after("number: the row that the letters so far left, read as one number");

  write_answers(model, a, plan, widths.one_row, number, layer);
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
