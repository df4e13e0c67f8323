#include "rung/tasks/gap_law.h"

#include <bit>
#include <cmath>

namespace rung {
namespace {

constexpr int kWeightBits = 32;

// r^exponent of r >= 1 and -1 < exponent <= 0, by squaring and square roots alone: these are rounded the same way on
// every machine, pow() is not.
double negative_power(double r, double exponent) {
  double logarithm = 0, rest = r;
  for (; rest >= 2; rest /= 2) logarithm += 1;
  for (double bit = 0.5; bit > 0x1p-50; bit /= 2) {
    rest *= rest;
    if (rest < 2) continue;
    rest /= 2;
    logarithm += bit;
  }
  double left = -exponent * logarithm, root = 2, out = 1;
  for (; left >= 1; left -= 1) out /= 2;
  for (double bit = 0.5; bit > 0x1p-50; bit /= 2) {
    root = std::sqrt(root);
    if (left < bit) continue;
    left -= bit;
    out /= root;
  }
  return out;
}

void fenwick_add(std::vector<std::uint64_t>& sums, std::size_t at, std::uint64_t weight) {
  for (++at; at < sums.size(); at += at & (~at + 1)) sums[at] += weight;
}

// The place whose stretch of weight holds `weight`; its own weight is taken out.
std::size_t fenwick_take(std::vector<std::uint64_t>& sums, std::uint64_t weight) {
  std::size_t at = 0;
  for (std::size_t step = std::bit_floor(sums.size() - 1); step > 0; step /= 2)
    if (at + step < sums.size() && sums[at + step] <= weight) weight -= sums[at += step];
  std::uint64_t own = sums[at + 1];
  for (std::size_t below = at, stop = (at + 1) & at; below > stop; below &= below - 1) own -= sums[below];
  fenwick_add(sums, at, 0 - own);
  return at;
}

std::uint64_t fenwick_total(const std::vector<std::uint64_t>& sums) {
  std::uint64_t total = 0;
  for (std::size_t at = sums.size() - 1; at > 0; at &= at - 1) total += sums[at];
  return total;
}

}  // namespace

GapLaw::GapLaw(std::int64_t places, double power) {
  RUNG_REQUIRE(places >= 1 && power > 0 && power <= 1, "places={} power={}", places, power);
  const auto count = static_cast<std::size_t>(places);
  sums_.assign(count + 1, 0);
  for (std::size_t gap = 0; gap < count; ++gap) {
    const double weight = negative_power(static_cast<double>(gap + 1), power - 1);
    weights_.push_back(static_cast<std::uint64_t>(std::ldexp(weight, kWeightBits)));
    fenwick_add(sums_, gap, weights_.back());
  }
}

std::vector<std::int64_t> GapLaw::draw(Random& random, std::int64_t count) const {
  RUNG_REQUIRE(count <= places(), "{} of {} places", count, places());
  std::vector<std::uint64_t> sums = sums_;
  std::vector<std::int64_t> drawn;
  for (std::int64_t i = 0; i < count; ++i)
    drawn.push_back(static_cast<std::int64_t>(fenwick_take(sums, random.below(fenwick_total(sums)))));
  return drawn;
}

}  // namespace rung
