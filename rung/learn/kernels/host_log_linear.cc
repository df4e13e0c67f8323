#include "rung/learn/kernels/host_log_linear.h"

#include <bit>
#include <vector>

#include "rung/base/require.h"
#include "rung/learn/kernels/causal_weights.h"
#include "rung/learn/kernels/exponential.h"
#include "rung/learn/kernels/vector_clones.h"

namespace rung::kernels {
namespace {

// One head's shares and decays; its dshare in the backward pass.
struct HeadFactors {
  const float* share = nullptr;  // of position i: share + i * stride
  std::int64_t stride = 0;
  float* dshare = nullptr;
  const float* prefix = nullptr;  // A, zeros beyond the positions up to a whole panel
};

// log_linear_level, in one instruction.
RUNG_KERNEL_INLINE std::int64_t level_of(std::int64_t i, std::int64_t j) {
  return std::bit_width(static_cast<std::uint64_t>(i ^ j));
}
// The level of the pairs of two different blocks of sixteen positions: within them the digits of i xor j end alike.
RUNG_KERNEL_INLINE std::int64_t block_level(std::int64_t i, std::int64_t panel) {
  constexpr int kPanelDigits = 4;
  static_assert(kPanel == 1 << kPanelDigits);
  return kPanelDigits + level_of(i / kPanel, panel);
}

// A row of a panel: the factors of its sixteen pairs without their share, 0 above the diagonal.
template <bool Decays>
RUNG_KERNEL_INLINE void decay_factors(const HeadFactors& head, std::int64_t i, std::int64_t first,
                                      float (&factor)[kPanel]) {
  if (Decays) {
    const float here = head.prefix[i];
    const float* there = head.prefix + first;
#pragma omp simd
    for (std::int64_t c = 0; c < kPanel; ++c) factor[c] = exponential(here - there[c]);
  } else {
    for (std::int64_t c = 0; c < kPanel; ++c) factor[c] = 1.0f;
  }
  for (std::int64_t c = i - first + 1; c < kPanel; ++c) factor[c] = 0.0f;
}

// One panel from its diagonal on: scores become weights.
template <bool Decays>
RUNG_KERNEL_INLINE void weigh(const HeadFactors& head, std::int64_t first, std::int64_t positions,
                              float* weights) {
  for (std::int64_t i = first; i < positions; ++i, weights += kPanel) {
    alignas(64) float factor[kPanel];
    decay_factors<Decays>(head, i, first, factor);
    const float* share = head.share + i * head.stride;
    const bool diagonal = i < first + kPanel;
    const float all = diagonal ? 1.0f : share[block_level(i, first / kPanel)];
    if (diagonal)
      for (std::int64_t j = first; j <= i; ++j) factor[j - first] *= share[level_of(i, j)];
    for (std::int64_t c = 0; c < kPanel; ++c) weights[c] *= factor[c] * all;
  }
}

// The same of scores and slopes: both are weighted, and the shares' gradients added up. What stands above the diagonal
// becomes 0.
template <bool Decays>
RUNG_KERNEL_INLINE void weigh_both(const HeadFactors& head, std::int64_t first, std::int64_t positions,
                                   float* weights, float* slopes) {
  for (std::int64_t i = first; i < positions; ++i, weights += kPanel, slopes += kPanel) {
    alignas(64) float factor[kPanel];
    decay_factors<Decays>(head, i, first, factor);
    const float* share = head.share + i * head.stride;
    float* dshare = head.dshare + i * head.stride;
    if (!Decays && i >= first + kPanel) {
      const std::int64_t level = block_level(i, first / kPanel);
      const float all = share[level];
      float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t c = 0; c < kPanel; ++c) {
        sum += weights[c] * slopes[c];
        weights[c] *= all;
        slopes[c] *= all;
      }
      dshare[level] += sum;
      continue;
    }
    if (i < first + kPanel) {
      for (std::int64_t j = first; j <= i; ++j) {
        const std::int64_t c = j - first, level = level_of(i, j);
        dshare[level] += factor[c] * weights[c] * slopes[c];
        factor[c] *= share[level];
      }
    } else {
      const std::int64_t level = block_level(i, first / kPanel);
      const float all = share[level];
      float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t c = 0; c < kPanel; ++c) sum += factor[c] * weights[c] * slopes[c];
      dshare[level] += sum;
      for (std::int64_t c = 0; c < kPanel; ++c) factor[c] *= all;
    }
    for (std::int64_t c = 0; c < kPanel; ++c) {
      weights[c] *= factor[c];
      slopes[c] *= factor[c];
    }
  }
}

RUNG_KERNEL_CLONES void weigh_panel(const HeadFactors& head, std::int64_t first, std::int64_t positions,
                                    float* weights) {
  if (head.prefix)
    weigh<true>(head, first, positions, weights);
  else
    weigh<false>(head, first, positions, weights);
}
RUNG_KERNEL_CLONES void weigh_panels(const HeadFactors& head, std::int64_t first, std::int64_t positions,
                                     float* weights, float* slopes) {
  if (head.prefix)
    weigh_both<true>(head, first, positions, weights, slopes);
  else
    weigh_both<false>(head, first, positions, weights, slopes);
}

struct Scratch {
  std::vector<float> prefix;
  explicit Scratch(std::int64_t positions)
      : prefix(static_cast<std::size_t>(panels_of(positions) * kPanel)) {}

  HeadFactors of(const LogLinearShape& shape, const LogLinearInputs& inputs, std::int64_t n, std::int64_t h,
                 float* dshare) {
    HeadFactors head;
    const std::int64_t at = (n * shape.positions * shape.heads + h) * shape.levels;
    head.share = inputs.share + at;
    head.stride = shape.heads * shape.levels;
    if (dshare) head.dshare = dshare + at;
    if (inputs.log_decay) {
      double sum = 0.0;
      for (std::int64_t t = 0; t < shape.positions; ++t) {
        sum += inputs.log_decay[(n * shape.positions + t) * shape.heads + h];
        prefix[static_cast<std::size_t>(t)] = static_cast<float>(sum);
      }
      head.prefix = prefix.data();
    }
    return head;
  }
};

void require_shape(const LogLinearShape& shape, const LogLinearInputs& inputs) {
  RUNG_REQUIRE(log_linear_fits_host(shape), "N={} T={} H={} dk={} dv={} levels={}", shape.sequences,
               shape.positions, shape.heads, shape.key_size, shape.value_size, shape.levels);
  RUNG_REQUIRE(inputs.share != nullptr, "no shares");
}

}  // namespace

bool log_linear_fits_host(const LogLinearShape& shape) {
  return shape.element == Element::f32 && shape.sequences >= 0 && shape.heads >= 1 && shape.key_size >= 1 &&
         shape.value_size >= 1 && shape.positions >= 1 && shape.positions <= kMostCausalPositions &&
         shape.levels >= log_linear_levels(shape.positions);
}

void log_linear_forward(const LogLinearShape& shape, const LogLinearInputs& inputs, const MutableSlice& y) {
  require_shape(shape, inputs);
  const std::int64_t length = shape.positions, keys = shape.key_size, values = shape.value_size;
  CausalWeights weights(length, std::max(keys, values));
  Scratch scratch(length);
  for (std::int64_t n = 0; n < shape.sequences; ++n)
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const HeadFactors head = scratch.of(shape, inputs, n, h, nullptr);
      weights.score(head_rows(inputs.q, n, h, keys), head_rows(inputs.k, n, h, keys), keys);
      for (std::int64_t first = 0; first < length; first += kPanel)
        weigh_panel(head, first, length, weights.at(first, first / kPanel));
      weights.over_earlier(head_rows(inputs.v, n, h, values), values, head_rows(y, n, h, values));
    }
}

void log_linear_backward(const LogLinearShape& shape, const LogLinearInputs& inputs, const Slice& dy,
                         const LogLinearGradients& gradients) {
  require_shape(shape, inputs);
  const std::int64_t length = shape.positions, keys = shape.key_size, values = shape.value_size;
  RUNG_REQUIRE(gradients.dshare && (!inputs.log_decay || gradients.dlog_decay),
               "a factor without a place for its gradient");
  CausalWeights weights(length, std::max(keys, values)), slopes(length, std::max(keys, values));
  AlignedNumbers inner(length), other(length);
  Scratch scratch(length);
  std::fill_n(gradients.dshare, shape.sequences * length * shape.heads * shape.levels, 0.0f);
  for (std::int64_t n = 0; n < shape.sequences; ++n)
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const HeadFactors head = scratch.of(shape, inputs, n, h, gradients.dshare);
      const HeadRows q = head_rows(inputs.q, n, h, keys), k = head_rows(inputs.k, n, h, keys),
                     v = head_rows(inputs.v, n, h, values), slope = head_rows(dy, n, h, values);
      weights.score(q, k, keys);
      slopes.score(slope, v, values);
      for (std::int64_t first = 0; first < length; first += kPanel)
        weigh_panels(head, first, length, weights.at(first, first / kPanel),
                     slopes.at(first, first / kPanel));
      const MutableHeadRows dq = head_rows(gradients.dq, n, h, keys),
                            dk = head_rows(gradients.dk, n, h, keys);
      weights.over_later(slope, values, head_rows(gradients.dv, n, h, values));
      slopes.over_later(q, keys, dk);
      slopes.over_earlier(k, keys, dq);
      if (!inputs.log_decay) continue;
      inner_products(q, {dq.data, dq.stride}, length, keys, inner.data());
      inner_products(k, {dk.data, dk.stride}, length, keys, other.data());
      double sum = 0.0;
      for (std::int64_t t = length - 1; t >= 0; --t) {
        sum += static_cast<double>(inner.data()[t]) - other.data()[t];
        gradients.dlog_decay[(n * length + t) * shape.heads + h] = static_cast<float>(sum);
      }
    }
}

}  // namespace rung::kernels
