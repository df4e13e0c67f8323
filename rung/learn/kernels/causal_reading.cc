#include "rung/learn/kernels/causal_reading.h"

#include <vector>

#include "rung/base/require.h"
#include "rung/learn/kernels/causal_weights.h"
#include "rung/learn/kernels/exponential.h"
#include "rung/learn/kernels/log_linear_attention.h"
#include "rung/learn/kernels/vector_clones.h"

namespace rung::kernels {
namespace {

// One head's shares and decays, or none; its dshare in the backward pass.
struct HeadFactors {
  const float* share = nullptr;  // of position i: share + i * stride
  std::int64_t stride = 0, levels = 0;
  float* dshare = nullptr;
  const float* prefix = nullptr;  // A, zeros beyond the positions up to a whole panel
};

// The level of the pairs of two different blocks of sixteen positions: within them the digits of i xor j end alike.
std::int64_t block_level(std::int64_t i, std::int64_t panel) {
  constexpr int kPanelDigits = 4;
  static_assert(kPanel == 1 << kPanelDigits);
  return kPanelDigits + log_linear_level(i / kPanel, panel);
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
template <bool Shares, bool Decays>
RUNG_KERNEL_INLINE void weigh(const HeadFactors& head, std::int64_t first, std::int64_t positions,
                              float* weights) {
  const std::int64_t panel = first / kPanel;
  for (std::int64_t i = first; i < positions; ++i, weights += kPanel) {
    const bool diagonal = i < first + kPanel;
    if (!Shares && !Decays && !diagonal) return;
    alignas(64) float factor[kPanel];
    decay_factors<Decays>(head, i, first, factor);
    if (Shares) {
      const float* share = head.share + i * head.stride;
      const float all = diagonal ? 1.0f : share[block_level(i, panel)];
      if (diagonal)
        for (std::int64_t j = first; j <= i; ++j) factor[j - first] *= share[log_linear_level(i, j)];
      for (std::int64_t c = 0; c < kPanel; ++c) weights[c] *= factor[c] * all;
    } else {
      for (std::int64_t c = 0; c < kPanel; ++c) weights[c] *= factor[c];
    }
  }
}

// The same of scores and slopes: both are weighted, and the shares' gradients added up. What stands above the diagonal
// becomes 0.
template <bool Shares, bool Decays>
RUNG_KERNEL_INLINE void weigh_both(const HeadFactors& head, std::int64_t first, std::int64_t positions,
                                   float* weights, float* slopes) {
  const std::int64_t panel = first / kPanel;
  for (std::int64_t i = first; i < positions; ++i, weights += kPanel, slopes += kPanel) {
    const bool diagonal = i < first + kPanel;
    if (!Shares && !Decays && !diagonal) return;
    alignas(64) float factor[kPanel];
    decay_factors<Decays>(head, i, first, factor);
    if (Shares) {
      const float* share = head.share + i * head.stride;
      float* dshare = head.dshare + i * head.stride;
      if (diagonal) {
        for (std::int64_t j = first; j <= i; ++j) {
          const std::int64_t c = j - first, level = log_linear_level(i, j);
          dshare[level] += factor[c] * weights[c] * slopes[c];
          factor[c] *= share[level];
        }
      } else {
        const std::int64_t level = block_level(i, panel);
        const float all = share[level];
        float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
        for (std::int64_t c = 0; c < kPanel; ++c) sum += factor[c] * weights[c] * slopes[c];
        dshare[level] += sum;
        for (std::int64_t c = 0; c < kPanel; ++c) factor[c] *= all;
      }
    }
    for (std::int64_t c = 0; c < kPanel; ++c) {
      weights[c] *= factor[c];
      slopes[c] *= factor[c];
    }
  }
}

#define RUNG_BY_FACTORS(head, function, ...) \
  do {                                       \
    if ((head).share && (head).prefix)       \
      function<true, true>(__VA_ARGS__);     \
    else if ((head).share)                   \
      function<true, false>(__VA_ARGS__);    \
    else if ((head).prefix)                  \
      function<false, true>(__VA_ARGS__);    \
    else                                     \
      function<false, false>(__VA_ARGS__);   \
  } while (false)

RUNG_KERNEL_CLONES void weigh_panel(const HeadFactors& head, std::int64_t first, std::int64_t positions,
                                    float* weights) {
  RUNG_BY_FACTORS(head, weigh, head, first, positions, weights);
}
RUNG_KERNEL_CLONES void weigh_panels(const HeadFactors& head, std::int64_t first, std::int64_t positions,
                                     float* weights, float* slopes) {
  RUNG_BY_FACTORS(head, weigh_both, head, first, positions, weights, slopes);
}
#undef RUNG_BY_FACTORS

// r_i of weights whose upper triangle is 0.
RUNG_KERNEL_CLONES void one_over_sums(const float* weights, std::int64_t pitch, std::int64_t positions,
                                      float* to) {
  for (std::int64_t i = 0; i < positions; ++i) {
    float sums[kPanel] = {}, total = 0.0f;
    for (std::int64_t p = 0; p <= i / kPanel; ++p)
      for (std::int64_t c = 0; c < kPanel; ++c) sums[c] += weights[p * pitch + i * kPanel + c];
#pragma omp simd reduction(+ : total)
    for (std::int64_t c = 0; c < kPanel; ++c) total += sums[c];
    to[i] = total != 0.0f ? 1.0f / total : 0.0f;
  }
}

// One panel of weights and slopes, normalised.
RUNG_KERNEL_CLONES void normalise_panel(std::int64_t first, std::int64_t positions, const float* factors,
                                        const float* inner, float* weights, float* slopes) {
  for (std::int64_t i = first; i < positions; ++i, weights += kPanel, slopes += kPanel)
    for (std::int64_t c = 0; c < kPanel; ++c) {
      weights[c] *= factors[i];
      slopes[c] = factors[i] * (slopes[c] - inner[i]);
    }
  slopes -= (positions - first) * kPanel;
  for (std::int64_t i = first; i < std::min(positions, first + kPanel); ++i, slopes += kPanel)
    for (std::int64_t c = i - first + 1; c < kPanel; ++c) slopes[c] = 0.0f;
}

struct Scratch {
  std::vector<float> prefix;
  explicit Scratch(std::int64_t positions)
      : prefix(static_cast<std::size_t>(panels_of(positions) * kPanel)) {}

  HeadFactors of(const CausalReadingShape& shape, const CausalReadingInputs& inputs, std::int64_t n,
                 std::int64_t h, float* dshare) {
    HeadFactors head;
    if (inputs.share) {
      const std::int64_t at = (n * shape.positions * shape.heads + h) * shape.levels;
      head.share = inputs.share + at;
      head.stride = shape.heads * shape.levels;
      head.levels = shape.levels;
      if (dshare) head.dshare = dshare + at;
    }
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

void require_shape(const CausalReadingShape& shape, const CausalReadingInputs& inputs) {
  RUNG_REQUIRE(causal_reading_fits(shape), "N={} T={} H={} dk={} dv={} levels={}", shape.sequences,
               shape.positions, shape.heads, shape.key_size, shape.value_size, shape.levels);
  RUNG_REQUIRE((shape.levels > 0) == (inputs.share != nullptr), "levels={}", shape.levels);
  RUNG_REQUIRE(!shape.normalised || !(inputs.share || inputs.log_decay), "normalised, with other factors");
}

}  // namespace

bool causal_reading_fits(const CausalReadingShape& shape) {
  return shape.sequences >= 0 && shape.heads >= 1 && shape.key_size >= 1 && shape.value_size >= 1 &&
         shape.positions >= 1 && shape.positions <= kMostCausalPositions &&
         (shape.levels == 0 || shape.levels >= log_linear_levels(shape.positions));
}

void causal_reading_forward(const CausalReadingShape& shape, const CausalReadingInputs& inputs,
                            const MutableSlice& y) {
  require_shape(shape, inputs);
  const std::int64_t length = shape.positions, keys = shape.key_size, values = shape.value_size;
  CausalWeights weights(length, std::max(keys, values));
  AlignedNumbers factors(length);
  Scratch scratch(length);
  for (std::int64_t n = 0; n < shape.sequences; ++n)
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const HeadFactors head = scratch.of(shape, inputs, n, h, nullptr);
      const MutableHeadRows out = head_rows(y, n, h, values);
      weights.score(head_rows(inputs.q, n, h, keys), head_rows(inputs.k, n, h, keys), keys);
      for (std::int64_t first = 0; first < length; first += kPanel)
        weigh_panel(head, first, length, weights.at(first, first / kPanel));
      weights.over_earlier(head_rows(inputs.v, n, h, values), values, out);
      if (!shape.normalised) continue;
      one_over_sums(weights.at(0, 0), weights.pitch(), length, factors.data());
      scale_rows(out, length, values, factors.data());
    }
}

void causal_reading_backward(const CausalReadingShape& shape, const CausalReadingInputs& inputs,
                             const Slice& y, const Slice& dy, const CausalReadingGradients& gradients) {
  require_shape(shape, inputs);
  const std::int64_t length = shape.positions, keys = shape.key_size, values = shape.value_size;
  RUNG_REQUIRE((!inputs.share || gradients.dshare) && (!inputs.log_decay || gradients.dlog_decay),
               "a factor without a place for its gradient");
  CausalWeights weights(length, std::max(keys, values)), slopes(length, std::max(keys, values));
  AlignedNumbers factors(length), inner(length), other(length);
  Scratch scratch(length);
  if (gradients.dshare)
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
      if (shape.normalised) {
        one_over_sums(weights.at(0, 0), weights.pitch(), length, factors.data());
        inner_products(head_rows(y, n, h, values), slope, length, values, inner.data());
        for (std::int64_t first = 0; first < length; first += kPanel)
          normalise_panel(first, length, factors.data(), inner.data(), weights.at(first, first / kPanel),
                          slopes.at(first, first / kPanel));
      }
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
