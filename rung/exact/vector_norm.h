// Integer normalisation: RMS norm of a row and the unit length of keys.
//   root = isqrt(floor(4^e Σ x_i² / count) + epsilon),  y_i = round(x_i g_i 2^(f+e) / root), ties to even, 0 when root = 0
// count = the row's length for RMS norm, 1 for unit length (g = 1). e extra bits keep the root from being
// coarse; e = 0 is the plain formula.
#pragma once

#include <cmath>
#include <type_traits>

#include "rung/exact/arithmetic.h"

namespace rung {

struct NormRule {
  int fraction = 0;  // f
  int extra = 0;     // e
  Width width;
  double epsilon = 0;              // mode Q: added to the mean square, as trained models do
  std::int64_t whole_epsilon = 0;  // mode X: the same, times 4^e
  bool rounded = true;             // mode Q rounds to the run's format here
};

// Bits, sign included, of the largest number that normalise forms over rows of `size` numbers of `input_bits`
// bits.
inline int norm_bits(const NormRule& rule, int input_bits, int gain_bits, std::int64_t size) {
  const int squares = 2 * input_bits + ceil_lg(static_cast<std::uint64_t>(size)) + 2 * rule.extra;
  const int epsilon =
      rule.whole_epsilon > 0
          ? 1 + std::max(0, bit_length(static_cast<std::uint64_t>(rule.whole_epsilon)) + 1 - squares)
          : 0;
  return std::max(squares + epsilon, input_bits + gain_bits + rule.fraction + rule.extra + 1);
}
inline constexpr int kMostNormBits = 126;  // integer_sqrt and Int128

// gain may be null (all 1). x and y may be the same.
template <class A>
void normalise(const A& arithmetic, const typename A::Value* x, const typename A::Value* gain,
               std::int64_t size, std::int64_t count, const NormRule& rule, typename A::Value* y) {
  if constexpr (A::kExact) {
    Int128 squares = 0;
    for (std::int64_t i = 0; i < size; ++i) squares += static_cast<Int128>(x[i]) * x[i];
    const Int128 root = integer_sqrt((squares << (2 * rule.extra)) / count + rule.whole_epsilon);
    for (std::int64_t i = 0; i < size; ++i)
      y[i] = root == 0 ? 0
                       : saturate(divide_half_even((static_cast<Int128>(x[i]) * (gain ? gain[i] : 1))
                                                       << (rule.fraction + rule.extra),
                                                   root),
                                  rule.width.bits);
  } else {
    double squares = 0;
    for (std::int64_t i = 0; i < size; ++i) squares += x[i] * x[i];
    const double root = std::sqrt(squares / static_cast<double>(count) + rule.epsilon);
    for (std::int64_t i = 0; i < size; ++i) {
      if (root == 0) {
        y[i] = 0;
        continue;
      }
      const double value = x[i] * (gain ? gain[i] : 1.0) / root;
      y[i] = rule.rounded ? arithmetic.narrow(value, -rule.fraction, rule.width)
                          : arithmetic.unrounded(value, -rule.fraction, rule.width);
    }
  }
}

}  // namespace rung
