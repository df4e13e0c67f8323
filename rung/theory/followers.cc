// What `rung class` says of an automaton: the theorems about it, each applied to one layer of every
// mixer. The weights of the possible side are those of the constructions (tracking_constructions.cc).
#include "rung/theory/followers.h"

#include <fmt/format.h>

#include <algorithm>

#include "rung/theory/permutation_rows.h"
#include "rung/theory/tracking_cost.h"

namespace rung {
namespace {

Follower possible(std::string mixer, std::string_view id, std::string note) {
  return {std::move(mixer), Outcome::possible, std::string(id), theorem(id).status, std::move(note)};
}

// What the aperiodicity theorem says of one layer of it.
Follower by_aperiodicity(const std::string& line, const Question& question) {
  Dimensions dimensions;
  dimensions.position = PositionCode::none;
  dimensions.precision.bits = 8;
  const auto setting = make_setting({*parse_stack(line), dimensions}, {});
  const auto verdict = apply(theorem("aperiodicity"), *setting, question);
  if (verdict->every_length)
    return {line, verdict->every_length->outcome, verdict->theorem, verdict->every_length->status,
            "in any number of layers"};
  Follower open{.mixer = line, .status = Status::conjecture};
  const auto fails = std::find_if(verdict->hypotheses.begin(), verdict->hypotheses.end(),
                                  [](const Hypothesis& h) { return !h.holds; });
  open.note = question.followed->algebra->aperiodic ? "no bound and no construction for aperiodic tasks"
                                                    : fails->numbers;
  return open;
}

}  // namespace

std::vector<Follower> followers_of(const FollowedAutomaton& followed) {
  const Algebra& algebra = *followed.algebra;
  Question question{.task = "group", .options = {{"read", "last"}}, .sizes = {{"n", 8}}};
  question.followed = std::make_shared<FollowedAutomaton>(followed);
  std::vector<Follower> rows;
  const std::int64_t units =
      static_cast<std::int64_t>(followed.least.state_count()) * followed.least.letter_count() + 1;
  for (const char* mixer : {"rnn", "gru"})
    rows.push_back(
        possible(mixer, "automaton-rnn",
                 fmt::format("one layer, at most {} units{}", units,
                             units - 1 > kMostAutomatonCells ? ", more than are written here" : "")));
  if (algebra.group && followed.least.state_count() <= kMostPermutedStates) {
    const PermutationPlan plan = permutation_plan(followed.least);
    rows.push_back(possible(
        plan.steps <= 1 ? "delta(form=plain)" : fmt::format("delta(steps={},form=plain)", plan.steps),
        "permutations-delta", fmt::format("one layer, a row of {}", plan.points)));
  } else if (algebra.group) {
    rows.push_back(
        {.mixer = "delta",
         .status = Status::conjecture,
         .note = fmt::format("no construction is written for more than {} states", kMostPermutedStates)});
  } else {
    rows.push_back({.mixer = "delta",
                    .status = Status::conjecture,
                    .note = "no construction: some letter is not a permutation"});
  }
  if (algebra.aperiodic)
    rows.push_back(possible("mamba2(form=plain)", "cascade-mamba2", "as many layers as the cascade has"));
  else
    rows.push_back(by_aperiodicity("mamba2", question));
  for (const char* line :
       {"mamba", "linear", "full", "full(window=8)", "topk(k=8,form=plain)", "conv(width=4)", "loglinear"})
    rows.push_back(by_aperiodicity(line, question));
  if (!algebra.solvable) {
    const Theorem& conditional = theorem("nonsolvable-groups");
    rows.push_back({"full, mamba2 with positions", Outcome::impossible, std::string(conditional.id),
                    conditional.status, "assumes TC0 is not NC1, numbers of O(log n) bits"});
  }
  return rows;
}

}  // namespace rung
