// The possible side of state tracking: a verdict is `possible` when an architecture has every resource of
// a file that `rung build` writes (tracking_cost.h, construction_fit.h), and then at every length where
// it has no positions.
//
// - automaton-rnn. rnn: unit (q, σ) is on when σ was the last letter and q the state before it: h(q,σ) ←
//   relu(x(σ) + Σ h(q',σ') - 1) over the units with δ(q',σ') = q, and one start unit for ^ where no
//   letter leads to the start. Entries are 0 or 1, so 2 bits suffice. rnn with a table, and gru with its
//   gates fixed (z = 0, r = 1): a table that clips to 0 and 1 is that network.
// - permutations-delta. One step with key e_i - e_j and beta = 1 multiplies the state by I - k kᵀ, which
//   exchanges entries i and j of a row (permutation_rows.h); gdelta alike, its gate fixed at 1.
// - cascade-mamba2. A head with decays 0 and 1 is a set-reset flip-flop; every aperiodic automaton is a
//   cascade of these (Krohn, Rhodes 1965), one layer reading what those before it hold. Written down for
//   up to 6 states.
// - parity-full. ^ has weight n, every 1 weight 1 and every 0 weight 0: the share of ^ counts the ones,
//   up to n of them.
// - tracked-recall-hybrid. delta moves a one-hot row as letters move the mark, full looks the value at
//   the mark up.
#include <fmt/format.h>

#include <algorithm>

#include "rung/theory/construction_fit.h"
#include "rung/theory/theorem_groups.h"
#include "rung/theory/tracking_cost.h"

namespace rung {
namespace {

using Use = LayerCost::Use;

bool has_kind(const MixerShape& mixer, MixerKind kind) {
  return mixer.kind == kind || std::any_of(mixer.parts.begin(), mixer.parts.end(),
                                           [&](const auto& part) { return has_kind(part, kind); });
}
bool has_kind(const Setting& setting, MixerKind kind) {
  return std::any_of(setting.layers.begin(), setting.layers.end(),
                     [&](const LayerShape& layer) { return has_kind(layer.mixer, kind); });
}

// How `rung build` is asked for the automaton of the question. Nothing where its file is not known by name.
bool name_construction(const Question& question, ConstructionCost& cost) {
  if (const auto read = question.options.find("read");
      read != question.options.end() && read->second != "last")
    cost.options["read"] = read->second;
  if (question.followed->file) {
    cost.construction = "automaton";
    cost.options["file"] = question.followed->path;
    return !question.followed->path.empty();
  }
  cost.construction = question.task;
  for (const char* option : {"name", "letters"})
    if (const auto given = question.options.find(option); given != question.options.end())
      cost.options[option] = given->second;
  return true;
}

Verdict followed_verdict(const Theorem& theorem, const Setting& setting, const Question& question,
                         std::vector<ConstructionCost> costs, std::string why_none,
                         std::vector<std::string> argument) {
  if (costs.empty()) {
    Verdict v = verdict_of(theorem, question);
    v.require("the construction exists for this task", false, std::move(why_none));
    v.elsewhere = true;
    return v;
  }
  Verdict v = verdict_of_fit(theorem, setting, question, best_fit(setting, std::move(costs)));
  v.elsewhere = v.outcome != Outcome::possible;
  v.argument = std::move(argument);
  return v;
}

// The same weights answer words of every length where nothing in the model depends on it: neither
// positions nor levels.
void at_every_length(Verdict& v, const Setting& setting) {
  if (v.outcome != Outcome::possible) return;
  const PositionCode position = setting.architecture.dimensions.position;
  const bool levels = has_kind(setting, MixerKind::loglinear), unplaced = position == PositionCode::none;
  v.every_length = EveryLength{unplaced && !levels ? Outcome::possible : Outcome::open, v.theorem, v.status};
  if (!unplaced)
    v.every_length->reason = fmt::format("positions ({}) of one context", position_name(position));
  else if (levels)
    v.every_length->reason = "levels of loglinear of one context";
}

std::optional<Verdict> by_cells(const Theorem& t, const Setting& s, const Question& q) {
  if (!q.followed) return std::nullopt;
  std::vector<ConstructionCost> costs;
  for (const auto& [use, kind] :
       {std::pair(Use::counter, MixerKind::rnn), {Use::elman, MixerKind::rnn}, {Use::gru, MixerKind::gru}}) {
    if (!has_kind(s, kind)) continue;
    auto cost = automaton_cells_cost(q.followed->least, use);
    if (cost && name_construction(q, *cost)) costs.push_back(std::move(*cost));
  }
  if (costs.empty() && !has_kind(s, MixerKind::rnn) && !has_kind(s, MixerKind::gru)) return std::nullopt;
  Verdict v = followed_verdict(
      t, s, q, std::move(costs), "more cells than are written down",
      {"One cell for every state and letter; after every token one of them is 1.",
       "It names the state before the last letter and the letter, so the answer is read off it."});
  at_every_length(v, s);
  return v;
}

std::optional<Verdict> by_exchanges(const Theorem& t, const Setting& s, const Question& q) {
  if (!q.followed) return std::nullopt;
  std::vector<ConstructionCost> costs;
  for (const auto& [use, kind] :
       {std::pair(Use::delta, MixerKind::delta), {Use::gdelta, MixerKind::gdelta}}) {
    if (!has_kind(s, kind)) continue;
    auto cost = automaton_exchanges_cost(q.followed->least, use);
    if (cost && name_construction(q, *cost)) costs.push_back(std::move(*cost));
  }
  if (costs.empty() && !has_kind(s, MixerKind::delta) && !has_kind(s, MixerKind::gdelta)) return std::nullopt;
  Verdict v = followed_verdict(
      t, s, q, std::move(costs), "some letter leads two states to one",
      {"The state of the layer is a row of points; a letter exchanges entries, one pair a step.",
       "Every state of the automaton has a row of its own, read as one number."});
  at_every_length(v, s);
  return v;
}

std::optional<Verdict> by_cascade(const Theorem& t, const Setting& s, const Question& q) {
  if (!q.followed || !has_kind(s, MixerKind::mamba2)) return std::nullopt;
  std::vector<ConstructionCost> costs;
  if (q.task == "flipflop" && !q.followed->file) {
    costs.push_back(flipflop_cost(q.size("k")));
    name_construction(q, costs.back());
  }
  auto cost = automaton_cascade_cost(q.followed->least);
  const bool named = q.followed->file || q.task == "flipflop";  // what `rung build` has a cascade for
  if (cost && named && name_construction(q, *cost)) costs.push_back(std::move(*cost));
  Verdict v = followed_verdict(t, s, q, std::move(costs), "a group in the monoid, or more than 6 states",
                               {"Every level of the decomposition is one entry that letters set or hold.",
                                "Which of the two, a layer reads off the levels above it."});
  at_every_length(v, s);
  return v;
}

std::optional<Verdict> by_counting(const Theorem& t, const Setting& s, const Question& q) {
  if (!has_kind(s, MixerKind::full)) return std::nullopt;
  std::vector<ConstructionCost> costs;
  if (auto cost = parity_full_cost(q.size("n")); cost && name_construction(q, *cost))
    costs.push_back(std::move(*cost));
  return followed_verdict(
      t, s, q, std::move(costs), "more letters than are counted",
      {"^ has weight n and value 1, a 1 weight 1, a 0 weight 0: after k ones the head reads n/(n + k).",
       "At p = lg n + 3 bits these are different numbers for k = 0 .. n; the MLP says which are odd."});
}

std::optional<Verdict> by_hybrid(const Theorem& t, const Setting& s, const Question& q) {
  if (!has_kind(s, MixerKind::delta)) return std::nullopt;
  std::vector<ConstructionCost> costs;
  if (auto cost = tracked_recall_cost(tracked_group(q.options.at("group")), q.size("n"), q.size("sigma"),
                                      q.size("w")))
    costs.push_back(std::move(*cost));
  Verdict v = followed_verdict(
      t, s, q, std::move(costs), "more places than are written down",
      {"The delta layer keeps a one-hot row that letters exchange: it is where the mark is.",
       "The full layer looks the pair of that place up: its score is 0, all others are less."});
  at_every_length(v, s);
  return v;
}

}  // namespace

std::vector<Theorem> tracking_constructions() {
  return {
      {.id = "automaton-rnn",
       .tasks = kAutomatonTasks,
       .automata = true,
       .every_length = true,
       .options = kAutomatonForms,
       .variants = kEveryVariant,
       .evaluate = by_cells},
      {.id = "permutations-delta",
       .tasks = kAutomatonTasks,
       .automata = true,
       .every_length = true,
       .options = kAutomatonForms,
       .variants = kEveryVariant,
       .evaluate = by_exchanges},
      {.id = "cascade-mamba2",
       .tasks = kAutomatonTasks,
       .automata = true,
       .every_length = true,
       .options = kAutomatonForms,
       .variants = kEveryVariant,
       .evaluate = by_cascade},
      {.id = "parity-full",
       .tasks = {"parity"},
       .options = kEveryReading,
       .variants = kEveryVariant,
       .evaluate = by_counting},
      {.id = "tracked-recall-hybrid",
       .tasks = {"tracked-recall"},
       .every_length = true,
       .options = kTrackedForms,
       .variants = kEveryVariant,
       .evaluate = by_hybrid},
  };
}

}  // namespace rung
