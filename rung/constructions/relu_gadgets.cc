#include "rung/constructions/relu_gadgets.h"

#include <algorithm>

#include "rung/base/require.h"

namespace rung {
namespace {

void require_bit(const Number& b) {
  RUNG_REQUIRE(b.low() >= 0 && b.high() <= 1, "a bit in [{}, {}]", b.low(), b.high());
}

Number sum_of(const Bits& bits) {
  Number sum;
  for (const Number& bit : bits) {
    require_bit(bit);
    sum = sum + bit;
  }
  return sum;
}

// Gadgets prove more about their value than independent intervals can see.
Number bit(const Number& x) { return x.within(0, 1); }

}  // namespace

Bits slot_inputs(ReluCircuit& circuit, const Slot& slot, std::int64_t low, std::int64_t high) {
  Bits inputs;
  for (std::int64_t i = 0; i < slot.size; ++i) inputs.push_back(circuit.input(slot.at(i), low, high));
  return inputs;
}

Number at_least(ReluCircuit& circuit, const Number& x, std::int64_t k) {
  if (x.low() >= k) return 1;
  if (x.high() < k) return 0;
  return bit(circuit.relu(x - k + 1) - circuit.relu(x - k));
}

Number equals(ReluCircuit& circuit, const Number& x, std::int64_t k) {
  if (x.low() > k || x.high() < k) return 0;
  if (x.is_constant()) return 1;
  return bit(circuit.relu(x - k + 1) - 2 * circuit.relu(x - k) + circuit.relu(x - k - 1));
}

Number all_of(ReluCircuit& circuit, const Bits& bits) {
  if (bits.empty()) return 1;
  return circuit.relu(sum_of(bits) - (static_cast<std::int64_t>(bits.size()) - 1));
}

Number any_of(ReluCircuit& circuit, const Bits& bits) { return bit(1 - circuit.relu(1 - sum_of(bits))); }

Number differ(ReluCircuit& circuit, const Number& a, const Number& b) {
  require_bit(a);
  require_bit(b);
  if (b.is_constant()) return b.low() == 0 ? a : 1 - a;
  if (a.is_constant()) return a.low() == 0 ? b : 1 - b;
  return bit(circuit.relu(a - b) + circuit.relu(b - a));
}

Number same_bits(ReluCircuit& circuit, const Bits& a, const Bits& b) {
  RUNG_REQUIRE(a.size() == b.size(), "words of {} and {} bits", a.size(), b.size());
  Number differences;
  for (std::size_t d = 0; d < a.size(); ++d) differences = differences + differ(circuit, a[d], b[d]);
  return circuit.relu(1 - differences);
}

Number restored(ReluCircuit& circuit, const Number& y) {
  require_bit(y);
  if (y.is_constant()) return y;
  return bit(circuit.relu(3 * y - 1) - circuit.relu(3 * y - 2));
}

Number gated(ReluCircuit& circuit, const Number& flag, const Number& x) {
  require_bit(flag);
  if (flag.is_constant()) return flag.low() * x;
  Number value = circuit.relu(x - std::max<std::int64_t>(0, x.high()) * (1 - flag));
  if (x.low() < 0) value = value - circuit.relu(-x + x.low() * (1 - flag));
  return value.within(std::min<std::int64_t>(0, x.low()), std::max<std::int64_t>(0, x.high()));
}

Number chosen(ReluCircuit& circuit, const Number& flag, const Number& a, const Number& b) {
  const Number value = gated(circuit, flag, a) + gated(circuit, 1 - flag, b);
  return value.within(std::min(a.low(), b.low()), std::max(a.high(), b.high()));
}

Number clamped(ReluCircuit& circuit, const Number& x, std::int64_t high) {
  if (x.high() <= high) return x;
  const Number value = x - circuit.relu(x - high);
  return value.within(std::min(x.low(), high), high);
}

Number recombined(const Bits& bits) {
  Number sum;
  for (std::size_t d = 0; d < bits.size(); ++d) sum = sum + (std::int64_t{1} << d) * bits[d];
  return sum;
}

Bits decoded(ReluCircuit& circuit, const Number& x, int digits) {
  RUNG_REQUIRE(digits >= 0 && digits < 62 && x.low() >= 0 && x.high() < std::int64_t{1} << digits,
               "[{}, {}] in {} bits", x.low(), x.high(), digits);
  Bits bits(static_cast<std::size_t>(digits));
  Number rest = x;
  for (int d = digits - 1; d >= 0; --d) {
    const std::int64_t place = std::int64_t{1} << d;
    const Number b = d == 0 ? rest : at_least(circuit, rest, place);
    bits[static_cast<std::size_t>(d)] = b;
    if (d == 0) break;
    rest = (rest - place * b).within(0, place - 1);
  }
  return bits;
}

Bits decoded_wide(ReluCircuit& circuit, const Number& x, int digits) {
  RUNG_REQUIRE(digits >= 0 && digits < 24 && x.low() >= 0 && x.high() < std::int64_t{1} << digits,
               "[{}, {}] in {} bits", x.low(), x.high(), digits);
  // above[k] = [x >= k], made once for all bits.
  std::vector<Number> above;
  for (std::int64_t k = 0; k <= x.high(); ++k) above.push_back(at_least(circuit, x, k));
  Bits bits;
  for (int d = 0; d < digits; ++d) {
    Number b;
    std::int64_t sign = 1;
    for (std::int64_t k = std::int64_t{1} << d; k <= x.high(); k += std::int64_t{1} << d, sign = -sign)
      b = b + sign * above[static_cast<std::size_t>(k)];
    bits.push_back(bit(b));
  }
  return bits;
}

void overwrite(ReluCircuit& circuit, const Slot& slot, const Bits& numbers, std::int64_t low,
               std::int64_t high) {
  RUNG_REQUIRE(static_cast<std::int64_t>(numbers.size()) == slot.size, "{} numbers into {} coordinates of {}",
               numbers.size(), slot.size, slot.name);
  for (std::int64_t i = 0; i < slot.size; ++i)
    circuit.add(slot.at(i), numbers[static_cast<std::size_t>(i)] - circuit.input(slot.at(i), low, high));
}

void clear(ReluCircuit& circuit, const Slot& slot, std::int64_t low, std::int64_t high) {
  overwrite(circuit, slot, Bits(static_cast<std::size_t>(slot.size)), low, high);
}

}  // namespace rung
