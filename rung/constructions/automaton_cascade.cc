// Aperiodic automata by a cascade of set-reset layers.
//
// Claim: every automaton without groups is followed at every length by one mamba2 layer a level of its
// holonomy decomposition (holonomy.h), each with one state entry and decays 1 (hold) and 2^-k (set).
// Reference: Krohn, Rhodes 1965; Sarrof, Veitsman, Hahn 2405.17394 for non-negative state space models.
//
// Level i has V values. Its entry is S = cur·K + low, K = 2^k > 2(V − 1), 0 ≤ low < V. Hold keeps S.
// Set(v) makes it rsh(S, k) + v K = v K + cur, since low is less than K/2: the value that was there before
// stays readable. So a later layer knows the level *before* the letter, which is what controls the levels
// below it: low after a set, cur after a hold.
//
// Layer i: the mixer updates S_i by the control that the layer above left (level 0: the letter's own; ^
// sets every level). MLP: before_i as bits; then, for every letter and every reachable choice of the
// levels 0 … i before it that sets level i + 1, one unit that is 1 there. The last MLP has a unit for
// every letter and chain whose answer digit is 1.
#include <set>

#include "rung/constructions/automaton_forms.h"
#include "rung/constructions/relu_gadgets.h"
#include "rung/theory/holonomy.h"

namespace rung {
namespace {

struct CascadeLevel {
  int values = 2, digits = 0;  // V, k
  std::int64_t base() const { return std::int64_t{1} << digits; }
  std::int64_t largest() const { return (values - 1) * base() + values - 1; }
  Slot set, value, state, before;
};

// One unit: the letter, and every coordinate of the chain's first levels that means something.
Number here(ReluCircuit& mlp, const Slot& letter, std::uint32_t l, const Chain& chain, std::size_t levels,
            const std::vector<Bits>& before) {
  Bits all{mlp.input(letter.at(l), 0, 1)};
  for (std::size_t i = 0; i < levels; ++i)
    if (chain[i] >= 0) all.push_back(before[i][static_cast<std::size_t>(chain[i])]);
  return all_of(mlp, all);
}

}  // namespace

Result<Construction> build_automaton_cascade(const ConstructionRequest& request, const SharedTask& task) {
  const Automaton a = minimised(*task->automaton());
  if (a.state_count() > kMostCascadeStates)
    return fail(ErrorCode::resource,
                "[build] the least automaton of {} has {} states; at most {} expected for a cascade",
                task->name(), a.state_count(), kMostCascadeStates);
  RUNG_TRY(const Holonomy h, holonomy(a));
  const auto levels = static_cast<std::size_t>(h.levels);
  std::vector<CascadeLevel> level(levels);
  for (std::size_t i = 0; i < levels; ++i) {
    level[i].values = h.values[i];
    level[i].digits = cascade_digits(h.values[i]);
  }
  const int proved = cascade_bits(h);
  const int p = request.precision.value_or(proved);
  const std::int64_t letters = a.letter_count();

  ModelWriter model(*task, p);
  model.context(0);
  if (levels > 0) model.accumulator(Accumulator::exact, std::min(p, proved));
  const Slot letter = letter_slot(model, *task);
  for (std::size_t i = 0; i < levels; ++i) {
    CascadeLevel& l = level[i];
    l.set = model.slot(fmt::format("set_{}", i), 1, fmt::format("1 where the token sets level {}", i));
    l.value = model.slot(fmt::format("value_{}", i), 1, fmt::format("what it sets level {} to", i));
    l.state = model.slot(fmt::format("state_{}", i), 1,
                         fmt::format("after layer {}: {} times level {}, plus the value before the last set",
                                     i + 1, l.base(), i));
    l.before = model.slot(fmt::format("before_{}", i), l.values,
                          fmt::format("after layer {}: e of level {} before the token", i + 1, i));
  }
  const Slot answer =
      model.slot("answer", automaton_answer_digits(a), "0 at first, then the digits of the answer");
  auto& token = model.field_table("token", letters + 1);
  const auto control = [&](std::int64_t row, std::size_t i, int value) {
    token.set(row, level[i].set.at(0), 1);
    token.set(row, level[i].value.at(0), value);
  };
  for (std::size_t i = 0; i < levels; ++i)
    if (h.start[i] >= 0) control(letters, i, h.start[i]);
  if (levels > 0)
    for (std::int64_t l = 0; l < letters; ++l)
      if (const auto set = h.nodes[0].letters[static_cast<std::size_t>(l)].set[0]) control(l, 0, *set);

  if (levels == 0) {  // one state: one answer
    model.layer("none", "nothing to follow").after("answer: that of the only state");
    for (std::int64_t v = 0; v <= letters; ++v)
      for (std::int64_t d = 0; d < answer.size; ++d) token.set(v, answer.at(d), a.out[a.start] >> d & 1);
  }
  for (std::size_t i = 0; i < levels; ++i) {
    const CascadeLevel& own = level[i];
    LayerWriter& layer = model.layer("mamba2(heads=1,dim=1,state=1)", fmt::format("level {}", i));
    layer.map("x").set(0, own.value.at(0), own.base());
    layer.map("b").bias(0, 1);
    layer.map("c").bias(0, 1);
    layer.map("gate").set(0, own.set.at(0), 1);
    layer.table("gate", 0, {own.base(), 1});
    layer.scalar("decay.shift", own.digits);
    layer.map("o").set(own.state.at(0), 0, 1);
    layer.after(fmt::format("state_{}: level {} and what it was before the last set", i, i));

    ReluCircuit& mlp = layer.mlp();
    std::vector<Bits> before;
    for (std::size_t j = 0; j < i; ++j) before.push_back(slot_inputs(mlp, level[j].before));
    const Number state = mlp.input(own.state.at(0), 0, own.largest()), set = mlp.input(own.set.at(0), 0, 1);
    before.emplace_back();
    for (int v = 0; v < own.values; ++v) {
      const Number current =
          (at_least(mlp, state, v * own.base()) - at_least(mlp, state, (v + 1) * own.base())).within(0, 1);
      Number earlier;
      for (int c = 0; c < own.values; ++c) earlier = earlier + equals(mlp, state, c * own.base() + v);
      before.back().push_back(
          (gated(mlp, Number(1) - set, current) + gated(mlp, set, earlier.within(0, 1))).within(0, 1));
      mlp.add(own.before.at(v), before.back().back());
    }
    layer.after(own.before.holds);

    Number sets, value;
    std::vector<Number> digits(static_cast<std::size_t>(answer.size));
    std::set<std::pair<Chain, std::int64_t>> seen;  // first levels and letter
    for (const auto& node : h.nodes)
      for (std::int64_t l = 0; l < letters; ++l) {
        const auto& after = node.letters[static_cast<std::size_t>(l)];
        if (i + 1 < levels) {
          const Chain above(node.chain.begin(), node.chain.begin() + static_cast<std::ptrdiff_t>(i) + 1);
          if (!after.set[i + 1] || !seen.emplace(above, l).second) continue;
          const Number unit = here(mlp, letter, static_cast<std::uint32_t>(l), node.chain, i + 1, before);
          sets = sets + unit;
          value = value + std::int64_t{*after.set[i + 1]} * unit;
          continue;
        }
        const std::int64_t out = a.out[h.nodes[node.next[static_cast<std::size_t>(l)]].state];
        if (out == 0) continue;
        const Number unit = here(mlp, letter, static_cast<std::uint32_t>(l), node.chain, levels, before);
        for (std::int64_t d = 0; d < answer.size; ++d)
          if (out >> d & 1) digits[static_cast<std::size_t>(d)] = digits[static_cast<std::size_t>(d)] + unit;
      }
    if (i + 1 < levels) {
      const CascadeLevel& next = level[i + 1];
      mlp.add(next.set.at(0), sets.within(0, 1));
      mlp.add(next.value.at(0), value.within(0, next.values - 1));
      layer.after(fmt::format("set_{}, value_{}: what the token does to level {}", i + 1, i + 1, i + 1));
    } else {
      for (std::int64_t d = 0; d < answer.size; ++d) {
        const Number& digit = digits[static_cast<std::size_t>(d)];
        mlp.add(answer.at(d), digit.within(0, 1));
      }
      layer.after("answer: the digits of the answer to the letters so far");
    }
  }
  output_answer(model, a, answer);

  RUNG_TRY(
      Construction made,
      finish_construction(model, task,
                          fmt::format("A cascade of {} set-reset mamba2 layers follows {} at every length.",
                                      levels, task->name()),
                          "Krohn-Rhodes by holonomy"));
  made.p_proved = proved;
  made.lemma =
      fmt::format("{} levels, {} chains; an entry holds two values of a level", levels, h.nodes.size());
  made.paper_mlp = levels == 0 ? "none" : "one arbitrary position-wise function a layer";
  made.interval = [p, proved] {
    return exact_argument(p >= proved, "every level holds its value exactly, and the levels name the state");
  };
  return made;
}

}  // namespace rung
