// Real numbers as intervals of doubles: every operation encloses the true result, so what is certain of the
// intervals is true of the reals. Bounds are computed in the nearest double and moved one step outwards; exp,
// log1p, tanh and erf of the C library are trusted to four steps.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace rung_check {

struct Real {
  double low = 0, high = 0;

  Real() = default;
  Real(double x) : low(x), high(x) {}  // exactly x
  Real(double l, double h) : low(l), high(h) {}
  bool is(double x) const { return low == x && high == x; }
  bool finite() const { return std::isfinite(low) && std::isfinite(high); }
};
using Reals = std::vector<Real>;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// [low, high] moved outwards by `steps` doubles; the whole line where a bound is no number.
inline Real outwards(double low, double high, int steps = 1) {
  if (std::isnan(low) || std::isnan(high)) return {-kInfinity, kInfinity};
  for (int i = 0; i < steps; ++i) {
    low = std::nextafter(low, -kInfinity);
    high = std::nextafter(high, kInfinity);
  }
  return {low, high};
}

inline Real operator-(const Real& a) { return {-a.high, -a.low}; }
inline Real operator+(const Real& a, const Real& b) {
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  return outwards(a.low + b.low, a.high + b.high);
}
inline Real operator-(const Real& a, const Real& b) { return a + -b; }
inline Real operator*(const Real& a, const Real& b) {
  if (a.is(0) || b.is(0)) return 0;
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  const double p = a.low * b.low, q = a.low * b.high, r = a.high * b.low, s = a.high * b.high;
  if (std::isnan(p) || std::isnan(q) || std::isnan(r) || std::isnan(s)) return {-kInfinity, kInfinity};
  return outwards(std::min({p, q, r, s}), std::max({p, q, r, s}));
}
inline Real operator/(const Real& a, const Real& b) {
  if (a.is(0) && (b.low > 0 || b.high < 0)) return 0;
  if (b.low <= 0 && b.high >= 0) return {-kInfinity, kInfinity};
  const double p = a.low / b.low, q = a.low / b.high, r = a.high / b.low, s = a.high / b.high;
  if (std::isnan(p) || std::isnan(q) || std::isnan(r) || std::isnan(s)) return {-kInfinity, kInfinity};
  return outwards(std::min({p, q, r, s}), std::max({p, q, r, s}));
}
inline Real& operator+=(Real& a, const Real& b) { return a = a + b; }

inline Real square(const Real& a) {
  const Real product = a * a;
  return {std::max(0.0, product.low), product.high};
}
inline Real square_root(const Real& a) {  // of what cannot be negative
  const Real root = outwards(std::sqrt(std::max(0.0, a.low)), std::sqrt(std::max(0.0, a.high)));
  return {a.low <= 0 ? 0.0 : std::max(0.0, root.low), a.high <= 0 ? 0.0 : root.high};
}
inline Real positive_part(const Real& a) { return {std::max(0.0, a.low), std::max(0.0, a.high)}; }
inline Real clipped(const Real& a, double low, double high) {
  return {std::clamp(a.low, low, high), std::clamp(a.high, low, high)};
}
inline Real scaled(const Real& a, std::int64_t power) {
  return power == 0 ? a : a * Real(std::ldexp(1.0, static_cast<int>(power)));
}

// The names of check/integer.h, for what is written once for integers and intervals: nothing is rounded.
inline Real add(const Real& a, const Real& b) { return a + b; }
inline Real mul(const Real& a, const Real& b) { return a * b; }
inline Real product(const Real& a, const Real& b) { return a * b; }
inline Real rsh(const Real& a, std::int64_t shift) { return scaled(a, -shift); }
inline Real sat(const Real& a, std::int64_t) { return a; }
inline Real kept(const Real& a) { return a; }
inline Real quot(const Real& num, const Real& den, std::int64_t c) {
  return den.is(0) ? Real(0) : Real(static_cast<double>(c)) * num / den;
}

// A function that never falls, by its values at both ends.
template <class Function>
Real increasing(const Real& a, const Function& f) {
  return {f(a.low).low, f(a.high).high};
}
inline Real exponential(const Real& a) {
  const Real e = outwards(std::exp(a.low), std::exp(a.high), 4);
  return {std::max(0.0, e.low), e.high};
}
inline Real sigmoid(const Real& a) {
  return increasing(a, [](double x) { return Real(1) / (Real(1) + exponential(-Real(x))); });
}
inline Real softplus(const Real& a) {
  return increasing(a, [](double x) {  // ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|)
    const Real rest = exponential(Real(-std::abs(x)));
    return Real(std::max(x, 0.0)) + outwards(std::log1p(rest.low), std::log1p(rest.high), 4);
  });
}
inline Real hyperbolic_tangent(const Real& a) { return outwards(std::tanh(a.low), std::tanh(a.high), 4); }
// 2^out · f(x / 2^in), f by its word (docs/weights.md, "Mode Q"). Malformed: an unknown word.
struct RealFunction {
  std::string word;
  std::int64_t in = 0, out = 0;
  Real operator()(const Real& x) const;
};

inline Real error_function(const Real& a) { return outwards(std::erf(a.low), std::erf(a.high), 4); }

}  // namespace rung_check
