#include "rung/theory/outcome.h"

namespace rung {

std::string_view outcome_meaning(Outcome outcome) {
  switch (outcome) {
    case Outcome::impossible:
      return "no weights exist that are right on every input of this size";
    case Outcome::possible:
      return "weights exist, by a construction; a sketch says so and writes none down";
    case Outcome::vacuous:
      return "a theorem applies, but its numbers do not reach this size";
    case Outcome::open:
      return "no theorem decides: a hypothesis fails, or none speaks about this architecture and task";
  }
  return "";
}

std::string_view evidence_meaning(Evidence evidence) {
  switch (evidence) {
    case Evidence::verified:
      return "checked, and it came out as claimed";
    case Evidence::refuted:
      return "checked, and it did not come out as claimed";
    case Evidence::unverified:
      return "the check did not end, or nothing could check it";
    case Evidence::none:
      return "there is nothing to check; a reason is given";
  }
  return "";
}

std::string_view decision_meaning(Decision decision) {
  switch (decision) {
    case Decision::held:
      return "what was measured agrees with the prediction";
    case Decision::failed:
      return "what was measured contradicts the prediction";
    case Decision::undecided:
      return "what was measured decides nothing; what would is said";
  }
  return "";
}

std::string_view label_meaning(LabelClass label) {
  switch (label) {
    case LabelClass::C:
      return "certified impossible: no training can reach 100 %";
    case LabelClass::K:
      return "constructible: weights exist, training may or may not find them";
    case LabelClass::G:
      return "gap: no theorem decides";
  }
  return "";
}

}  // namespace rung
