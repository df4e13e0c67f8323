// Binary logarithms of integers and factorials, enclosed: two integers that provably surround the real
// number, at any precision asked for. Everything in rung/theory that compares n lg n with a number of bits
// stands on this, so nothing here goes through floating point.
//
// Method. lg b = k + 2 artanh(z) / (2 artanh(1/3)) with b = 2^k (1+z)/(1-z), 0 <= z < 1/3, in fixed point
// with every truncation counted. lg n! by Stirling's series, whose error has the sign of the first omitted
// term and is at most as large (Whittaker & Watson 12.33); below 256 the factorial is multiplied out.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>

namespace rung {

using Integer = boost::multiprecision::cpp_int;

// A real number x with low <= x * 2^scale <= high. Units: whatever x has (bits, for a logarithm).
struct Enclosure {
  Integer low, high;
  unsigned scale = 0;

  double midpoint() const;
};

// ENSURES high - low <= 2: the logarithm is known to within 2 units of 2^-scale; both equal for a power of
// two. REQUIRES b >= 1.
Enclosure lg_enclosure(const Integer& b, unsigned scale);

// ENSURES high - low <= 2 while scale <= 512. REQUIRES n >= 0.
Enclosure lg_factorial_enclosure(const Integer& n, unsigned scale);

// The number of binary digits, 0 for 0. REQUIRES n >= 0.
unsigned bit_length(const Integer& n);

}  // namespace rung
