// The two arithmetics in which a file is evaluated (docs/weights.md): integers that are rounded and saturated, and
// intervals of doubles that enclose what the weights of a real file answer ("Mode Q"). Every layer is written once, in
// operations that integer.h and interval.h both have; what differs beside them is here.
#pragma once

#include "check/integer.h"
#include "check/interval.h"
#include "check/model_header.h"
#include "check/safetensors.h"

namespace rung_check {

struct Table {
  std::int64_t low = 0;
  Row entries;

  Table() = default;
  Table(const Source& source, const std::string& name);
  std::int64_t clip(Int x) const;
  std::int64_t operator()(Int x) const { return entries[at(clip(x) - low)]; }
};

struct Integers {
  using Number = std::int64_t;  // a number that is stored
  using Sum = Int;              // of products, before it is rounded
  using Weight = std::int64_t;  // a number of the file
  using Function = Table;
  static constexpr bool kRounded = true;
  // In multiply-adds: one of them, and what a function and a product without a sum cost beside them.
  static constexpr std::uint64_t kWork = 1, kPerFunction = 0, kPerProduct = 0;
  static constexpr std::uint64_t kStored = 1;  // what a Number counts among those held
  static Number number(std::int64_t x) { return x; }
  static Number power(std::int64_t exponent) { return std::int64_t{1} << exponent; }
};

struct Intervals {
  using Number = Real;
  using Sum = Real;
  using Weight = double;
  using Function = RealFunction;
  static constexpr bool kRounded = false;
  static constexpr std::uint64_t kWork = kPerInterval, kPerFunction = 4, kPerProduct = 1;
  static constexpr std::uint64_t kStored = 2;
  static Number number(std::int64_t x);  // out of resources where it is not a double
  static Number power(std::int64_t exponent) { return std::ldexp(1.0, static_cast<int>(exponent)); }
};

template <class N>
using Number = typename N::Number;
template <class N>
using Sum = typename N::Sum;
template <class N>
using Numbers = std::vector<typename N::Number>;
template <class N>
using Sums = std::vector<typename N::Sum>;
template <class N>
using Weights = std::vector<typename N::Weight>;

// What a part of the network reads: tensors below a prefix, tables or the functions that stand for them.
template <class N>
struct Part : Source {
  const ModelHeader& header;

  Part under(const std::string& part) const { return {Source::under(part), header}; }
  std::int64_t width() const { return header.architecture.width; }
  Weights<N> numbers(const std::string& name, const Row& shape) const {
    if constexpr (N::kRounded)
      return Source::numbers(name, shape);
    else
      return file.reals(prefix + name, shape, budget);
  }
  // The table of an integer file; of a real one the function that it names, or `otherwise`.
  typename N::Function function(const std::string& name, const std::string& otherwise) const {
    if constexpr (N::kRounded) {
      return Table(*this, name);
    } else {
      const auto found = header.functions.find(prefix + name);
      return found == header.functions.end() ? RealFunction{otherwise} : found->second;
    }
  }
  bool has_function(const std::string& name) const {
    return N::kRounded ? has(name + ".table") : header.functions.contains(prefix + name);
  }
  // A state entry.
  Number<N> settle(const Sum<N>& x) const {
    if constexpr (N::kRounded)
      return header.accumulator == "wrap" ? wrap(x, header.architecture.accumulator_bits)
                                          : sat(x, header.architecture.accumulator_bits);
    else
      return x;
  }
  // Charged before it is done.
  void work(std::uint64_t multiply_adds) const { budget.work(N::kWork * multiply_adds); }
  void store(std::uint64_t numbers) const { budget.store(N::kStored * numbers); }
};

// Brings a row to a length: x · gain · 2^fraction / √(Σ x² / count + epsilon), 0 where the root is. Of integers the root
// is isqrt(floor(4^extra · Σ x² / count) + epsilon). An empty gain is 1.
template <class N>
struct Length;
template <>
struct Length<Integers> {
  std::int64_t fraction = 0, extra = 0, bits = 0, epsilon = 0;
  Row operator()(const Row& x, std::int64_t count, const Row& gain = {}) const;
};
template <>
struct Length<Intervals> {
  std::int64_t fraction = 0, bits = 0;
  double epsilon = 0;
  Reals operator()(const Reals& x, std::int64_t count, const std::vector<double>& gain = {}) const;
};
// Of a released layer: a real file has the epsilon alone, under the name `shared` where several norms share it.
Length<Integers> read_length(const Part<Integers>& part, const std::string& name,
                             const std::string& shared = "");
Length<Intervals> read_length(const Part<Intervals>& part, const std::string& name,
                              const std::string& shared = "");
// name.epsilon of a real file, 0 where it has none. Malformed: a negative one.
double real_epsilon(const Part<Intervals>& part, const std::string& name);

// The differences from the mean; of integers, times their number.
Row centred(Row x);
Reals centred(Reals x);
// By length, and with a bias as a layer norm: centred first, the bias added.
template <class N>
Numbers<N> normed(const Numbers<N>& x, const Length<N>& length, const Weights<N>& gain,
                  const Weights<N>& bias) {
  const auto count = static_cast<std::int64_t>(x.size());
  if (bias.empty()) return length(x, count, gain);
  Numbers<N> y = length(centred(x), count, gain);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = sat(add(y[i], bias[i]), length.bits);
  return y;
}

// Within 0 and 2^fraction.
inline std::int64_t share(std::int64_t x, std::int64_t fraction) {
  return std::clamp<std::int64_t>(x, 0, std::int64_t{1} << fraction);
}
inline Real share(const Real& x, std::int64_t fraction) {
  return clipped(x, 0, std::ldexp(1.0, static_cast<int>(fraction)));
}

// The indices of the k largest, ties to the smaller index, increasing. Of intervals: rejected where they do not say
// which they are; every one in is above every one out, or both are the same number and the smaller index is in.
Row largest(const std::vector<Int>& values, std::int64_t k, Budget& budget);
Row largest(const Reals& values, std::int64_t k, Budget& budget);

}  // namespace rung_check
