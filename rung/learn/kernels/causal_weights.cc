#include "rung/learn/kernels/causal_weights.h"

#include "rung/learn/kernels/vector_clones.h"

namespace rung::kernels {

RUNG_KERNEL_CLONES void inner_products(const HeadRows& a, const HeadRows& b, std::int64_t positions,
                                       std::int64_t size, float* to) {
  const float *x = a.data, *y = b.data;
  for (std::int64_t i = 0; i < positions; ++i, x += a.stride, y += b.stride) {
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t c = 0; c < size; ++c) sum += x[c] * y[c];
    to[i] = sum;
  }
}

RUNG_KERNEL_CLONES void scale_rows(const MutableHeadRows& rows, std::int64_t positions, std::int64_t size,
                                   const float* factors) {
  float* y = rows.data;
  for (std::int64_t i = 0; i < positions; ++i, y += rows.stride) {
    const float factor = factors[i];
    for (std::int64_t c = 0; c < size; ++c) y[c] *= factor;
  }
}

void CausalWeights::score(const HeadRows& a, const HeadRows& b, std::int64_t size) {
  transposed_into_panels(b.data, b.stride, size, positions_, factor_.data());
  for (std::int64_t panel = 0; panel < panels_; ++panel) {
    const std::int64_t from = panel * kPanel;
    multiply({positions_ - from, kPanel, size}, by_rows(a.data + from * a.stride, a.stride),
             of_panels(factor_.data() + panel * size * kPanel, size), {at(from, panel), kPanel, 0});
  }
}

void CausalWeights::over_earlier(const HeadRows& r, std::int64_t size, const MutableHeadRows& y) {
  into_panels(r.data, r.stride, positions_, size, factor_.data());
  for (std::int64_t from = 0; from < positions_; from += kPanel) {
    const std::int64_t rows = std::min(kPanel, positions_ - from);
    multiply({rows, size, from + rows}, {at(from, 0), kPanel, 1, pitch_},
             of_panels(factor_.data(), positions_), in_rows(y.data + from * y.stride, y.stride));
  }
}

void CausalWeights::over_later(const HeadRows& r, std::int64_t size, const MutableHeadRows& y) {
  into_panels(r.data, r.stride, positions_, size, factor_.data());
  for (std::int64_t panel = 0; panel < panels_; ++panel) {
    const std::int64_t from = panel * kPanel;
    multiply({std::min(kPanel, positions_ - from), size, positions_ - from},
             by_panel_columns(at(from, panel)), {factor_.data() + from * kPanel, positions_ * kPanel},
             in_rows(y.data + from * y.stride, y.stride));
  }
}

}  // namespace rung::kernels
