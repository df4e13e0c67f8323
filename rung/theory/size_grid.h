// Fixed grids of integers for searches over proof parameters. A minimum over a set that does not depend on
// the model is monotone in everything in which each of its members is; a hill climb would not be.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "rung/theory/seqcomp_proof.h"

namespace rung {

using Real = long double;              // steers a search, never decides; sizes below 2^64 are exact in it
constexpr Real kSearchTop = 0x1p100L;  // no search over sizes goes beyond
constexpr Real kSearchSafety = 1 + 1e-15L;  // the right side is raised by this before floating point compares

inline Real real_of(const Integer& v) { return v.convert_to<Real>(); }
inline Integer floor_of(Real v) { return Integer(std::floor(v)); }

// The smallest sizes found so far of a count on 2-SeqComp.
struct SmallestSizes {
  Real value = kSearchTop, T = 0, x = 0, n = 0, m = 0;
};
inline Real value_of_sizes(Real m, Real n, Objective objective) {
  return objective == Objective::arguments ? m * n : m * n + m + 3;
}

// All integers from 1 to `dense`, then rounded powers with the given ratio, up to `top`. REQUIRES dense,
// ratio > 1.
inline std::vector<long double> size_grid(long double dense, long double ratio, long double top) {
  std::vector<long double> grid;
  for (long double v = 1; v <= std::min(dense, top); v += 1) grid.push_back(v);
  for (long double v = dense * ratio; v <= top; v *= ratio)
    if (const long double rounded = std::floor(v); rounded > grid.back()) grid.push_back(rounded);
  return grid;
}

// The least integer v in (low, high] with holds(v), for a predicate that stays true once true. REQUIRES
// holds(high).
template <class Predicate>
long double least_where(long double low, long double high, const Predicate& holds) {
  while (high - low > 1) {
    const long double middle = std::floor((low + high) / 2);
    if (middle <= low || middle >= high) break;  // beyond 2^64 neighbours are not integers apart
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace rung
