// The two ways to compute with the same weights. A mixer is written once, against an Arithmetic:
//
//   ExactArithmetic<Wide>  mode X: stored numbers are int64, product-sums are Wide, every rounding is an integer rule
//   RealArithmetic         mode Q: the same integers read as reals, a shift is a power of two, rounding to a storage
//                          format at the points R1..R6 (embeddings; q, k, v; scores; none in the softmax; attention
//                          output; MLP output)
//
// Wide is int64 where a range analysis at load time shows that no sum can leave 62 bits, else Int128. The
// results are equal (a test compares them); only the speed differs.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "rung/exact/integer.h"
#include "rung/exact/number_format.h"
#include "rung/exact/value_observer.h"
#include "rung/spec/weights.h"

namespace rung {

// A declared width. `own` marks one that the file states for this very tensor: mode Q then keeps it, where
// otherwise the precision of the run decides.
struct Width {
  int bits = 16;
  bool own = false;
  int site = -1;  // by which a ValueObserver knows what is stored here (mode Q)
};

// A non-linearity as a table over integers low .. low + values.size() - 1; arguments outside are clipped.
struct Table {
  std::int64_t low = 0;
  std::vector<std::int64_t> values;
  std::optional<TableFunction> function;

  std::int64_t at(Int128 x) const {
    const Int128 index = x - low;
    if (index <= 0) return values.front();
    if (index >= static_cast<Int128>(values.size())) return values.back();
    return values[static_cast<std::size_t>(index)];
  }
  // The nearest entry of a real argument; NaN has the first.
  std::int64_t at_real(double x) const {
    if (!(x > static_cast<double>(low))) return values.front();
    if (x >= static_cast<double>(low) + static_cast<double>(values.size()) - 1) return values.back();
    return at(static_cast<Int128>(std::nearbyint(x)));
  }
  // Bits of the largest entry, sign included.
  int bits() const {
    std::uint64_t largest = 1;
    for (const auto value : values)
      largest = std::max(largest,
                         value < 0 ? -static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value));
    return bit_length(largest) + 1;
  }
};

// The real functions that tables may stand for. REQUIRES a known name (known_function).
double apply_function(const std::string& name, double x);
bool known_function(const std::string& name);
// round(2^out f(x / 2^in)) for x in [low, high], ties to even.
Table make_table(const std::string& function, std::int64_t low, std::int64_t high, int in_fraction,
                 int out_fraction);

template <class W>
struct ExactArithmetic {
  using Value = std::int64_t;
  using Wide = W;
  static constexpr bool kExact = true;

  Accumulator accumulator = Accumulator::exact;
  int accumulator_bits = 16;

  Value narrow(Wide x, int shift, Width width) const {
    return saturate(shift_half_even(x, shift), width.bits);
  }
  Wide rescale(Wide x, int shift) const { return shift_half_even(x, shift); }
  Value unrounded(Wide x, int shift, Width width) const { return narrow(x, shift, width); }
  Wide table(const Table& t, Wide x) const { return t.at(x); }
  Value quotient(Wide num, Wide den, std::int64_t scale, Width width) const {
    return saturate(rounded_quotient<Int128>(num, den, scale), width.bits);
  }
  // Linear attention's state: s + delta in the declared accumulator.
  Value add_linear(Value s, Wide delta, int update_shift) const {
    switch (accumulator) {
      case Accumulator::exact:
        return static_cast<Value>(s + delta);
      case Accumulator::wrap:
        return wrap(s + delta, accumulator_bits);
      case Accumulator::round:
        return saturate(s + shift_half_even(delta, update_shift), accumulator_bits);
    }
    return 0;
  }
  // A gated recurrence's state after an update.
  Value settle(Wide s) const {
    return accumulator == Accumulator::wrap ? wrap(s, accumulator_bits) : saturate(s, accumulator_bits);
  }
  static Value relu(Value x) { return x > 0 ? x : 0; }
  static void watch(int, Wide) {}
};

struct RealArithmetic {
  using Value = double;
  using Wide = double;
  static constexpr bool kExact = false;

  Accumulator accumulator = Accumulator::exact;
  int accumulator_bits = 16;
  std::optional<Precision> precision;  // nullopt: no rounding at all (double)
  ValueObserver* observer = nullptr;   // told every number before it is rounded

  void watch(int site, Wide x) const {
    if (observer && site >= 0) observer->see(site, x);
  }

  Value round(Wide x, Width width) const {
    watch(width.site, x);
    if (!precision) return x;
    Precision format = *precision;
    if (width.own && format.format == NumberFormat::fixed) format.bits = width.bits;
    return round_to_format(x, format);
  }
  Value narrow(Wide x, int shift, Width width) const { return round(std::ldexp(x, -shift), width); }
  Wide rescale(Wide x, int shift) const { return std::ldexp(x, -shift); }
  Value unrounded(Wide x, int shift, Width width) const {
    const Value value = std::ldexp(x, -shift);
    watch(width.site, value);
    return value;
  }
  Wide table(const Table& t, Wide x) const {
    if (!t.function) return static_cast<double>(t.at_real(x));
    if (t.values.size() > 1)  // the table's clipping is part of the model
      x = std::clamp(x, static_cast<double>(t.low),
                     static_cast<double>(t.low) + static_cast<double>(t.values.size()) - 1);
    return std::ldexp(apply_function(t.function->function, std::ldexp(x, -t.function->in_fraction)),
                      t.function->out_fraction);
  }
  Value quotient(Wide num, Wide den, std::int64_t scale, Width width) const {
    return den == 0 ? 0.0 : round(static_cast<double>(scale) * num / den, width);
  }
  Value add_linear(Value s, Wide delta, int update_shift) const {
    if (accumulator != Accumulator::round) return s + delta;
    return round(s + std::ldexp(delta, -update_shift), Width{accumulator_bits, false});
  }
  Value settle(Wide s) const {
    return accumulator == Accumulator::round ? round(s, Width{accumulator_bits, false}) : s;
  }
  static Value relu(Value x) { return x > 0 ? x : 0; }
};

using Exact64 = ExactArithmetic<std::int64_t>;
using Exact128 = ExactArithmetic<Int128>;

}  // namespace rung
