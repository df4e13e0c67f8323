// One thread, one sequence after another. Rows are the inner dimension of U h, states that of U^T e, so that both are
// sums of vectors.
#include "rung/learn/kernels/cell_recurrence.h"

#include <algorithm>
#include <vector>

#include "rung/base/require.h"
#include "rung/learn/kernels/exponential.h"
#include "rung/learn/kernels/vector_clones.h"

namespace rung::kernels {
namespace {

RUNG_KERNEL_INLINE float logistic(float x) { return 1.0f / (1.0f + exponential(-x)); }
RUNG_KERNEL_INLINE float hyperbolic_tangent(float x) { return 2.0f * logistic(2.0f * x) - 1.0f; }

struct CellWork {
  std::vector<float> turned;               // U^T, [S, R]
  std::vector<float> x, g, d, e;           // [R]
  std::vector<float> h, before, dh, back;  // [S]
  explicit CellWork(const CellShape& shape)
      : turned(static_cast<std::size_t>(shape.size * cell_rows(shape))) {
    for (auto* rows : {&x, &g, &d, &e}) rows->resize(static_cast<std::size_t>(cell_rows(shape)));
    for (auto* states : {&h, &before, &dh, &back}) states->resize(static_cast<std::size_t>(shape.size));
  }
};

// x_t and g_t = U h + b, from the state before the token.
template <class T>
RUNG_KERNEL_INLINE void load_sums(const CellShape& shape, const CellInputs& in, std::int64_t n,
                                  std::int64_t t, const float* h, CellWork& work) {
  const std::int64_t rows = cell_rows(shape), member = n / (shape.sequences / shape.members);
  const T* from =
      static_cast<const T*>(in.sums.data) + n * in.sums.sequence_stride + t * in.sums.position_stride;
  float *x = work.x.data(), *g = work.g.data();
#pragma omp simd
  for (std::int64_t r = 0; r < rows; ++r) x[r] = to_float(from[r]);
  for (std::int64_t r = 0; r < rows; ++r) g[r] = in.bias ? in.bias[member * rows + r] : 0.0f;
  for (std::int64_t j = 0; j < shape.size; ++j) {
    const float value = h[j];
    const float* column = work.turned.data() + j * rows;
#pragma omp simd
    for (std::int64_t r = 0; r < rows; ++r) g[r] += column[r] * value;
  }
}

template <class T>
RUNG_KERNEL_INLINE void forward_sequence(const CellShape& shape, const CellInputs& in, std::int64_t n,
                                         float* states, const MutableSlice& out, CellWork& work) {
  const std::int64_t size = shape.size;
  const float levels = shape.bits > 0 ? static_cast<float>(1 << (shape.bits - 1)) - 0.5f : 0.0f;
  const float *x = work.x.data(), *g = work.g.data();
  float* h = work.h.data();
  std::fill(work.h.begin(), work.h.end(), 0.0f);
  for (std::int64_t t = 0; t < shape.positions; ++t) {
    load_sums<T>(shape, in, n, t, h, work);
    if (shape.kind == CellKind::gru) {
#pragma omp simd
      for (std::int64_t i = 0; i < size; ++i) {
        const float z = logistic(x[i] + g[i]), r = logistic(x[size + i] + g[size + i]);
        const float fresh = hyperbolic_tangent(x[2 * size + i] + r * g[2 * size + i]);
        h[i] = fresh + z * (h[i] - fresh);
      }
    } else if (shape.kind == CellKind::tanh) {
#pragma omp simd
      for (std::int64_t i = 0; i < size; ++i) h[i] = hyperbolic_tangent(x[i] + g[i]);
    } else {
      for (std::int64_t i = 0; i < size; ++i) h[i] = std::max(0.0f, x[i] + g[i]);
    }
    if (shape.bits > 0) {
      // Adding 1.5 * 2^23 rounds to the nearest whole number, half to even.
      const float magic = 12582912.0f;
      for (std::int64_t i = 0; i < size; ++i) {
        const volatile float shifted = h[i] * levels + magic;
        h[i] = (shifted - magic) / levels;
      }
    }
    T* y = static_cast<T*>(out.data) + n * out.sequence_stride + t * out.position_stride;
    std::copy_n(h, size, states + (n * shape.positions + t) * size);
    for (std::int64_t i = 0; i < size; ++i) store(y[i], h[i]);
  }
}

template <class T>
RUNG_KERNEL_INLINE void backward_sequence(const CellShape& shape, const CellInputs& in, std::int64_t n,
                                          const float* states, const Slice& dy, const MutableSlice& dsums,
                                          float* e_out, CellWork& work) {
  const std::int64_t size = shape.size, rows = cell_rows(shape),
                     member = n / (shape.sequences / shape.members);
  const float *x = work.x.data(), *g = work.g.data(), *before = work.before.data();
  float *d = work.d.data(), *e = work.e.data(), *dh = work.dh.data(), *back = work.back.data();
  std::fill(work.back.begin(), work.back.end(), 0.0f);
  for (std::int64_t t = shape.positions - 1; t >= 0; --t) {
    const float* after = states + (n * shape.positions + t) * size;
    if (t > 0)
      std::copy_n(after - size, size, work.before.begin());
    else
      std::fill(work.before.begin(), work.before.end(), 0.0f);
    load_sums<T>(shape, in, n, t, before, work);
    const T* gradient = static_cast<const T*>(dy.data) + n * dy.sequence_stride + t * dy.position_stride;
    for (std::int64_t i = 0; i < size; ++i) dh[i] = to_float(gradient[i]) + back[i];
    if (shape.kind == CellKind::gru) {
#pragma omp simd
      for (std::int64_t i = 0; i < size; ++i) {
        const float z = logistic(x[i] + g[i]), r = logistic(x[size + i] + g[size + i]),
                    from_state = g[2 * size + i];
        const float fresh = hyperbolic_tangent(x[2 * size + i] + r * from_state);
        const float dn = dh[i] * (1.0f - z) * (1.0f - fresh * fresh);
        d[i] = e[i] = dh[i] * (before[i] - fresh) * z * (1.0f - z);
        d[size + i] = e[size + i] = dn * from_state * r * (1.0f - r);
        d[2 * size + i] = dn;
        e[2 * size + i] = dn * r;
        back[i] = z * dh[i];
      }
    } else {
      for (std::int64_t i = 0; i < size; ++i) {
        const float h = shape.kind == CellKind::tanh ? hyperbolic_tangent(x[i] + g[i]) : 0.0f;
        const float slope = shape.kind == CellKind::tanh ? 1.0f - h * h : (x[i] + g[i] > 0.0f ? 1.0f : 0.0f);
        d[i] = e[i] = dh[i] * slope;
        back[i] = 0.0f;
      }
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      const float value = e[r];
      const float* row = in.state + (member * rows + r) * size;
#pragma omp simd
      for (std::int64_t j = 0; j < size; ++j) back[j] += row[j] * value;
    }
    T* to = static_cast<T*>(dsums.data) + n * dsums.sequence_stride + t * dsums.position_stride;
    for (std::int64_t r = 0; r < rows; ++r) store(to[r], d[r]);
    std::copy_n(e, rows, e_out + (n * shape.positions + t) * rows);
  }
}

RUNG_KERNEL_CLONES void cell_forward_f32(const CellShape& shape, const CellInputs& in, std::int64_t n,
                                         float* states, const MutableSlice& y, CellWork& work) {
  forward_sequence<float>(shape, in, n, states, y, work);
}
RUNG_KERNEL_CLONES void cell_forward_bf16(const CellShape& shape, const CellInputs& in, std::int64_t n,
                                          float* states, const MutableSlice& y, CellWork& work) {
  forward_sequence<Bf16>(shape, in, n, states, y, work);
}
RUNG_KERNEL_CLONES void cell_backward_f32(const CellShape& shape, const CellInputs& in, std::int64_t n,
                                          const float* states, const Slice& dy, const MutableSlice& dsums,
                                          float* e, CellWork& work) {
  backward_sequence<float>(shape, in, n, states, dy, dsums, e, work);
}
RUNG_KERNEL_CLONES void cell_backward_bf16(const CellShape& shape, const CellInputs& in, std::int64_t n,
                                           const float* states, const Slice& dy, const MutableSlice& dsums,
                                           float* e, CellWork& work) {
  backward_sequence<Bf16>(shape, in, n, states, dy, dsums, e, work);
}

void require_shape(const CellShape& shape) {
  RUNG_REQUIRE(shape.members >= 1 && shape.sequences >= 0 && shape.sequences % shape.members == 0,
               "E={} N={}", shape.members, shape.sequences);
  RUNG_REQUIRE(shape.positions >= 0 && shape.size >= 1, "T={} S={}", shape.positions, shape.size);
  RUNG_REQUIRE(shape.bits >= 0 && shape.bits <= 16 && (shape.bits == 0 || shape.kind != CellKind::relu),
               "bits={}", shape.bits);
}

// Calls sequence(n) for every sequence, with its member's U turned in `work`.
template <class Sequence>
void by_sequence(const CellShape& shape, const CellInputs& in, CellWork& work, const Sequence& sequence) {
  const std::int64_t rows = cell_rows(shape), each = shape.sequences / shape.members;
  for (std::int64_t n = 0; n < shape.sequences; ++n) {
    if (n % each == 0)
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t j = 0; j < shape.size; ++j)
          work.turned[static_cast<std::size_t>(j * rows + r)] =
              in.state[(n / each * rows + r) * shape.size + j];
    sequence(n);
  }
}

}  // namespace

void cell_forward(const CellShape& shape, const CellInputs& inputs, float* states, const MutableSlice& y) {
  require_shape(shape);
  CellWork work(shape);
  by_sequence(shape, inputs, work, [&](std::int64_t n) {
    (shape.element == Element::f32 ? cell_forward_f32 : cell_forward_bf16)(shape, inputs, n, states, y, work);
  });
}

void cell_backward(const CellShape& shape, const CellInputs& inputs, const float* states, const Slice& dy,
                   const MutableSlice& dsums, float* e) {
  require_shape(shape);
  CellWork work(shape);
  by_sequence(shape, inputs, work, [&](std::int64_t n) {
    (shape.element == Element::f32 ? cell_backward_f32 : cell_backward_bf16)(shape, inputs, n, states, dy,
                                                                             dsums, e, work);
  });
}

bool cell_fits_device(const CellShape& shape) { return shape.size <= 32; }

}  // namespace rung::kernels
