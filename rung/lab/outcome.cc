#include "rung/lab/outcome.h"

namespace rung::lab {

double seed_mean(const Outcome& outcome) {
  double sum = 0;
  for (const SeedScore& score : outcome.scores) sum += score.accuracy();
  return outcome.scores.empty() ? 0 : sum / static_cast<double>(outcome.scores.size());
}

std::optional<ShareInterval> seed_interval(const Outcome& outcome) {
  std::vector<double> accuracies;
  for (const SeedScore& score : outcome.scores) accuracies.push_back(score.accuracy());
  return student_interval(accuracies);
}

void summarise(Outcome& outcome) {
  if (!outcome.scores.empty()) outcome.accuracy = seed_mean(outcome);
  if (const auto found = seed_interval(outcome)) outcome.interval = {found->low, found->high};
}

}  // namespace rung::lab
