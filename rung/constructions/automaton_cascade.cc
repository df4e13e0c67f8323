// Aperiodic automata by a cascade of set-reset layers.
//
// Claim: every automaton without groups is followed at every length by one mamba2 layer a level of its
// holonomy decomposition (holonomy.h), each with one state entry, decay 1 (hold) and decay 2^-k or 0 (set).
// Reference: Krohn, Rhodes 1965; Sarrof, Veitsman, Hahn 2405.17394 for non-negative state space models.
//
// Level i has V values. Its entry is S = cur·K + low, K = 2^k > 2(V − 1), 0 ≤ low < V. Hold keeps S.
// Set(v) makes it rsh(S, k) + v K = v K + cur, since low is less than K/2: the value that was there before
// stays readable. So the MLP knows the level before the letter, low after a set and cur after a hold, as well
// as after it, cur. Nothing reads what the last level was: its entry is v alone, and its decay 0.
//
// The stream holds the level's sets as a bit a state: B before the letter, A after it. MLP of layer i: both go
// on to their tiles; the image of B under the letter, counted state by state; which tiles of A cover it, and
// from that what the next level is told. A level whose set has less height is set to 0, so that words leave
// few memories. ^ leads every set to the start. After the last layer A is the state.
#include <bit>

#include "rung/constructions/automaton_forms.h"
#include "rung/constructions/relu_gadgets.h"
#include "rung/theory/holonomy.h"

namespace rung {
namespace {

// 1 where the bits are this set's, else 0 or less: Σ inside − Σ outside − (size − 1).
Number is_set(const Bits& bits, PointSet set) {
  Number sum = 1 - std::popcount(set);
  for (std::size_t q = 0; q < bits.size(); ++q) sum = set >> q & 1 ? sum + bits[q] : sum - bits[q];
  return sum;
}

// The bits of the level's sets become those of the tile that the coordinate, as one bit a value, names.
Bits tiled(ReluCircuit& mlp, const std::vector<HolonomySet>& sets, const Bits& bits, const Bits& coordinate) {
  Bits inside = bits;
  for (const auto& set : sets)
    for (std::size_t t = 0; t < set.tiles.size(); ++t) {
      const Number here = mlp.relu(is_set(bits, set.points) + coordinate[t] - 1);
      for (std::size_t q = 0; q < inside.size(); ++q)
        if ((set.points & ~set.tiles[t]) >> q & 1) inside[q] = inside[q] - here;
    }
  for (Number& bit : inside) bit = bit.within(0, 1);
  return inside;
}

// By state: 0 where the letter leads no state of the set there. ^ leads to the start.
std::vector<Number> counted_image(ReluCircuit& mlp, const Automaton& a, const Bits& set, const Bits& letter) {
  std::vector<Number> counts(set.size());
  counts[a.start] = letter.back();
  for (std::uint32_t q = 0; q < a.state_count(); ++q) {
    std::vector<Number> leads(set.size());
    for (std::uint32_t l = 0; l < a.letter_count(); ++l)
      leads[a.step(q, l)] = leads[a.step(q, l)] + letter[l];
    for (std::size_t to = 0; to < leads.size(); ++to)
      counts[to] = counts[to] + mlp.relu(set[q] + leads[to].within(0, 1) - 1);
  }
  return counts;
}

struct Control {
  Number set = 1, value = 0;
};

// What a level is told: A after the letter, and the image that lies in it.
Control control_of(ReluCircuit& mlp, const std::vector<HolonomySet>& sets, const Bits& after,
                   const std::vector<Number>& image) {
  Control control;
  for (const auto& set : sets) {
    Number uncovered = mlp.relu(is_set(after, set.points));  // by the tiles so far
    std::int64_t tried = 0;
    for (const PointSet tile : set.tiles) {
      Number outside;
      for (std::size_t q = 0; q < image.size(); ++q)
        if (~tile >> q & 1) outside = outside + image[q];
      uncovered = uncovered - mlp.relu(is_set(after, set.points) - outside);
      const Number beyond = mlp.relu(uncovered.within(1 - static_cast<std::int64_t>(set.tiles.size()), 1));
      if (++tried < static_cast<std::int64_t>(set.tiles.size())) {
        control.value = control.value + beyond;
      } else {
        control.value = control.value - (tried - 1) * beyond;  // hold
        control.set = control.set - beyond;
      }
    }
  }
  return control;
}

}  // namespace

Result<Construction> build_automaton_cascade(const ConstructionRequest& request, const SharedTask& task) {
  const Automaton a = minimised(*task->automaton());
  if (a.state_count() > kMostCascadeStates)
    return fail(ErrorCode::resource,
                "[build] the least automaton of {} has {} states; at most {} expected for a cascade",
                task->name(), a.state_count(), kMostCascadeStates);
  RUNG_TRY(const Holonomy h, holonomy(a));
  const std::size_t levels = h.levels.size();
  const int proved = cascade_bits(h);
  const int p = request.precision.value_or(proved);
  const std::int64_t letters = a.letter_count(), states = a.state_count();

  ModelWriter model(*task, p);
  model.context(0);
  if (levels > 0) model.accumulator(Accumulator::exact, std::min(p, proved));
  const Slot letter = letter_slot(model, *task);
  const Slot set = model.slot("set", 1, "1 where the token sets the level of the next layer");
  const Slot value = model.slot("value", 1, "what it sets the level to");
  const Slot state = model.slot("state", 1, "the level's entry; 0 between layers");
  const Slot before = model.slot("before", states, "a bit a state: the next level's set before the token");
  const Slot after = model.slot("after", states, "a bit a state: the next level's set after the token");
  const Slot answer =
      model.slot("answer", automaton_answer_digits(a), "0 at first, then the digits of the answer");
  auto& token = model.field_table("token", letters + 1);
  for (std::int64_t row = 0; row <= letters; ++row) {
    for (std::int64_t q = 0; q < states; ++q) {
      token.set(row, before.at(q), 1);
      token.set(row, after.at(q), 1);
    }
    if (levels == 0) {  // one state: one answer
      for (std::int64_t d = 0; d < answer.size; ++d) token.set(row, answer.at(d), a.out[a.start] >> d & 1);
      continue;
    }
    const HolonomySet& all = h.levels[0][0];
    const int tile = covering_tile(
        all, row < letters ? image(a, all.points, static_cast<std::uint32_t>(row)) : PointSet{1} << a.start);
    if (tile == static_cast<int>(all.tiles.size())) continue;  // hold
    token.set(row, set.at(0), 1);
    token.set(row, value.at(0), tile);
  }
  if (levels == 0) model.layer("none", "nothing to follow").after("answer: that of the only state");
  for (std::size_t i = 0; i < levels; ++i) {
    const bool last = i + 1 == levels;
    const std::int64_t V = h.values(i), k = last ? 0 : cascade_digits(h.values(i)), K = std::int64_t{1} << k;
    LayerWriter& layer = model.layer("mamba2(heads=1,dim=1,state=1)", fmt::format("level {}", i));
    layer.map("x").set(0, value.at(0), K);
    layer.map("b").bias(0, 1);
    layer.map("c").bias(0, 1);
    layer.map("gate").set(0, set.at(0), 1);
    layer.table("gate", 0, {K, last ? 0 : 1});
    layer.scalar("decay.shift", k);
    layer.map("o").set(state.at(0), 0, 1);

    ReluCircuit& mlp = layer.mlp();
    const Number entry = mlp.input(state.at(0), 0, cascade_entry(h, i)), sets = mlp.input(set.at(0), 0, 1),
                 set_to = mlp.input(value.at(0), 0, V - 1);
    // Which multiples of K are reached.
    const auto floors = [&](const Number& x) {
      std::vector<Number> reached;
      for (std::int64_t v = 0; v <= V; ++v) reached.push_back(at_least(mlp, x, v * K));
      return reached;
    };
    const auto now = floors(entry);
    Bits current;
    for (std::size_t v = 0; v + 1 < now.size(); ++v) current.push_back((now[v] - now[v + 1]).within(0, 1));
    const Bits A = tiled(mlp, h.levels[i], slot_inputs(mlp, after), current);
    if (last) {
      for (std::int64_t d = 0; d < answer.size; ++d) {
        Number digit;
        for (std::size_t q = 0; q < A.size(); ++q)
          if (a.out[q] >> d & 1) digit = digit + A[q];
        mlp.add(answer.at(d), digit.within(0, 1));
      }
      layer.after("answer: the digits of the answer to the letters so far");
      break;
    }
    // cur K + low after a hold, V K + low after a set.
    const Number earlier = (entry - K * set_to + V * K * sets).within(0, V * K + V - 1);
    const auto then = floors(earlier);
    Bits previous;
    for (std::int64_t v = 0; v < V; ++v)
      previous.push_back((then[static_cast<std::size_t>(v)] - then[static_cast<std::size_t>(v) + 1] +
                          equals(mlp, earlier, V * K + v))
                             .within(0, 1));
    const Bits B = tiled(mlp, h.levels[i], slot_inputs(mlp, before), previous);
    const Control next =
        control_of(mlp, h.levels[i + 1], A, counted_image(mlp, a, B, slot_inputs(mlp, letter)));
    overwrite(mlp, before, B);
    overwrite(mlp, after, A);
    mlp.add(set.at(0), next.set.within(0, 1) - sets);
    mlp.add(value.at(0), next.value.within(0, h.values(i + 1) - 1) - set_to);
    mlp.add(state.at(0), -entry);
    layer.after(fmt::format("before, after: the sets of level {}", i + 1));
    layer.after(fmt::format("set, value: what the token does to level {}", i + 1));
  }
  output_answer(model, a, answer);

  RUNG_TRY(
      Construction made,
      finish_construction(model, task,
                          fmt::format("A cascade of {} set-reset mamba2 layers follows {} at every length.",
                                      levels, task->name()),
                          "Krohn-Rhodes by holonomy"));
  made.p_proved = proved;
  made.lemma = fmt::format("{} levels; an entry holds two values of a level", levels);
  made.paper_mlp = levels == 0 ? "none" : "one arbitrary position-wise function a layer";
  made.interval = [p, proved] {
    return exact_argument(p >= proved, "every level holds its value exactly, and the levels name the state");
  };
  return made;
}

}  // namespace rung
