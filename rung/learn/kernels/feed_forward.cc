// The block on the host: so many rows at a time that what stands between them and their result stays in cache.
#include "rung/learn/kernels/feed_forward.h"

#include <cmath>

#include "rung/base/require.h"
#include "rung/learn/kernels/matrix_tile.h"
#include "rung/learn/kernels/vector_clones.h"

namespace rung::kernels {
namespace {

constexpr std::int64_t kBlockRows = 96;

// u of the rows in panels, and their r. Columns beyond the width stay as they are.
RUNG_KERNEL_CLONES void norm_into_panels(const float* x, std::int64_t rows, std::int64_t width,
                                         const float* gain, float epsilon, float* u, float* roots) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* in = x + i * width;
    float squares = 0.0f;
#pragma omp simd reduction(+ : squares)
    for (std::int64_t c = 0; c < width; ++c) squares += in[c] * in[c];
    const float root = 1.0f / std::sqrt(squares / static_cast<float>(width) + epsilon);
    roots[i] = root;
    for (std::int64_t first = 0; first < width; first += kPanel) {
      float* out = u + (first / kPanel * rows + i) * kPanel;
      const std::int64_t many = std::min(kPanel, width - first);
      if (many == kPanel)
        for (std::int64_t c = 0; c < kPanel; ++c) out[c] = in[first + c] * root * gain[first + c];
      else
        for (std::int64_t c = 0; c < kPanel; ++c)
          out[c] = c < many ? in[first + c] * root * gain[first + c] : 0.0f;
    }
  }
}

RUNG_KERNEL_CLONES void plus_row(const float* x, const float* row, std::int64_t rows, std::int64_t width,
                                 float* y) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t c = 0; c < width; ++c) y[i * width + c] = x[i * width + c] + row[c];
}

RUNG_KERNEL_CLONES void add_rows(const float* from, std::int64_t rows, std::int64_t width, float* sum) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t c = 0; c < width; ++c) sum[c] += from[i * width + c];
}

// g = dh where h is positive, and its sums, both in panels.
RUNG_KERNEL_CLONES void through_relu(const float* h, std::int64_t rows, std::int64_t columns, float* g,
                                     float* sums) {
  for (std::int64_t first = 0; first < columns; first += kPanel, h += rows * kPanel, g += rows * kPanel) {
    float sum[kPanel] = {};
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t c = 0; c < kPanel; ++c) {
        const float value = h[i * kPanel + c] > 0.0f ? g[i * kPanel + c] : 0.0f;
        g[i * kPanel + c] = value;
        sum[c] += value;
      }
    for (std::int64_t c = 0; c < std::min(kPanel, columns - first); ++c) sums[first + c] += sum[c];
  }
}

RUNG_KERNEL_CLONES void norm_backward(const float* x, const float* roots, const float* gain, const float* dy,
                                      const float* du, std::int64_t rows, std::int64_t width, float* dx,
                                      float* dgain) {
  for (std::int64_t i = 0; i < rows; ++i, x += width, dy += width, du += width, dx += width) {
    const float root = roots[i];
    float inner = 0.0f;
#pragma omp simd reduction(+ : inner)
    for (std::int64_t c = 0; c < width; ++c) inner += du[c] * gain[c] * x[c];
    const float along = inner * root * root / static_cast<float>(width);
    for (std::int64_t c = 0; c < width; ++c) {
      dgain[c] += du[c] * x[c] * root;
      dx[c] = dy[c] + root * (du[c] * gain[c] - x[c] * along);
    }
  }
}

// One member's part of everything.
struct Member {
  const float *gain, *w1, *b1, *w2, *b2;
};
Member member_of(const FeedForwardWeightsOf<float>& w, std::int64_t e) {
  const auto of = [e](const MemberValuesOf<float>& values) { return values.data + e * values.stride; };
  return {of(w.gain), of(w.w1), of(w.b1), of(w.w2), of(w.b2)};
}

void require_shape(const FeedForwardShape& shape) {
  RUNG_REQUIRE(shape.members >= 1 && shape.rows >= 0 && shape.width >= 1 && shape.hidden >= 1,
               "E={} rows={} W={} M={}", shape.members, shape.rows, shape.width, shape.hidden);
  RUNG_REQUIRE(shape.activation == Activation::relu, "activation {}", static_cast<int>(shape.activation));
}

}  // namespace

void feed_forward_forward(const FeedForwardShape& shape, const float* x,
                          const FeedForwardWeightsOf<float>& weights, float* y) {
  require_shape(shape);
  const std::int64_t width = shape.width, hidden = shape.hidden;
  AlignedNumbers first(panelled_size(width, hidden)), second(panelled_size(hidden, width)),
      u(panelled_size(kBlockRows, width)), h(panelled_size(kBlockRows, hidden)), roots(kBlockRows);
  for (std::int64_t e = 0; e < shape.members; ++e) {
    const Member member = member_of(weights, e);
    transposed_into_panels(member.w1, width, width, hidden, first.data());
    transposed_into_panels(member.w2, hidden, hidden, width, second.data());
    for (std::int64_t from = 0; from < shape.rows; from += kBlockRows) {
      const std::int64_t rows = std::min(kBlockRows, shape.rows - from), at = (e * shape.rows + from) * width;
      norm_into_panels(x + at, rows, width, member.gain, shape.epsilon, u.data(), roots.data());
      multiply({rows, hidden, width}, by_panels(u.data(), rows), of_panels(first.data(), width),
               in_panels(h.data(), rows), ProductEnd::relu, member.b1);
      plus_row(x + at, member.b2, rows, width, y + at);
      multiply({rows, width, hidden}, by_panels(h.data(), rows), of_panels(second.data(), hidden),
               in_rows(y + at, width), ProductEnd::add);
    }
  }
}

void feed_forward_backward(const FeedForwardShape& shape, const float* x,
                           const FeedForwardWeightsOf<float>& weights, const float* dy,
                           const FeedForwardGradientsOf<float>& out) {
  require_shape(shape);
  const std::int64_t width = shape.width, hidden = shape.hidden;
  AlignedNumbers first(panelled_size(width, hidden)), back_first(panelled_size(hidden, width)),
      back_second(panelled_size(width, hidden)), u(panelled_size(kBlockRows, width)),
      h(panelled_size(kBlockRows, hidden)), g(panelled_size(kBlockRows, hidden)), du(kBlockRows * width),
      roots(kBlockRows);
  for (std::int64_t e = 0; e < shape.members; ++e) {
    const Member member = member_of(weights, e);
    float *dgain = out.dgain + e * width, *dw1 = out.dw1 + e * hidden * width, *db1 = out.db1 + e * hidden,
          *dw2 = out.dw2 + e * hidden * width, *db2 = out.db2 + e * width;
    for (float* sums : {dgain, db2}) std::fill_n(sums, width, 0.0f);
    std::fill_n(db1, hidden, 0.0f);
    for (float* sums : {dw1, dw2}) std::fill_n(sums, hidden * width, 0.0f);
    transposed_into_panels(member.w1, width, width, hidden, first.data());
    into_panels(member.w1, width, hidden, width, back_first.data());
    into_panels(member.w2, hidden, width, hidden, back_second.data());
    for (std::int64_t from = 0; from < shape.rows; from += kBlockRows) {
      const std::int64_t rows = std::min(kBlockRows, shape.rows - from), at = (e * shape.rows + from) * width;
      norm_into_panels(x + at, rows, width, member.gain, shape.epsilon, u.data(), roots.data());
      multiply({rows, hidden, width}, by_panels(u.data(), rows), of_panels(first.data(), width),
               in_panels(h.data(), rows), ProductEnd::relu, member.b1);
      multiply({rows, hidden, width}, by_rows(dy + at, width), of_panels(back_second.data(), width),
               in_panels(g.data(), rows));
      multiply({width, hidden, rows}, by_columns(dy + at, width), of_panels(h.data(), rows),
               in_rows(dw2, hidden), ProductEnd::add);
      through_relu(h.data(), rows, hidden, g.data(), db1);
      add_rows(dy + at, rows, width, db2);
      for (std::int64_t row = 0; row < hidden; row += kPanel)
        multiply({std::min(kPanel, hidden - row), width, rows}, by_panel_columns(g.data() + row * rows),
                 of_panels(u.data(), rows), in_rows(dw1 + row * width, width), ProductEnd::add);
      multiply({rows, width, hidden}, by_panels(g.data(), rows), of_panels(back_first.data(), hidden),
               in_rows(du.data(), width));
      norm_backward(x + at, roots.data(), member.gain, dy + at, du.data(), rows, width, out.dx + at, dgain);
    }
  }
}

}  // namespace rung::kernels
