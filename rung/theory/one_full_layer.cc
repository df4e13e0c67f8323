#include "rung/theory/one_full_layer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "rung/base/require.h"
#include "rung/theory/counting.h"
#include "rung/theory/inequality.h"
#include "rung/theory/size_grid.h"

namespace rung {
namespace {

constexpr Real kExhaustiveBelow = 2e7L;  // up to here every (T, x_0) is visited

struct Bits {
  Real M, s0, s1, spare;
};

bool late_holds(const Bits& b, Real T, Real x, Real y, Real N) {
  return T * x * y * std::log2(N) > ((x + y + 1 + b.spare) * b.M + T * b.s1) * kSearchSafety;
}
Real early_left_of(Real T, Real x, Real y, Real lg_N) { return std::ceil(T * x / 2) * y * lg_N; }
Real early_left(Real T, Real x, Real y, Real N) { return early_left_of(T, x, y, std::log2(N)); }
Real early_right(const Bits& b, Real T, Real x, Real y) {
  return T * (b.s0 + b.s1) + b.s0 + 1 + b.M * x * (2 * y + 1 + b.spare * y);
}
Bits bits_of(const OneFullLayer& layer) {
  return {real_of(layer.partial), real_of(layer.before), real_of(layer.after), real_of(layer.spare)};
}

SeqcompProof make_proof(const OneFullLayer& layer, Integer m, Integer n1, Integer T, Integer x0, Integer y) {
  SeqcompProof proof;
  proof.sizes = {std::move(m), {std::move(n1)}};
  proof.T = {std::move(T)};
  proof.x0 = std::move(x0);
  proof.y = std::move(y);
  const Bits b = bits_of(layer);
  const Real t = real_of(proof.T[0]), x = real_of(proof.x0), w = real_of(proof.y),
             N = real_of(proof.sizes.arguments(1));
  const bool early = layer.before > 0;
  proof.left = static_cast<double>(early ? early_left(t, x, w, N) : t * x * w * std::log2(N));
  proof.right = static_cast<double>(early ? early_right(b, t, x, w) : (x + w + 1 + b.spare) * b.M + t * b.s1);
  proof.certified = certify(layer, proof);
  return proof;
}

// What one (T, x_0) gives: the smallest sizes at which the parameters certify.
// The largest n_1 whose value stays below `best` at m.
Real room(Real m, Real best, Objective objective) {
  return objective == Objective::arguments ? std::floor((best - 1) / m) : std::floor((best - 4) / m) - 1;
}

// For fixed T and x_0 (m = T x_0) the slack is convex in n_1 and negative at 0: the predicate turns true
// once.
void try_late(const Bits& b, Real T, Real x, Objective objective, SmallestSizes& best) {
  const Real m = T * x, most = room(m, best.value, objective);
  if (most < 1 || !late_holds(b, T, x, most, m * most)) return;
  const Real n = least_where(0, most, [&](Real v) { return late_holds(b, T, x, v, m * v); });
  best = {value_of_sizes(m, n, objective), T, x, n, m};
}

// x_0 + n_1 >= 2 sqrt(N / T): no T outside the interval where this function stays below N lg N can do better.
Real late_floor(const Bits& b, Real T, Real N) {
  return (2 * std::sqrt(N / T) + 1 + b.spare) * b.M + T * b.s1;
}

std::optional<SeqcompProof> smallest_late(const OneFullLayer& layer, Objective objective) {
  const Bits b = bits_of(layer);
  SmallestSizes best;
  const auto grid = size_grid(64, 1.02L, kSearchTop), coarse = size_grid(16, 1.25L, kSearchTop);
  // The pairs of this pass are the same for every layer, so more bits never decide for an exhaustive search.
  for (const Real T : coarse)
    for (const Real x : coarse) {
      if (T * x >= best.value) break;
      try_late(b, T, x, objective, best);
    }
  if (best.T == 0) return std::nullopt;
  const bool exhaustive = best.value <= kExhaustiveBelow;
  if (exhaustive) best.value += 1;  // found again, by the first of the pairs that have it
  std::size_t at = 0;
  const auto next = [&](Real v) {
    if (exhaustive) return v + 1;
    while (at < grid.size() && grid[at] <= v) ++at;
    return at < grid.size() ? grid[at] : 2 * kSearchTop;
  };
  const auto feasible = [&](Real T) {
    return best.value * std::log2(best.value) > late_floor(b, T, best.value) && T < best.value;
  };
  // The coarse T lies in the interval: its ends by bisection on either side (late_floor is convex in T).
  const Real inside = best.T;
  Real low = 0, high = 2 * best.value;
  for (Real a = 0, c = inside; c - a > 0.5L;) (feasible((a + c) / 2) ? c : a) = (a + c) / 2, low = a;
  for (Real a = inside, c = high; c - a > 0.5L;) (feasible((a + c) / 2) ? a : c) = (a + c) / 2, high = c;
  for (Real T = next(std::max<Real>(0, std::floor(low) - 1)); T <= high; T = next(T)) {
    if (!feasible(T)) continue;
    // (x + N/(T x)) M <= N lg N - T s - M bounds x from both sides.
    const Real N = best.value, sum = (N * std::log2(N) - T * b.s1) / std::max<Real>(b.M, 1) - 1 - b.spare;
    const Real root = std::sqrt(std::max<Real>(0, sum * sum - 4 * N / T));
    const Real from = std::max<Real>(0, std::floor((sum - root) / 2) - 1), to = std::ceil((sum + root) / 2);
    if (exhaustive) {
      for (Real x = from + 1; x <= to && T * x < best.value; x += 1) try_late(b, T, x, objective, best);
    } else {
      for (const Real x : grid)
        if (x > from && x <= to) try_late(b, T, x, objective, best);
    }
  }
  auto proof = make_proof(layer, floor_of(best.m), floor_of(best.n), floor_of(best.T), floor_of(best.x),
                          floor_of(best.n));
  return proof.certified ? std::optional(proof) : std::nullopt;
}

// For fixed T and x_0 the first condition gives the least m; the second the least n_1 at that m, or one n_1
// less with a larger m (the product then only depends on n_1 through the second condition, and falls with
// it). Nothing is left out because of `best` that would be below it.
void try_early(const Bits& b, Real T, Real x, Real base, Objective objective, SmallestSizes& best) {
  const Real least_m = std::ceil(T * base * std::exp2(2 / (T * x)) * kSearchSafety);
  const auto holds = [&](Real n, Real m) {
    return early_left(T, x, n, m * n) > early_right(b, T, x, n) * kSearchSafety;
  };
  const Real most = room(least_m, best.value, objective);
  if (most < 1 || !holds(most + 1, least_m)) return;
  const Real n = least_where(0, most + 1, [&](Real v) { return holds(v, least_m); });
  const auto keep = [&](Real m, Real at) {
    if (const Real value = value_of_sizes(m, at, objective); value < best.value) best = {value, T, x, at, m};
  };
  keep(least_m, n);
  if (n < 2 || !holds(n - 1, best.value)) return;
  keep(least_where(least_m, best.value, [&](Real m) { return holds(n - 1, m); }), n - 1);
}

std::optional<SeqcompProof> smallest_early(const OneFullLayer& layer, Objective objective) {
  const Bits b = bits_of(layer);
  const auto Ts = size_grid(128, 1.03L, kSearchTop), coarse = size_grid(8, 1.3L, kSearchTop),
             xs = size_grid(64, 1.01L, kSearchTop);
  SmallestSizes best;
  const auto sweep = [&](const std::vector<Real>& grid_x, const std::vector<Real>& grid_T) {
    for (const Real x : grid_x) {
      if (2 * b.s0 / x > 200) continue;  // m would exceed the top
      const Real base = std::numbers::e_v<Real> * x / 2 * std::exp2(2 * b.s0 / x);
      if (base >= best.value) continue;
      // ⌈T x/2⌉ y lg N > M x (2y + 1) needs T lg N > 4 M up to the rounding of T x / 2.
      const Real least_T = 4 * b.M / std::log2(best.value) - 2;
      for (auto T = std::lower_bound(grid_T.begin(), grid_T.end(), least_T);
           T != grid_T.end() && *T * base < best.value; ++T)
        try_early(b, *T, x, base, objective, best);
    }
  };
  sweep(coarse, coarse);
  sweep(xs, Ts);
  if (best.T == 0) return std::nullopt;
  auto proof = make_proof(layer, floor_of(best.m), floor_of(best.n), floor_of(best.T), floor_of(best.x),
                          floor_of(best.n));
  return proof.certified ? std::optional(proof) : std::nullopt;
}

}  // namespace

bool certify(const OneFullLayer& layer, const SeqcompProof& proof) {
  RUNG_REQUIRE(proof.sizes.L() == 2 && proof.T.size() == 1, "L={}", proof.sizes.L());
  const Integer &m = proof.sizes.m, &T = proof.T[0], &x = proof.x0, &y = proof.y;
  const Integer N = proof.sizes.arguments(1);
  if (T < 1 || x < 1 || y < 1 || y > proof.sizes.n[0] || x > m) return false;
  if (layer.before == 0)
    return T * x <= m && exceeds(T * x * y, N, (x + y + 1 + layer.spare) * layer.partial + T * layer.after);
  return spreads(x, m, T, layer.before) && exceeds(ceil_ratio(T * x, 2) * y, N,
                                                   T * (layer.before + layer.after) + layer.before + 1 +
                                                       layer.partial * x * (2 * y + 1 + layer.spare * y));
}

SeqcompProof best_proof(const OneFullLayer& layer, const SeqcompSizes& sizes) {
  RUNG_REQUIRE(sizes.L() == 2 && sizes.m >= 1 && sizes.n[0] >= 1, "L={}", sizes.L());
  const Bits b = bits_of(layer);
  const Real m = real_of(sizes.m), n = real_of(sizes.n[0]), lg_N = std::log2(m * n);
  const bool early = layer.before > 0;
  Real ratio = -1, best_T = 1, best_x = 1, best_y = n;
  // All small T, all T with a small quotient m / T, and a grid between: both sides are linear in x_0 and in
  // y, so those sit at an end of their range.
  const auto visit = [&](Real T) {
    if (T < 1 || T > m) return;
    Real widest = std::floor(m / T);
    if (early) {  // the largest x with x lg(2m/(eTx)) >= 2 s_0 + 2/T; the left side rises up to x = 2m/(e^2 T)
      const Real need = 2 * b.s0 + 2 / T,
                 peak = 2 * m / (std::numbers::e_v<Real> * std::numbers::e_v<Real> * T);
      const auto enough = [&](Real x) {
        return x * std::log2(2 * m / (std::numbers::e_v<Real> * T * x)) >= need;
      };
      const Real top = std::max<Real>(1, std::floor(peak));
      if (!enough(top)) return;
      widest = least_where(top, 2 * m / T + 2, [&](Real x) { return !enough(x); }) - 1;
    }
    for (const Real x : {widest, Real{1}})
      for (const Real y : {n, Real{1}}) {
        const Real left = early ? early_left_of(T, x, y, lg_N) : T * x * y * lg_N;
        const Real right = early ? early_right(b, T, x, y) : (x + y + 1 + b.spare) * b.M + T * b.s1;
        if (right > 0 && left / right > ratio) ratio = left / right, best_T = T, best_x = x, best_y = y;
        if (early) break;  // x = 1 need not spread
      }
  };
  constexpr Real kDense = 2048;
  for (const Real T : size_grid(kDense, 1.02L, m)) {
    visit(T);
    visit(std::floor(m / T));
  }
  constexpr int kSteps = 256;  // either side of the best T, between its neighbours on the grid
  const Real centre = best_T, step = std::max<Real>(1, centre * 0.02L / kSteps);
  for (int k = -kSteps; k <= kSteps; ++k) visit(std::floor(centre + step * k));
  return make_proof(layer, sizes.m, sizes.n[0], floor_of(best_T), floor_of(best_x), floor_of(best_y));
}

std::optional<SeqcompProof> smallest_proof(const OneFullLayer& layer, Objective objective) {
  RUNG_REQUIRE(layer.partial >= 0 && layer.before >= 0 && layer.after >= 0, "negative bits");
  return layer.before > 0 ? smallest_early(layer, objective) : smallest_late(layer, objective);
}

SeqcompProof full_alone_proof(const Integer& partial, const Integer& beside, const Integer& m) {
  SeqcompProof proof;
  proof.sizes = {m, {}};
  proof.x0 = m;
  proof.left = Count::power(m, m).lg();
  proof.right = (partial + beside).convert_to<double>();
  proof.certified = exceeds(m, m, partial + beside);
  return proof;
}

}  // namespace rung
