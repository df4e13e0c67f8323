#include "rung/theory/outcome.h"

namespace rung {

std::string_view outcome_meaning(Outcome outcome) {
  static constexpr auto kMeanings = std::to_array<std::string_view>(
      {"no weights exist that are right on every input of this size",
       "weights exist, by a construction; a sketch says so and writes none down",
       "a theorem applies, but its numbers do not reach this size",
       "no theorem decides: a hypothesis fails, or none speaks about this architecture and task"});
  static_assert(kMeanings.size() == kWords<Outcome>.size());
  return kMeanings[static_cast<std::size_t>(outcome)];
}

std::string_view evidence_meaning(Evidence evidence) {
  static constexpr auto kMeanings = std::to_array<std::string_view>(
      {"checked, and it came out as claimed", "checked, and it did not come out as claimed",
       "the check did not end, or nothing could check it", "there is nothing to check; a reason is given"});
  static_assert(kMeanings.size() == kWords<Evidence>.size());
  return kMeanings[static_cast<std::size_t>(evidence)];
}

std::string_view decision_meaning(Decision decision) {
  static constexpr auto kMeanings = std::to_array<std::string_view>(
      {"what was measured agrees with the prediction", "what was measured contradicts the prediction",
       "what was measured decides nothing; what would is said"});
  static_assert(kMeanings.size() == kWords<Decision>.size());
  return kMeanings[static_cast<std::size_t>(decision)];
}

std::string_view label_meaning(LabelClass label) {
  static constexpr auto kMeanings = std::to_array<std::string_view>(
      {"certified impossible: no training can reach 100 %",
       "constructible: weights exist, training may or may not find them", "gap: no theorem decides"});
  static_assert(kMeanings.size() == kWords<LabelClass>.size());
  return kMeanings[static_cast<std::size_t>(label)];
}

}  // namespace rung
