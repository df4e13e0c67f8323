#include "check/arithmetic.h"

namespace rung_check {
namespace {

constexpr std::int64_t kLargestTable = std::int64_t{1} << 24;
constexpr std::int64_t kTableLow = std::int64_t{1} << 47;

}  // namespace

Table::Table(const Source& source, const std::string& name)
    : low(source.scalar(name + ".low", 0, -kTableLow, kTableLow)) {
  const Tensor& tensor = source.file.take(source.prefix + name + ".table");
  if (tensor.shape.size() != 1 || tensor.shape[0] < 1 || tensor.shape[0] > kLargestTable)
    throw Malformed(text("the table ", source.prefix, name, " has no 1 to 2^24 entries"));
  entries = source.numbers(name + ".table", tensor.shape);
}
std::int64_t Table::clip(Int x) const {
  return static_cast<std::int64_t>(
      std::clamp<Int>(x, low, low + static_cast<std::int64_t>(entries.size()) - 1));
}

Real RealFunction::operator()(const Real& whole) const {
  const Real x = scaled(whole, -in);
  const auto value = [&]() -> Real {
    if (word == "identity") return x;
    if (word == "relu") return positive_part(x);
    if (word == "sigmoid") return sigmoid(x);
    if (word == "decay") return sigmoid(-x);
    if (word == "softplus") return softplus(x);
    if (word == "tanh") return hyperbolic_tangent(x);
    if (word == "silu") return x * sigmoid(x);
    if (word == "gelu") return Real(0.5) * x * (Real(1) + error_function(x * square_root(Real(0.5))));
    if (word == "elu1")
      return increasing(x, [](double v) { return v > 0 ? Real(v) + Real(1) : exponential(Real(v)); });
    if (word == "exp") return exponential(x);
    throw Malformed(text("the function ", word.substr(0, 40), " is not known"));
  }();
  return scaled(value, out);
}

Real Intervals::number(std::int64_t x) {
  if (std::abs(x) > std::int64_t{1} << 53) throw OutOfResources("a number of the prompt is not a double");
  return static_cast<double>(x);
}

Row Length<Integers>::operator()(const Row& x, std::int64_t count, const Row& gain) const {
  Int squares = 0;
  for (const auto value : x) squares = add(squares, mul(value, value));
  const Int root = isqrt(add(mul(squares, Int{1} << (2 * extra)) / count, epsilon));
  Row y(x.size(), 0);
  if (root == 0) return y;
  for (std::size_t i = 0; i < x.size(); ++i)
    y[i] =
        sat(round_div(mul(mul(x[i], gain.empty() ? 1 : gain[i]), Int{1} << (fraction + extra)), root), bits);
  return y;
}
Reals Length<Intervals>::operator()(const Reals& x, std::int64_t count,
                                    const std::vector<double>& gain) const {
  Real squares;
  for (const auto& value : x) squares += square(value);
  const Real root = square_root(squares / Real(static_cast<double>(count)) + Real(epsilon));
  Reals y(x.size());
  if (root.is(0)) return y;
  for (std::size_t i = 0; i < x.size(); ++i)
    y[i] = scaled(x[i] * Real(gain.empty() ? 1 : gain[i]), fraction) / root;
  return y;
}

Length<Integers> read_length(const Part<Integers>& part, const std::string& name, const std::string&) {
  return {part.fraction(name + ".fraction", 24), part.fraction(name + ".extra", 24), part.bits(name),
          part.scalar(name + ".epsilon", 0, 0, std::int64_t{1} << 46)};
}
Length<Intervals> read_length(const Part<Intervals>& part, const std::string& name,
                              const std::string& shared) {
  return {0, part.bits(name), real_epsilon(part, shared.empty() ? name : shared)};
}
double real_epsilon(const Part<Intervals>& part, const std::string& name) {
  if (!part.has(name + ".epsilon")) return 0;
  const double epsilon = part.numbers(name + ".epsilon", {}).front();
  if (!(epsilon >= 0)) throw Malformed(text(part.prefix, name, ".epsilon is negative"));
  return epsilon;
}

Row centred(Row x) {
  Int sum = 0;
  for (const auto number : x) sum += number;
  for (auto& number : x) number = kept(product(static_cast<std::int64_t>(x.size()), number) - sum);
  return x;
}
Reals centred(Reals x) {
  Real mean;
  for (const auto& number : x) mean += number;
  mean = mean / Real(static_cast<double>(x.size()));
  for (auto& number : x) number = number - mean;
  return x;
}

Row largest(const std::vector<Int>& values, std::int64_t k, Budget& budget) {
  budget.sorting(values.size());
  Row order = from_to(0, static_cast<std::int64_t>(values.size()));
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return values[at(a)] > values[at(b)]; });
  if (static_cast<std::int64_t>(order.size()) > k) order.resize(at(k));
  std::sort(order.begin(), order.end());
  return order;
}
Row largest(const Reals& values, std::int64_t k, Budget& budget) {
  budget.sorting(values.size());
  const auto unsure = [] {
    throw Rejected("too close to call: which positions are selected depends on rounding");
  };
  for (const auto& value : values)
    if (std::isnan(value.low) || std::isnan(value.high)) unsure();
  Row order = from_to(0, static_cast<std::int64_t>(values.size()));
  if (static_cast<std::int64_t>(order.size()) <= k) return order;
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return values[at(a)].low > values[at(b)].low; });
  const auto out = order.begin() + k;
  double least = kInfinity, most = -kInfinity;  // the lowest bound of those in, the highest of those out
  for (auto i = order.begin(); i != out; ++i) least = std::min(least, values[at(*i)].low);
  for (auto j = out; j != order.end(); ++j) most = std::max(most, values[at(*j)].high);
  if (least < most) unsure();
  if (least == most) {
    if (!std::isfinite(least)) unsure();
    // Those that meet there must be this very number, and stand in order.
    std::int64_t last_in = -1, first_out = static_cast<std::int64_t>(values.size());
    for (auto i = order.begin(); i != out; ++i) {
      if (values[at(*i)].low != least) continue;
      if (values[at(*i)].high != least) unsure();
      last_in = std::max(last_in, *i);
    }
    for (auto j = out; j != order.end(); ++j) {
      if (values[at(*j)].high != most) continue;
      if (values[at(*j)].low != most) unsure();
      first_out = std::min(first_out, *j);
    }
    if (last_in > first_out) unsure();
  }
  order.resize(at(k));
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace rung_check
