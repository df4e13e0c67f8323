// Counting quantities, and the one question asked about them: do s bits suffice to tell that many things
// apart?
//
//   Count functions = Count::power(143, 143);     // the functions of Eva at n = 143
//   bits_suffice(1024, functions)                 // true: 143^143 <= 2^1024, decided exactly
//   functions.lg()                                // 1023.866..., for printing only
//
// Decisions never rest on a floating-point logarithm, save where the two sides are visibly far apart. A Count
// is enclosed between two integers (logarithm.h) whose precision doubles until the answer is clear; where it
// could be a tie (a power of two; a sum of binomials) the case is closed by arithmetic instead. Numbers of
// 10^9 tokens and 10^12 bits answer in well under a millisecond.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "rung/theory/logarithm.h"

namespace rung {

// A positive integer, given by a formula and perhaps far too large to write down.
class Count {
 public:
  // base^exponent. REQUIRES base >= 1, exponent >= 0.
  static Count power(Integer base, Integer exponent);
  // C(M, j). REQUIRES 0 <= j <= M.
  static Count binomial(Integer M, Integer j);
  // The nonempty subsets with at most n of M elements: sum of C(M, j) over 1 <= j <= n. REQUIRES M >= 1, n >=
  // 1.
  static Count subsets(Integer M, Integer n);
  // The same with the empty set. REQUIRES M >= 0, n >= 0.
  static Count subsets_or_empty(Integer M, Integer n);

  // For printing: correct to a relative error of 1e-15, never used for a decision.
  double lg() const;
  // The value itself where it has at most `digits` binary digits.
  std::optional<Integer> value(unsigned digits = 1 << 14) const;
  std::string formula() const;  // "143^143", "C(64,8)", "sum of C(256,1..16)"

  friend bool bits_suffice(const Integer& bits, const Count& count);
  friend Integer bits_needed(const Count& count);

 private:
  enum class Form { power, binomial, subsets, subsets_or_empty };
  Count(Form form, Integer a, Integer b);
  Enclosure enclosure(unsigned scale, std::int64_t terms) const;
  bool small(unsigned digits) const;
  Integer multiplied_out() const;
  std::optional<bool> closed_form(const Integer& bits) const;
  std::optional<bool> first_look(const Integer& bits) const;

  Form form_;
  Integer a_, b_;
};

// 2^bits >= count. Exact. A negative number of bits never suffices.
bool bits_suffice(const Integer& bits, const Count& count);

// The least s with 2^s >= count: ⌈lg count⌉. Exact.
Integer bits_needed(const Count& count);

}  // namespace rung
