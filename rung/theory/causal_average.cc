// A causal model and an answer that depends on tokens still to come.
//
// Claim. The q-sparse average read at every position, n >= 2, is beyond every causal model without a chain of
// thought, whatever its size: at position 0 let y_0 hold position n-1. Two prompts that differ in z_{n-1}
// alone, all components +1 or all -1, have means there that differ by 2/q in every component, more than twice
// the tolerance 1/(4q), so no vector is right for both; a causal model has read the same first position in
// both. Status: proved; every arithmetic. (Read at the last position alone the task is a fair one.)
#include "rung/theory/theorem_groups.h"

namespace rung {
namespace {

std::optional<Verdict> foreseen_average(const Theorem& theorem, const Setting& setting,
                                        const Question& question) {
  if (!setting.causal()) return std::nullopt;
  Verdict v = verdict_of(theorem, question);
  const std::int64_t n = question.size("n");
  v.parameters["n"] = n;
  v.require("causal", true);
  v.require("no chain of thought", !setting.chain_of_thought);
  v.require("some position stands before another: n >= 2", n >= 2, fmt::format("n = {}", n));
  if (!v.all_hold()) return v;
  v.left = 1;
  v.right = 0;
  v.outcome = Outcome::impossible;
  v.argument = {"Two prompts that differ at the last position alone, in the sign of its vector.",
                "At position 0 the subset names the last position: the two means differ by 2/q.",
                "A causal model has read the same token there, and gives one answer to both."};
  return v;
}

}  // namespace

std::vector<Theorem> causal_theorems() {
  return {
      {.id = "causal-sparse-average",
       .tasks = {"sparse-average"},
       .options = {{"read", {"all"}}},
       .variants = kEveryPrompt,
       .evaluate = foreseen_average},
  };
}

}  // namespace rung
