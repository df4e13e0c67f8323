#include "rung/evaluation/interval.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <vector>

namespace rung {

namespace {

constexpr double kTwoSided = 0.975, kOneSided = 0.95;

// Of the normal distribution.
double normal_point(double share) { return boost::math::quantile(boost::math::normal(), share); }

ShareInterval wilson(std::uint64_t right, std::uint64_t of, double z) {
  if (of == 0) return {0, 1};
  const double n = static_cast<double>(of), share = static_cast<double>(right) / n;
  const double centre = (share + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z / (1 + z * z / n) * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  return {right == 0 ? 0.0 : std::max(0.0, centre - half), right == of ? 1.0 : std::min(1.0, centre + half)};
}

// REQUIRES two accuracies or more.
ShareInterval student(std::span<const double> accuracies, double share) {
  const auto count = static_cast<double>(accuracies.size());
  double mean = 0, squares = 0;
  for (const double x : accuracies) mean += x / count;
  for (const double x : accuracies) squares += (x - mean) * (x - mean);
  const double t = boost::math::quantile(boost::math::students_t(count - 1), share);
  const double half = t * std::sqrt(squares / (count - 1) / count);
  return ShareInterval{std::max(0.0, mean - half), std::min(1.0, mean + half)};
}

}  // namespace

ShareInterval wilson_interval(std::uint64_t right, std::uint64_t of) {
  return wilson(right, of, normal_point(kTwoSided));
}

std::optional<ShareInterval> student_interval(std::span<const double> accuracies) {
  if (accuracies.size() < 2) return std::nullopt;
  return student(accuracies, kTwoSided);
}

double accuracy_lower_bound(std::span<const AnswerCount> members) {
  double alone = 0;
  std::vector<double> accuracies;
  for (const AnswerCount& member : members) {
    alone = std::max(alone, wilson(member.right, member.of, normal_point(kOneSided)).low);
    accuracies.push_back(member.of ? static_cast<double>(member.right) / static_cast<double>(member.of) : 0);
  }
  return accuracies.size() < 2 ? alone : std::min(alone, student(accuracies, kOneSided).low);
}

}  // namespace rung
