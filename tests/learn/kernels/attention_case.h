// Random inputs of causal attention, as slices of one fused projection with gaps, and attention written out in
// float64: the kernels' reference.
#pragma once

#include <algorithm>
#include <vector>

#include "rung/learn/kernels/causal_attention.h"
#include "tests/learn/kernels/buffer.h"

namespace rung::kernels {

struct AttentionCase {
  static constexpr std::int64_t kGap = 8;  // elements before q, after each of q, k, v, and after y
  CausalAttentionShape shape;
  std::int64_t columns, pitch, output_pitch;
  Buffer fused, gradient;  // [N, T, pitch]
  Buffer y, dy;            // [N, T, output_pitch]
  Buffer log_sums;         // [N, H, T]

  AttentionCase(const CausalAttentionShape& s, std::uint64_t seed)
      : shape(s),
        columns(s.heads * s.size),
        pitch(3 * columns + 4 * kGap),
        output_pitch(columns + kGap),
        fused(s.element, s.sequences * s.positions * pitch),
        gradient(s.element, fused.count()),
        y(s.element, s.sequences * s.positions * output_pitch),
        dy(s.element, y.count()),
        log_sums(Element::f32, s.sequences * s.heads * s.positions) {
    Random random(seed);
    fused.draw(random, 0.0, 1.5);
    dy.draw(random);
  }

  // The column at which q (0), k (1) or v (2) begins.
  std::int64_t column(int which) const { return kGap + which * (columns + kGap); }
  template <class S, class B>
  S slice(B& buffer, int which) const {
    return S{buffer.at(column(which)), shape.positions * pitch, pitch};
  }
  CausalAttentionInputs inputs() const {
    return {slice<Slice>(fused, 0), slice<Slice>(fused, 1), slice<Slice>(fused, 2)};
  }
  CausalAttentionGradients gradients() {
    return {slice<MutableSlice>(gradient, 0), slice<MutableSlice>(gradient, 1),
            slice<MutableSlice>(gradient, 2)};
  }
  MutableSlice output() { return {y.data(), shape.positions * output_pitch, output_pitch}; }
  Slice output_gradient() const { return {dy.data(), shape.positions * output_pitch, output_pitch}; }
  // The element of `fused` (or `gradient`), and of `y` (or `dy`), at which a vector begins.
  std::int64_t place(int which, std::int64_t n, std::int64_t t, std::int64_t h) const {
    return (n * shape.positions + t) * pitch + column(which) + h * shape.size;
  }
  std::int64_t output_place(std::int64_t n, std::int64_t t, std::int64_t h) const {
    return (n * shape.positions + t) * output_pitch + h * shape.size;
  }
};

// Outputs of the reference, laid out as the case's own buffers; NaN in the gaps.
struct AttentionReference {
  std::vector<double> y, log_sums, gradient;
};

// The gradients are those at the reference's own y.
inline AttentionReference attention_reference(const AttentionCase& given) {
  const CausalAttentionShape& s = given.shape;
  const std::int64_t size = s.size;
  AttentionReference out;
  out.y.assign(given.y.count(), NAN);
  out.gradient.assign(given.gradient.count(), NAN);
  out.log_sums.resize(given.log_sums.count());
  std::vector<double> p(s.positions), slope(s.positions);
  for (std::int64_t n = 0; n < s.sequences; ++n)
    for (std::int64_t h = 0; h < s.heads; ++h) {
      for (std::int64_t t = 0; t < s.positions; ++t)
        for (int which = 0; which < 3; ++which)
          std::fill_n(out.gradient.begin() + given.place(which, n, t, h), size, 0.0);
      for (std::int64_t i = 0; i < s.positions; ++i) {
        const std::int64_t q = given.place(0, n, i, h), row = given.output_place(n, i, h);
        double largest = -INFINITY, sum = 0.0;
        for (std::int64_t j = 0; j <= i; ++j) {
          const std::int64_t k = given.place(1, n, j, h);
          p[j] = 0.0;
          for (std::int64_t c = 0; c < size; ++c) p[j] += given.fused[q + c] * given.fused[k + c];
          p[j] *= s.tau;
          largest = std::max(largest, p[j]);
        }
        for (std::int64_t j = 0; j <= i; ++j) sum += p[j] = std::exp(p[j] - largest);
        out.log_sums[(n * s.heads + h) * s.positions + i] = largest + std::log(sum);
        std::fill_n(out.y.begin() + row, size, 0.0);
        double mean = 0.0;  // sum_j p_ij slope_j, which is D_i
        for (std::int64_t j = 0; j <= i; ++j) {
          const std::int64_t v = given.place(2, n, j, h);
          p[j] /= sum;
          slope[j] = 0.0;
          for (std::int64_t c = 0; c < size; ++c) {
            out.y[row + c] += p[j] * given.fused[v + c];
            out.gradient[v + c] += p[j] * given.dy[row + c];
            slope[j] += given.dy[row + c] * given.fused[v + c];
          }
          mean += p[j] * slope[j];
        }
        for (std::int64_t j = 0; j <= i; ++j) {
          const std::int64_t k = given.place(1, n, j, h);
          const double along = s.tau * p[j] * (slope[j] - mean);
          for (std::int64_t c = 0; c < size; ++c) {
            out.gradient[q + c] += along * given.fused[k + c];
            out.gradient[k + c] += along * given.fused[q + c];
          }
        }
      }
    }
  return out;
}

// The shapes that the kernels are run on: one token, parts of a tile, whole ones, one more, and heads that are
// shared among blocks.
inline std::vector<CausalAttentionShape> attention_shapes() {
  std::vector<CausalAttentionShape> shapes;
  for (const std::int64_t size : {16, 32, 64})
    for (const std::int64_t heads : {1, 2})
      for (const std::int64_t positions : {1, 5, 16, 63, 64, 65, 200, 256, 300})
        shapes.push_back({.sequences = heads == 1 ? 2 : 1,
                          .positions = positions,
                          .heads = heads,
                          .size = size,
                          .tau = 1 / std::sqrt(static_cast<float>(size))});
  return shapes;
}

// p, s and what is written are rounded to 8 bits, each by at most 2^-9 of itself; l is not rounded.
inline constexpr double kAttentionTolerance = 8e-3, kLogSumTolerance = 1e-5;

// How far the numbers of `which` (0, 1, 2 of fused) are from the reference's, as distance() says.
inline double gradient_distance(const AttentionCase& given, const Buffer& got,
                                const AttentionReference& expected, int which) {
  std::vector<double> a, b;
  for (std::int64_t row = 0; row < given.shape.sequences * given.shape.positions; ++row)
    for (std::int64_t c = 0; c < given.columns; ++c) {
      const std::int64_t at = row * given.pitch + given.column(which) + c;
      a.push_back(got[at]);
      b.push_back(expected.gradient[at]);
    }
  return distance(a, b, static_cast<std::int64_t>(a.size()));
}
// The same of y.
inline double output_distance(const AttentionCase& given, const Buffer& got,
                              const AttentionReference& expected) {
  std::vector<double> a, b;
  for (std::int64_t row = 0; row < given.shape.sequences * given.shape.positions; ++row)
    for (std::int64_t c = 0; c < given.columns; ++c) {
      a.push_back(got[row * given.output_pitch + c]);
      b.push_back(expected.y[row * given.output_pitch + c]);
    }
  return distance(a, b, static_cast<std::int64_t>(a.size()));
}
// Whether nothing was written where the reference has none: the buffer was NaN before.
inline bool gaps_untouched(const Buffer& got, const std::vector<double>& expected) {
  for (std::int64_t i = 0; i < got.count(); ++i)
    if (std::isnan(expected[i]) && !std::isnan(got[i])) return false;
  return true;
}

}  // namespace rung::kernels
