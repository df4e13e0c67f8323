// Claim: aperiodicity (docs/theorems.md). What it asks of decays and states, model_setting() looks up in
// the file.
#include "rung/adversary/forced_word.h"

#include "rung/evaluation/label.h"
#include "rung/tasks/automaton.h"
#include "rung/theory/settling.h"
#include "rung/theory/theorem.h"

namespace rung {

std::optional<ForcedWord> forced_word(const Target& target) {
  const Weights& weights = target.weights;
  if (!target.exact() || weights.architecture.dimensions.context > 0) return std::nullopt;
  const auto setting = model_setting(weights, *target.machine, kDefaultContext);
  if (!setting) return std::nullopt;
  Question question{.task = std::string(target.task->name()), .sizes = {{"n", kDefaultContext - 1}}};
  question.followed = std::make_shared<FollowedAutomaton>(followed_automaton(*target.task->automaton()));
  const auto verdict = apply(theorem("aperiodicity"), *setting, question);
  if (!verdict || !verdict->every_length) return std::nullopt;
  ForcedWord forced{.theorem = verdict->every_length->theorem, .status = verdict->every_length->status};
  const Settling settling = settling_of(*setting);
  if (settling.sums || settling.selects || settling.blocks || !verdict->horizon) return forced;
  const Integer letters = *verdict->horizon + 1;
  constexpr std::int64_t kLargestCertified = std::int64_t{1} << 62;
  if (letters > kLargestCertified) return forced;
  const PeriodicWord& periodic = *question.followed->algebra->periodic;
  forced.powers = WrongWordClaim::Powers{{periodic.to.begin(), periodic.to.end()},
                                         {periodic.word.begin(), periodic.word.end()},
                                         {periodic.from.begin(), periodic.from.end()},
                                         letters.convert_to<std::int64_t>()};
  return forced;
}

}  // namespace rung
