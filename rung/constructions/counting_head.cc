#include "rung/constructions/counting_head.h"

namespace rung {

Bits count_bits(ReluCircuit& circuit, const CountingGadget& gadget, const Number& output, int digits) {
  Bits bits(static_cast<std::size_t>(digits));
  for (std::size_t c = 1; c <= gadget.at_least.size(); ++c) {
    const Number reached = at_least(circuit, output, gadget.at_least[c - 1]);
    for (std::size_t d = 0; d < bits.size() && c % (std::size_t{1} << d) == 0; ++d)
      bits[d] = bits[d] + ((c >> d) % 2 == 1 ? 1 : -1) * reached;
  }
  for (auto& bit : bits) bit = bit.within(0, 1);
  return bits;
}

}  // namespace rung
