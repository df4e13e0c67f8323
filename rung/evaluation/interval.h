// 95 % confidence intervals of an accuracy: over the instances that were drawn, and over the members (seeds)
// of an ensemble.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace rung {

struct ShareInterval {
  double low, high;
};
struct AnswerCount {
  std::uint64_t right, of;
};
// Wilson's interval of a share; [0, 1] when nothing was drawn.
ShareInterval wilson_interval(std::uint64_t right, std::uint64_t of);
// An accuracy that the mean over members exceeds, one-sided, 95 %: Student's bound, and no more than Wilson's of the best
// member alone, since members that agree do not make their samples exact. Of one member Wilson's, of that member.
double accuracy_lower_bound(std::span<const AnswerCount> members);
// Student's interval of the mean over members, cut to [0, 1]; nothing for fewer than two.
std::optional<ShareInterval> student_interval(std::span<const double> accuracies);

}  // namespace rung
