#include "rung/theory/inequality.h"

#include <cmath>
#include <numbers>

#include "rung/base/require.h"
#include "rung/theory/counting.h"

namespace rung {
namespace {

constexpr unsigned kScale = 160;  // binary digits kept of a logarithm: J up to 2^90 still leaves 2^-68

// e < kAboveE / kUnit, the last digit rounded up.
const Integer kUnit("100000000000000000000000000000000000000000");
const Integer kAboveE("271828182845904523536028747135266249775725");

// A lower bound of T J lg(2N / (e T J)) in units of 2^-kScale.
Integer spread_below(const Integer& J, const Integer& N, const Integer& T) {
  const Integer above = lg_enclosure(2 * N * kUnit, kScale).low;
  const Integer below = lg_enclosure(kAboveE * T * J, kScale).high;
  return T * J * (above - below);
}

}  // namespace

bool exceeds(const Integer& a, const Integer& b, const Integer& c) {
  RUNG_REQUIRE(a >= 0 && b >= 1, "a={} b={}", a.str(), b.str());
  if (c < 0) return true;
  return !bits_suffice(c, Count::power(b, a));
}

bool spreads(const Integer& J, const Integer& N, const Integer& T, const Integer& D) {
  RUNG_REQUIRE(J >= 1 && N >= 1 && T >= 1 && D >= 0, "J={} N={} T={} D={}", J.str(), N.str(), T.str(),
               D.str());
  return spread_below(J, N, T) >= ((2 * T * D + 2) << kScale);
}

bool spreads_strictly(const Integer& J, const Integer& N, const Integer& T, const Integer& D) {
  RUNG_REQUIRE(J >= 1 && N >= 1 && T >= 1 && D >= 0, "J={} N={} T={} D={}", J.str(), N.str(), T.str(),
               D.str());
  return spread_below(J, N, T) > ((2 * T * D) << kScale);
}

double spread(double J, double N, double T) { return J * std::log2(2 * N / (std::numbers::e * T * J)); }

Integer ceil_ratio(const Integer& a, const Integer& b) { return (a + b - 1) / b; }

}  // namespace rung
