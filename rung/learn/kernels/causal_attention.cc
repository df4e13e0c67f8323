// On the host: one head of one sequence after another, its weights in cache.
#include "rung/learn/kernels/causal_attention.h"

#include <cmath>
#include <limits>

#include "rung/base/require.h"
#include "rung/learn/kernels/causal_weights.h"
#include "rung/learn/kernels/exponential.h"
#include "rung/learn/kernels/vector_clones.h"

namespace rung::kernels {
namespace {

// Row i of scores becomes e^(tau s - most), of which p is so many times; l comes back.
RUNG_KERNEL_CLONES void softmax_rows(float* weights, std::int64_t pitch, std::int64_t positions, float tau,
                                     float* factors, float* log_sums) {
  for (std::int64_t i = 0; i < positions; ++i) {
    float* row = weights + i * kPanel;
    const std::int64_t last = i / kPanel;
    // Later positions weigh nothing.
    float* end = row + last * pitch;
    for (std::int64_t c = 0; c < kPanel; ++c)
      end[c] = last * kPanel + c <= i ? end[c] : -std::numeric_limits<float>::infinity();
    float most[kPanel], sum[kPanel] = {};
    for (std::int64_t c = 0; c < kPanel; ++c) most[c] = end[c];
    for (std::int64_t p = 0; p < last; ++p)
#pragma omp simd
      for (std::int64_t c = 0; c < kPanel; ++c)
        most[c] = row[p * pitch + c] > most[c] ? row[p * pitch + c] : most[c];
    float largest = most[0];
#pragma omp simd reduction(max : largest)
    for (std::int64_t c = 0; c < kPanel; ++c) largest = most[c] > largest ? most[c] : largest;
    for (std::int64_t p = 0; p <= last; ++p)
#pragma omp simd
      for (std::int64_t c = 0; c < kPanel; ++c) {
        const float value = exponential(tau * (row[p * pitch + c] - largest));
        row[p * pitch + c] = value;
        sum[c] += value;
      }
    float total = 0.0f;
#pragma omp simd reduction(+ : total)
    for (std::int64_t c = 0; c < kPanel; ++c) total += sum[c];
    factors[i] = 1.0f / total;
    log_sums[i] = tau * largest + std::log(total);
  }
}

// One panel from its diagonal on: scores become p, slopes dy_i . v_j become tau s_ij.
RUNG_KERNEL_CLONES void softmax_slopes(float* weights, float* slopes, std::int64_t first,
                                       std::int64_t positions, float tau, const float* log_sums,
                                       const float* inner) {
  for (std::int64_t i = first; i < positions; ++i, weights += kPanel, slopes += kPanel) {
    const float log_sum = log_sums[i], mean = inner[i];
#pragma omp simd
    for (std::int64_t c = 0; c < kPanel; ++c) {
      const float p = exponential(tau * weights[c] - log_sum);
      weights[c] = p;
      slopes[c] = tau * p * (slopes[c] - mean);
    }
    for (std::int64_t c = i - first + 1; c < kPanel; ++c) weights[c] = slopes[c] = 0.0f;
  }
}

void require_shape(const CausalAttentionShape& shape) {
  RUNG_REQUIRE(causal_attention_fits_host(shape), "N={} T={} H={} d={}", shape.sequences, shape.positions,
               shape.heads, shape.size);
}

}  // namespace

bool causal_attention_fits_host(const CausalAttentionShape& shape) {
  return shape.element == Element::f32 && shape.sequences >= 0 && shape.heads >= 1 && shape.size >= 1 &&
         shape.positions >= 1 && shape.positions <= kMostCausalPositions && shape.tau > 0;
}

void causal_attention_forward(const CausalAttentionShape& shape, const CausalAttentionInputs& inputs,
                              const MutableSlice& y, float* log_sums) {
  require_shape(shape);
  const std::int64_t length = shape.positions, size = shape.size;
  CausalWeights weights(length, size);
  AlignedNumbers factors(length);
  for (std::int64_t n = 0; n < shape.sequences; ++n)
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const MutableHeadRows out = head_rows(y, n, h, size);
      weights.score(head_rows(inputs.q, n, h, size), head_rows(inputs.k, n, h, size), size);
      softmax_rows(weights.at(0, 0), weights.pitch(), length, shape.tau, factors.data(),
                   log_sums + (n * shape.heads + h) * length);
      weights.over_earlier(head_rows(inputs.v, n, h, size), size, out);
      scale_rows(out, length, size, factors.data());
    }
}

void causal_attention_backward(const CausalAttentionShape& shape, const CausalAttentionInputs& inputs,
                               const Slice& y, const float* log_sums, const Slice& dy,
                               const CausalAttentionGradients& gradients) {
  require_shape(shape);
  const std::int64_t length = shape.positions, size = shape.size;
  CausalWeights weights(length, size), slopes(length, size);
  AlignedNumbers inner(length);
  for (std::int64_t n = 0; n < shape.sequences; ++n)
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const HeadRows q = head_rows(inputs.q, n, h, size), k = head_rows(inputs.k, n, h, size),
                     v = head_rows(inputs.v, n, h, size), out = head_rows(y, n, h, size),
                     slope = head_rows(dy, n, h, size);
      inner_products(out, slope, length, size, inner.data());
      weights.score(q, k, size);
      slopes.score(slope, v, size);
      for (std::int64_t panel = 0; panel < panels_of(length); ++panel)
        softmax_slopes(weights.at(panel * kPanel, panel), slopes.at(panel * kPanel, panel), panel * kPanel,
                       length, shape.tau, log_sums + (n * shape.heads + h) * length, inner.data());
      weights.over_later(slope, size, head_rows(gradients.dv, n, h, size));
      slopes.over_later(q, size, head_rows(gradients.dk, n, h, size));
      slopes.over_earlier(k, size, head_rows(gradients.dq, n, h, size));
    }
}

}  // namespace rung::kernels
