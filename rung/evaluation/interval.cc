#include "rung/evaluation/interval.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace rung {

ShareInterval wilson_interval(std::uint64_t right, std::uint64_t of) {
  if (of == 0) return {0, 1};
  constexpr double kZ = 1.959963984540054;  // the 97.5 % point of the normal distribution
  const double n = static_cast<double>(of), share = static_cast<double>(right) / n;
  const double centre = (share + kZ * kZ / (2 * n)) / (1 + kZ * kZ / n);
  const double half = kZ / (1 + kZ * kZ / n) * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n));
  return {right == 0 ? 0.0 : std::max(0.0, centre - half), right == of ? 1.0 : std::min(1.0, centre + half)};
}

std::optional<ShareInterval> student_interval(std::span<const double> accuracies) {
  const auto count = static_cast<double>(accuracies.size());
  if (accuracies.size() < 2) return std::nullopt;
  double mean = 0, squares = 0;
  for (const double x : accuracies) mean += x / count;
  for (const double x : accuracies) squares += (x - mean) * (x - mean);
  const double t = boost::math::quantile(boost::math::students_t(count - 1), 0.975);
  const double half = t * std::sqrt(squares / (count - 1) / count);
  return ShareInterval{std::max(0.0, mean - half), std::min(1.0, mean + half)};
}

}  // namespace rung
