// What `rung class` says of an automaton: the theorems about it, each applied to one layer of every
// mixer. The weights of the possible side are those of the constructions (tracking_constructions.cc).
#include "rung/theory/followers.h"

#include <fmt/format.h>

#include <algorithm>

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
  open.note = question.followed->algebra->aperiodic
                  ? "the task is aperiodic: no theorem forbids it, none builds it"
                  : fails->numbers;
  return open;
}

}  // namespace

std::int64_t exchanges_of(const Automaton& automaton) {
  std::int64_t most = 0;
  for (std::uint32_t a = 0; a < automaton.letter_count(); ++a) {
    std::vector<bool> seen(automaton.state_count(), false);
    std::int64_t exchanges = automaton.state_count();
    for (std::uint32_t q = 0; q < automaton.state_count(); ++q) {
      if (seen[q]) continue;
      --exchanges;
      for (std::uint32_t z = q; !seen[z]; z = automaton.step(z, a)) seen[z] = true;
    }
    most = std::max(most, exchanges);
  }
  return most;
}

std::vector<Follower> followers_of(const FollowedAutomaton& followed) {
  const Algebra& algebra = *followed.algebra;
  Question question{.task = "group", .options = {{"read", "last"}}, .sizes = {{"n", 8}}};
  question.followed = std::make_shared<FollowedAutomaton>(followed);
  std::vector<Follower> rows;
  const std::int64_t units =
      static_cast<std::int64_t>(followed.least.state_count()) * followed.least.letter_count() + 1;
  for (const char* mixer : {"rnn", "gru"})
    rows.push_back(possible(mixer, "automaton-rnn", fmt::format("one layer, at most {} units", units)));
  if (algebra.group) {
    const std::int64_t steps = exchanges_of(followed.least);
    rows.push_back(
        possible(steps <= 1 ? "delta(form=plain)" : fmt::format("delta(steps={},form=plain)", steps),
                 "permutations-delta",
                 fmt::format("one layer, a row of {}{}", algebra.classes,
                             steps <= 1 ? "" : "; fewer steps where letters move fewer points")));
  } else {
    rows.push_back({.mixer = "delta",
                    .status = Status::conjecture,
                    .note = "no construction: some letter is no permutation"});
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
