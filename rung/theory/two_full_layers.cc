#include "rung/theory/two_full_layers.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "rung/base/require.h"
#include "rung/theory/inequality.h"
#include "rung/theory/size_grid.h"

namespace rung {
namespace {

// The two sides, for integers and for reals alike.
template <class N>
struct Sides {
  N M, O, after, beside1, beside2;
  bool follows;

  N first(const N& y) const { return (y + 1) * M + beside1; }  // D_1
  N right(const N& T, const N& x, const N& y, const N& m) const {
    N bits = M * (x * y + x + y + 1) + O * T * m + beside1 + T * beside2;
    if (follows) bits += M * x * (y + T) + T * after;
    return bits;
  }
};
Sides<Real> real_sides(const TwoFullLayers& l) {
  return {real_of(l.partial),      real_of(l.outputs),       real_of(l.after),
          real_of(l.beside_first), real_of(l.beside_second), l.recurrence_follows};
}
Sides<Integer> integer_sides(const TwoFullLayers& l) {
  return {l.partial, l.outputs, l.after, l.beside_first, l.beside_second, l.recurrence_follows};
}
Real left(Real T, Real x, Real y, Real N) { return std::ceil(T * x / 2) * y * std::log2(N); }

SeqcompProof make_proof(const TwoFullLayers& layers, Integer m, Integer n1, Integer T, Integer x0,
                        Integer y) {
  SeqcompProof proof;
  proof.sizes = {std::move(m), {std::move(n1)}};
  proof.T = {std::move(T)};
  proof.x0 = std::move(x0);
  proof.y = std::move(y);
  const Real t = real_of(proof.T[0]), x = real_of(proof.x0), w = real_of(proof.y);
  proof.left = static_cast<double>(left(t, x, w, real_of(proof.sizes.arguments(1))));
  proof.right = static_cast<double>(real_sides(layers).right(t, x, w, real_of(proof.sizes.m)));
  proof.certified = certify(layers, proof);
  return proof;
}

// For fixed T and n_1: the least m of the first condition is (e T x / 2) 2^(2 D_1 / x), least at x = 2 D_1 ln
// 2; the second condition only gets easier as x grows (m / x falls). So x is the larger of the two.
void try_sizes(const Sides<Real>& sides, Real T, Real n, Objective objective, SmallestSizes& best) {
  const Real D = sides.first(n);
  const auto least_m = [&](Real x) {
    return std::floor(std::numbers::e_v<Real> * T * x / 2 * std::exp2(2 * D / x) * kSearchSafety) + 1;
  };
  const auto holds = [&](Real x) {
    const Real m = least_m(x);
    return left(T, x, n, m * n) > sides.right(T, x, n, m) * kSearchSafety;
  };
  // x 2^(2D/x) <= X for every x that can still improve, and then x <= X / 2^(2D/x') for every upper bound x'
  // of x.
  const Real X = 2 * best.value / (std::numbers::e_v<Real> * T * n);
  Real last = X;
  for (int k = 0; k < 3; ++k) last = X / std::exp2(2 * D / last);
  last = std::ceil(last);
  const Real lightest = std::max<Real>(1, std::floor(2 * D * std::numbers::ln2_v<Real>));
  if (!(last >= lightest) || !holds(last)) return;
  const Real x = holds(lightest) ? lightest : least_where(lightest, last, holds);
  const Real m = least_m(x), value = value_of_sizes(m, n, objective);
  if (value < best.value) best = {value, T, x, n, m};
}

}  // namespace

bool certify(const TwoFullLayers& layers, const SeqcompProof& proof) {
  RUNG_REQUIRE(proof.sizes.L() == 2 && proof.T.size() == 1, "L={}", proof.sizes.L());
  const Integer &m = proof.sizes.m, &T = proof.T[0], &x = proof.x0, &y = proof.y;
  if (T < 1 || x < 1 || x > m || y < 1 || y > proof.sizes.n[0]) return false;
  const auto sides = integer_sides(layers);
  return spreads_strictly(x, m, T, sides.first(y)) &&
         exceeds(ceil_ratio(T * x, 2) * y, proof.sizes.arguments(1), sides.right(T, x, y, m));
}

SeqcompProof best_proof(const TwoFullLayers& layers, const SeqcompSizes& sizes) {
  RUNG_REQUIRE(sizes.L() == 2 && sizes.m >= 1 && sizes.n[0] >= 1, "L={}", sizes.L());
  const auto sides = real_sides(layers);
  const Real m = real_of(sizes.m), n = real_of(sizes.n[0]), N = m * n;
  Real ratio = -1, best_T = 1, best_x = 1, best_y = 1;
  const auto visit = [&](Real T, Real y) {
    const Real need = 2 * sides.first(y) * kSearchSafety;
    const auto enough = [&](Real x) {
      return x * std::log2(2 * m / (std::numbers::e_v<Real> * T * x)) > need;
    };
    const Real peak =
        std::max<Real>(1, std::floor(2 * m / (std::numbers::e_v<Real> * std::numbers::e_v<Real> * T)));
    if (!enough(peak)) return false;
    const Real x = std::min(m, least_where(peak, 2 * m / T + 2, [&](Real v) { return !enough(v); }) - 1);
    const Real l = left(T, x, y, N), r = sides.right(T, x, y, m);
    if (r > 0 && l / r > ratio) ratio = l / r, best_T = T, best_x = x, best_y = y;
    return true;
  };
  for (const Real T : size_grid(64, 1.05L, m)) {
    if (!visit(T, n)) visit(T, 1);
    for (const Real y : size_grid(16, 1.1L, n))
      if (!visit(T, y)) break;  // a larger y asks for more
  }
  if (ratio > 0) {  // between the neighbours on the grid
    const Real centre_T = best_T, centre_y = best_y;
    for (int i = -12; i <= 12; ++i)
      for (int k = -12; k <= 12; ++k) {
        const Real T = std::floor(centre_T + i * std::max<Real>(1, centre_T * 0.05L / 12));
        const Real y = std::floor(centre_y + k * std::max<Real>(1, centre_y * 0.1L / 12));
        if (T >= 1 && y >= 1 && y <= n) visit(T, y);
      }
  }
  return make_proof(layers, sizes.m, sizes.n[0], floor_of(best_T), floor_of(best_x), floor_of(best_y));
}

std::optional<SeqcompProof> smallest_proof(const TwoFullLayers& layers, Objective objective) {
  const auto sides = real_sides(layers);
  SmallestSizes best;
  const auto sweep = [&](const std::vector<Real>& Ts, const std::vector<Real>& ns) {
    for (const Real T : Ts) {
      // ⌈T x/2⌉ y lg N > M x y needs T lg N > 2 M up to the rounding of T x / 2.
      const Real lg = std::log2(best.value);
      if (T < 2 * sides.M / lg - 2) continue;
      // The least m over all x is e^2 ln 2 T D_1, at x = 2 D_1 ln 2.
      const auto floor_of = [&](Real n) {
        return std::numbers::e_v<Real> * std::numbers::e_v<Real> * std::numbers::ln2_v<Real> * T *
               sides.first(n) * n * 0.99L;
      };
      if (floor_of(1) >= best.value) break;
      // And n_1 ((T/2 + 1) lg N - M) > M_out T m / x >= M_out T^2 e / 2.
      const Real least_n =
          sides.O * T * T * std::numbers::e_v<Real> / 2 / ((T / 2 + 1) * lg - sides.M) * 0.99L;
      for (auto n = std::lower_bound(ns.begin(), ns.end(), least_n);
           n != ns.end() && floor_of(*n) < best.value; ++n)
        try_sizes(sides, T, *n, objective, best);
    }
  };
  for (const Real ratio : {1.5L, 1.15L}) {
    const auto coarse = size_grid(4, ratio, kSearchTop);
    sweep(coarse, coarse);
  }
  sweep(size_grid(64, 1.04L, kSearchTop), size_grid(128, 1.01L, kSearchTop));
  if (best.T == 0) return std::nullopt;
  auto proof = make_proof(layers, floor_of(best.m), floor_of(best.n), floor_of(best.T), floor_of(best.x),
                          floor_of(best.n));
  return proof.certified ? std::optional(proof) : std::nullopt;
}

}  // namespace rung
