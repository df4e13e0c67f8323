#include "rung/constructions/counting_head.h"

#include <bit>
#include <cmath>

namespace rung {
namespace {

// Weights that make a leak over `keys` tokens smaller than a quarter of the gap 1/(most+1)² between counts.
int counting_fraction(std::int64_t most, std::int64_t keys) {
  return weight_fraction(keys, 2 * static_cast<int>(std::bit_width(static_cast<std::uint64_t>(most))) + 2);
}

}  // namespace

CountingGadget counting_gadget(std::int64_t most, std::int64_t keys, int precision) {
  RUNG_REQUIRE(most >= 1 && keys >= 1 && precision >= 2 && precision <= 48, "most={} keys={} p={}", most,
               keys, precision);
  CountingGadget gadget;
  const int fraction = counting_fraction(most, keys);
  const std::int64_t widest = std::int64_t{1} << (precision - 1);
  gadget.saturation = std::min(widest, static_cast<std::int64_t>(std::ceil(fraction * std::log(2.0))));
  gadget.beta = static_cast<int>((gadget.saturation + 1) / 2);
  gadget.scores = score_table(gadget.saturation, 1, fraction);
  gadget.scale = widest - 1;
  gadget.leak = static_cast<double>(keys) * static_cast<double>(gadget.scores.at(-gadget.saturation)) /
                static_cast<double>(gadget.scores.at(0));
  gadget.holds = true;
  const auto V = static_cast<double>(gadget.scale);
  for (std::int64_t count = 1; count <= most; ++count) {
    const auto c = static_cast<double>(count);
    const std::int64_t lowest =
        static_cast<std::int64_t>(std::floor(V * c / (c + 1 + gadget.leak) + 0.5 - 1e-9));
    const std::int64_t highest_below =
        static_cast<std::int64_t>(std::floor(V * (c - 1 + gadget.leak) / (c + gadget.leak) + 0.5 + 1e-9));
    gadget.at_least.push_back((lowest + highest_below + 1) / 2);
    gadget.holds = gadget.holds && lowest > highest_below;
  }
  return gadget;
}

std::optional<int> counting_precision_proved(std::int64_t most, std::int64_t keys) {
  for (int p = 2; p <= 48; ++p)
    if (counting_gadget(most, keys, p).holds) return p;
  return std::nullopt;
}

Bits count_bits(ReluCircuit& circuit, const CountingGadget& gadget, const Number& output, int digits) {
  Bits bits(static_cast<std::size_t>(digits));
  for (std::size_t c = 1; c <= gadget.at_least.size(); ++c) {
    const Number reached = at_least(circuit, output, gadget.at_least[c - 1]);
    for (std::size_t d = 0; d < bits.size() && c % (std::size_t{1} << d) == 0; ++d)
      bits[d] = bits[d] + ((c >> d) % 2 == 1 ? 1 : -1) * reached;
  }
  for (auto& bit : bits)
    if (bit.low() <= 0 && bit.high() >= 1)
      bit = bit.within(0, 1);  // a constant is none where the thresholds are out of reach
  return bits;
}

}  // namespace rung
