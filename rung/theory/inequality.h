// The two inequalities on which every size of the pattern theorem rests, certified: "true" is a proof, on
// integers and enclosed logarithms (logarithm.h); no floating-point logarithm decides anything.
//
//   exceeds(a, b, c)        a lg b > c, that is b^a > 2^c: a pigeonhole. Exact, ties included.
//   spreads(J, N, T, D)     J lg(2N / (e T J)) >= 2D + 2/T: T random functions on [N] send J arguments to at least
//                           T J / 2 distinct values with probability above 1 - 2^(-T D - 1) (binomial tail, C(N,k) (k/N)^2k
//                           <= (e k / N)^k at k = T J / 2). Never true when false; e is irrational, so it is false only
//                           within 1e-20 of a tie.
#pragma once

#include "rung/theory/logarithm.h"

namespace rung {

// REQUIRES a >= 0, b >= 1.
bool exceeds(const Integer& a, const Integer& b, const Integer& c);

// REQUIRES J, N, T >= 1, D >= 0.
bool spreads(const Integer& J, const Integer& N, const Integer& T, const Integer& D);
// The same without the union bound's 2/T: J lg(2N / (e T J)) > 2D.
bool spreads_strictly(const Integer& J, const Integer& N, const Integer& T, const Integer& D);

// For printing and for steering a search, never for a verdict: the left side J lg(2N / (e T J)); negative
// when T J is too large.
double spread(double J, double N, double T);

// a / b rounded up. REQUIRES a >= 0, b >= 1.
Integer ceil_ratio(const Integer& a, const Integer& b);

}  // namespace rung
