#include "rung/theory/seqcomp_proof.h"

#include "rung/base/require.h"

namespace rung {

Integer SeqcompSizes::arguments(int l) const {
  RUNG_REQUIRE(l >= 0 && l < L(), "l={} L={}", l, L());
  Integer N = m;
  for (int k = 0; k < l; ++k) N *= n[static_cast<std::size_t>(k)];
  return N;
}

Integer SeqcompSizes::prompt_length() const {
  Integer N = m, total = m;
  for (const auto& factor : n) {
    N *= factor;
    total += N;
  }
  return total + L() + 1;
}

}  // namespace rung
