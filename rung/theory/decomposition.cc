#include "rung/theory/decomposition.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "rung/base/random.h"
#include "rung/base/require.h"
#include "rung/theory/inequality.h"
#include "rung/theory/size_grid.h"

namespace rung {
namespace {

constexpr Real kMostBits = 8000;               // of lg N: no search goes beyond
constexpr Real kFine = 1e-3L;                  // bits
Real half_up(const Real& v) { return v / 2; }  // relaxed: the integers round up
Integer half_up(const Integer& v) { return ceil_ratio(v, 2); }

// One choice of sizes and parameters, as integers (decides) or reals (steers).
template <class N>
struct Choice {
  N m{}, x0{};
  std::vector<N> T, n;  // T_1 .. T_{L-1}, n_1 .. n_{L-1}
};

// One condition J lg(2N/(eTJ)) >= 2D + 2/T, or its stricter or explicit form.
template <class N>
struct Step {
  N J, N_before, T, D;
  enum class Form { explicit_images, strict, union_bound } form;
};
template <class N>
struct Recursion {
  std::vector<Step<N>> steps;
  N J, D, arguments;  // J_L, D_L, N_{L-1}
};

template <class N>
struct Constants {
  int L, spare;
  bool one_more;
  N M, O;
  std::vector<N>
      before;    // before[k]: state bits of all R before the k-th F, k = 1 .. full_layers (index k-1)
  N after_last;  // after (or beside) the last F
  N beside_first;
};

template <class N, class Convert>
Constants<N> constants(const Decomposition& d, const Convert& convert) {
  Constants<N> c{d.L, d.spare, d.one_more_full, convert(d.partial), convert(d.outputs), {}, N(0), N(0)};
  N sum(0);
  for (std::size_t k = 0; k < d.full_layers(); ++k) {
    sum += convert(d.gaps[k]);
    c.before.push_back(sum);
    if (d.one_more_full) {
      if (k + 1 < d.full_layers())
        sum += convert(d.beside[k]);
      else
        c.after_last += convert(d.beside[k]);
    }
  }
  c.after_last += convert(d.gaps.back());
  if (d.one_more_full) c.beside_first = convert(d.beside.front());
  return c;
}

template <class N>
Recursion<N> unroll(const Constants<N>& c, const Choice<N>& v) {
  const int L = c.L, shift = c.one_more ? 1 : 0;  // an F index is l + shift
  Recursion<N> r;
  N words(1), sum_n(1);
  for (const auto& n : v.n) {
    words *= n;
    sum_n += n;
  }
  std::vector<N> arguments{v.m};
  for (const auto& n : v.n) arguments.push_back(arguments.back() * n);
  const auto index = [](int l) { return static_cast<std::size_t>(l - 1); };
  N J = v.x0, D = c.one_more ? N(0) : c.before[0];
  int l = 1;
  if (c.one_more) {
    const N first = sum_n * c.M + c.beside_first;
    r.steps.push_back({J, v.m, v.T[0], first, Step<N>::Form::strict});
    J = v.n[0] * half_up(N(v.T[0] * J));
    D = c.M * (sum_n + v.x0 + N(L + c.spare) * v.x0 * words + v.x0 * v.T[0]) + N(2) * c.O * v.m * v.T[0] +
        c.before[2];
    l = 2;
  }
  N product(1);  // T_1 .. T_{l-1}
  for (int k = 1; k < l; ++k) product *= v.T[index(k)];
  for (; l < L; ++l) {
    const N& T = v.T[index(l)];
    const bool explicit_images = l == 1 && D == N(0), last = l == L - 1;
    r.steps.push_back({J, arguments[index(l)], T, D,
                       explicit_images ? Step<N>::Form::explicit_images : Step<N>::Form::union_bound});
    N lower(0), tail(1);  // sum over i < l of N_{i-1} T_i .. T_{l-1}
    for (int i = l - 1; i >= 1; --i) {
      tail *= v.T[index(i)];
      lower += arguments[index(i)] * tail;
    }
    const N states = last ? N(c.before[index(l + shift)] + T * c.after_last) : c.before[index(l + 1 + shift)];
    const N layers(last ? l + shift - 1 : l + shift);
    D = T * D + N(explicit_images ? 0 : 1) + states +
        c.M * (N(L + 1 + c.spare) * v.x0 * words * product + lower) + c.O * layers * arguments[index(l)] * T;
    J = v.n[index(l)] * (explicit_images ? N(T * J) : half_up(N(T * J)));
    product *= T;
  }
  r.J = J;
  r.D = D;
  r.arguments = arguments.back();
  return r;
}

// How far the conditions are from holding, in bits of a ratio: <= 0 when all hold (up to rounding).
Real violation(const Recursion<Real>& r) {
  constexpr Real kTiny = 1e-12L;
  Real worst = std::log2(r.D / (r.J * std::log2(r.arguments))) + kTiny;
  for (const auto& s : r.steps) {
    if (s.form == Step<Real>::Form::explicit_images) {
      worst = std::max(worst, std::log2(s.T * s.J / s.N_before));
      continue;
    }
    const Real gain = std::log2(2 * s.N_before / (std::numbers::e_v<Real> * s.T * s.J));
    const Real need = 2 * s.D + (s.form == Step<Real>::Form::union_bound ? 2 / s.T : 0);
    worst = std::max(worst,
                     gain <= 0 ? 64 - gain : std::log2(std::max<Real>(need, 1e-30L) / (s.J * gain)) + kTiny);
  }
  return worst;
}

SeqcompProof make_proof(const Decomposition& d, const Choice<Integer>& v) {
  SeqcompProof proof;
  proof.sizes = {v.m, v.n};
  proof.x0 = v.x0;
  proof.T = v.T;
  proof.y = v.n.front();
  const auto r = unroll(constants<Integer>(d, [](const Integer& x) { return x; }), v);
  proof.left = static_cast<double>(real_of(r.J) * std::log2(real_of(r.arguments)));
  proof.right = static_cast<double>(real_of(r.D));
  proof.certified = certify(d, proof);
  return proof;
}

// The descent: coordinates are lg of T_1 .. T_{L-1}, n_2 .. n_{L-1}, then the surplus of m and of x_0 over
// what the first condition asks for; n_1 is solved for (once feasible, more of it stays feasible).
struct Descent {
  const Decomposition& d;
  Constants<Real> c = constants<Real>(d, real_of);

  std::size_t dimensions() const { return static_cast<std::size_t>(2 * d.L - 1); }

  Choice<Real> choice(const std::vector<Real>& v, Real lg_n1) const {
    Choice<Real> choice;
    const std::size_t top = static_cast<std::size_t>(d.L - 1);
    for (std::size_t k = 0; k < top; ++k) choice.T.push_back(std::exp2(v[k]));
    choice.n.push_back(std::exp2(lg_n1));
    for (std::size_t k = 1; k < top; ++k) choice.n.push_back(std::exp2(v[top + k - 1]));
    const Real surplus_m = std::exp2(v[2 * top - 1]), surplus_x = std::exp2(v[2 * top]);
    const Real need =
        c.one_more ? 2 * ((std::accumulate(choice.n.begin(), choice.n.end(), Real{1})) * c.M + c.beside_first)
                   : 2 * c.before[0];
    choice.x0 = std::max<Real>(1, need) * surplus_x;
    choice.m = choice.T[0] * choice.x0 * surplus_m;
    return choice;
  }
  Real lg_arguments(const std::vector<Real>& v, Real lg_n1) const {
    const auto found = choice(v, lg_n1);
    Real lg = std::log2(found.m);
    for (const Real n : found.n) lg += std::log2(n);
    return lg;
  }
  // The least lg N below `bound` at these coordinates, or infinity. Fills lg_n1.
  Real objective(const std::vector<Real>& v, Real bound, Real& lg_n1) const {
    constexpr Real kNone = std::numeric_limits<Real>::infinity();
    for (const Real x : v)
      if (x < 0 || x > kMostBits) return kNone;
    // The largest n_1 that stays below the bound (lg N rises at least as fast as lg n_1), and whether it is
    // enough.
    Real low = 0, high = bound - lg_arguments(v, 0);
    if (high < 0) return kNone;
    if (c.one_more) {  // there x_0, and with it m, follows n_1
      for (Real a = 0; high - a > kFine;)
        (lg_arguments(v, (a + high) / 2) > bound ? high : a) = (a + high) / 2, low = a;
      high = low;
      low = 0;
    }
    const auto bad = [&](Real lg) { return violation(unroll(c, choice(v, lg))) > 0; };
    if (bad(high)) return kNone;
    if (!bad(low)) high = low;
    while (high - low > kFine) {
      const Real middle = (low + high) / 2;
      (bad(middle) ? low : high) = middle;
    }
    lg_n1 = high;
    return lg_arguments(v, high);
  }
};

// T_l ~ (cM)^F_{2(L-l)}, n_l ~ (cM)^F_{2(L-l)+1}, m ~ x_0 ΠT: the exponents of the linear program over the
// recursion, with c doubled until the start is feasible.
std::optional<std::pair<std::vector<Real>, Real>> feasible_start(const Descent& descent) {
  const int L = descent.d.L;
  const Real lg_M = std::log2(std::max<Real>(2, std::max(descent.c.M, descent.c.O)));
  std::vector<Real> fibonacci{0, 1};
  while (fibonacci.size() < static_cast<std::size_t>(2 * L + 2))
    fibonacci.push_back(fibonacci.back() + fibonacci[fibonacci.size() - 2]);
  const auto F = [&](int k) { return fibonacci[static_cast<std::size_t>(k)]; };
  for (Real lg_c = 0; lg_c < 80; lg_c += 1) {
    std::vector<Real> v;
    Real product = 0;
    for (int l = 1; l < L; ++l) v.push_back(F(2 * (L - l)) * (lg_M + lg_c));
    for (int l = 2; l < L; ++l) product += v[static_cast<std::size_t>(l - 1)];
    for (int l = 2; l < L; ++l) v.push_back(F(2 * (L - l) + 1) * (lg_M + lg_c));
    v.push_back(product + 3);
    v.push_back(descent.c.one_more || descent.c.before[0] > 0 ? 1 : 0);
    Real lg_n1 = F(2 * (L - 1) + 1) * (lg_M + lg_c);
    if (std::isfinite(descent.objective(v, kMostBits, lg_n1))) return std::pair{v, lg_n1};
  }
  return std::nullopt;
}

struct Optimum {
  std::vector<Real> v;
  Real lg_n1 = 0, lg_N = 0;
};

std::optional<Optimum> descend(const Descent& descent) {
  constexpr std::uint64_t kSeed = 1;
  constexpr int kPatience = 40;
  auto start = feasible_start(descent);
  if (!start) return std::nullopt;
  Optimum best{start->first, start->second, 0};
  best.lg_N = descent.objective(best.v, kMostBits, best.lg_n1);
  Random random(kSeed);
  Real step = 4;
  for (int failures = 0; step > kFine;) {
    auto v = best.v;
    const bool single = random.below(2) == 0;
    const std::size_t chosen = random.below(v.size());
    for (std::size_t k = 0; k < v.size(); ++k)
      if (!single || k == chosen) v[k] = std::max<Real>(0, v[k] + step * (2 * random.unit() - 1));
    Real lg_n1 = best.lg_n1;
    if (const Real lg = descent.objective(v, best.lg_N - kFine / 10, lg_n1); lg < best.lg_N) {
      best = {v, lg_n1, lg};
      failures = 0;
    } else if (++failures > kPatience) {
      step *= 0.7L;
      failures = 0;
    }
  }
  return best;
}

// Integers near the relaxed optimum: T and n_2.. rounded either way (small ones matter), m and x_0 up, n_1
// solved again.
std::optional<SeqcompProof> round(const Descent& descent, const Optimum& optimum) {
  constexpr Real kSmall = 16;
  const std::size_t rounded = optimum.v.size() - 2;
  std::optional<SeqcompProof> best;
  for (std::size_t mask = 0; mask < std::size_t{1} << rounded; ++mask) {
    auto v = optimum.v;
    bool same = false;
    for (std::size_t k = 0; k < rounded; ++k) {
      const Real x = std::exp2(v[k]), down = std::max<Real>(1, std::floor(x));
      if (mask >> k & 1) same = same || x > kSmall || down == x;
      v[k] = std::log2(mask >> k & 1 ? down : std::ceil(x));
    }
    if (same) continue;
    for (const Real wider : {0.01L, 0.1L, 0.3L, 0.7L}) {
      auto w = v;
      w[rounded] += wider;
      Real lg_n1 = 0;
      if (!std::isfinite(descent.objective(w, optimum.lg_N + 12, lg_n1))) continue;
      const auto relaxed = descent.choice(w, lg_n1 + 0.01L);
      const auto up = [](Real x) { return Integer(std::ceil(x)); };
      Choice<Integer> chosen{0, up(relaxed.x0), {}, {}};
      for (const Real T : relaxed.T) chosen.T.push_back(Integer(std::round(T)));
      for (const Real n : relaxed.n) chosen.n.push_back(Integer(std::round(n)));
      chosen.n[0] = up(relaxed.n[0]);
      chosen.m = up(relaxed.m / relaxed.x0 * std::ceil(relaxed.x0));
      const auto proof = make_proof(descent.d, chosen);
      if (proof.certified && (!best || proof.sizes.prompt_length() < best->sizes.prompt_length()))
        best = proof;
    }
  }
  return best;
}

}  // namespace

bool certify(const Decomposition& d, const SeqcompProof& proof) {
  RUNG_REQUIRE(d.L >= 3 && proof.sizes.L() == d.L && proof.T.size() == proof.sizes.n.size(), "L={}", d.L);
  RUNG_REQUIRE(d.gaps.size() == d.full_layers() + 1, "gaps={}", d.gaps.size());
  RUNG_REQUIRE(!d.one_more_full || (d.beside.size() == d.full_layers() && d.gaps[0] == 0 && d.gaps[1] == 0),
               "no recurrence before the second F, {} groups of heads", d.beside.size());
  if (proof.x0 < 1 || proof.x0 > proof.sizes.m) return false;
  for (const auto& T : proof.T)
    if (T < 1) return false;
  const auto r = unroll(constants<Integer>(d, [](const Integer& x) { return x; }),
                        Choice<Integer>{proof.sizes.m, proof.x0, proof.T, proof.sizes.n});
  for (const auto& s : r.steps) {
    using Form = Step<Integer>::Form;
    const bool holds = s.form == Form::explicit_images ? s.T * s.J <= s.N_before
                       : s.form == Form::strict        ? spreads_strictly(s.J, s.N_before, s.T, s.D)
                                                       : spreads(s.J, s.N_before, s.T, s.D);
    if (!holds) return false;
  }
  return exceeds(r.J, r.arguments, r.D);
}

SeqcompProof best_proof(const Decomposition& d, const SeqcompSizes& sizes) {
  RUNG_REQUIRE(d.L >= 3 && sizes.L() == d.L, "L={} sizes={}", d.L, sizes.L());
  const auto c = constants<Real>(d, real_of);
  Choice<Real> v;
  v.m = real_of(sizes.m);
  for (const auto& n : sizes.n) v.n.push_back(real_of(n));
  // Descents on the violation over lg x_0 and lg T_l, integers at every evaluation, from several starts.
  constexpr std::uint64_t kSeed = 2;
  constexpr int kStarts = 12, kPatience = 24;
  Random random(kSeed);
  const Real top = std::log2(v.m);
  const auto at = [&](const std::vector<Real>& lg) {
    auto w = v;
    w.T.clear();
    w.x0 = std::round(std::exp2(lg[0]));
    for (std::size_t k = 1; k < lg.size(); ++k) w.T.push_back(std::round(std::exp2(lg[k])));
    return w;
  };
  std::vector<Real> lg(v.n.size() + 1, 0);
  auto best = at(lg);
  Real least = violation(unroll(c, best));
  for (int start = 0; start < kStarts; ++start) {
    Real room = top;
    for (Real& x : lg) room -= x = start == 0 ? 0 : room * random.unit();
    Real now = violation(unroll(c, at(lg))), step = 4;
    for (int failures = 0; step > kFine;) {
      auto moved = lg;
      const bool single = random.below(2) == 0;
      const std::size_t chosen = random.below(lg.size());
      for (std::size_t k = 0; k < lg.size(); ++k)
        if (!single || k == chosen)
          moved[k] = std::clamp<Real>(moved[k] + step * (2 * random.unit() - 1), 0, top);
      if (const Real there = violation(unroll(c, at(moved))); there < now) {
        now = there;
        lg = moved;
        failures = 0;
      } else if (++failures > kPatience) {
        step *= 0.6L;
        failures = 0;
      }
    }
    if (now < least) least = now, best = at(lg);
    if (least < 0) break;
  }
  const auto whole = [](Real x) { return Integer(std::floor(x)); };
  Choice<Integer> chosen{sizes.m, whole(best.x0), {}, sizes.n};
  for (const Real T : best.T) chosen.T.push_back(whole(T));
  return make_proof(d, chosen);
}

std::optional<SeqcompProof> smallest_proof(const Decomposition& d) {
  RUNG_REQUIRE(d.L >= 3, "L={}", d.L);
  if (d.L > kLongestSearch) return std::nullopt;
  const Descent descent{d};
  const auto found = descend(descent);
  return found ? round(descent, *found) : std::nullopt;
}

std::int64_t size_exponent(int L, bool one_more_full) {
  RUNG_REQUIRE(L >= 2, "L={}", L);
  if (!one_more_full && L == 2) return 1;
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  std::int64_t a = 1, b = 1;  // F_1, F_2
  for (int k = 2; k < 2 * L - 1; ++k) {
    const std::int64_t next = a + b;
    a = b;
    b = next;
    if (b > kMost / 8) return kMost;
  }
  const std::int64_t odd = b, top = 2 * b + a;  // F_{2L-1}, F_{2L+1}
  return one_more_full ? top + odd - 1 : top - 2;
}

}  // namespace rung
