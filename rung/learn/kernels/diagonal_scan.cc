// One thread, one sequence after another; the states of one sequence are kept, [T, I, J].
#include "rung/learn/kernels/diagonal_scan.h"

#include <algorithm>
#include <vector>

#include "rung/learn/kernels/exponential.h"
#include "rung/learn/kernels/vector_clones.h"
#include "rung/spec/require.h"

namespace rung::kernels {
namespace {

template <class T>
RUNG_KERNEL_INLINE const T* row(const Slice& slice, std::int64_t n, std::int64_t t) {
  return static_cast<const T*>(slice.data) + n * slice.sequence_stride + t * slice.position_stride;
}
template <class T>
RUNG_KERNEL_INLINE T* row(const MutableSlice& slice, std::int64_t n, std::int64_t t) {
  return static_cast<T*>(slice.data) + n * slice.sequence_stride + t * slice.position_stride;
}
template <class T>
RUNG_KERNEL_INLINE void load(float* to, const T* from, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) to[i] = to_float(from[i]);
}

// One sequence. kept: the states after every token and their decays, [T, I, J] each, or null.
template <class T>
RUNG_KERNEL_INLINE void forward_sequence(const ScanShape& shape, const ScanInputs& inputs, std::int64_t n,
                                         T* y, std::int64_t y_stride, float* state, float* kept,
                                         float* decays, float* row_b, float* row_c) {
  const std::int64_t channels = shape.channels, states = shape.states, each = shape.sequences / shape.members;
  const float* a = inputs.a + n / each * channels * states;
  std::fill(state, state + channels * states, 0.0f);
  for (std::int64_t t = 0; t < shape.positions; ++t) {
    const T* step = row<T>(inputs.step, n, t);
    const T* x = row<T>(inputs.x, n, t);
    load(row_b, row<T>(inputs.b, n, t), states);
    load(row_c, row<T>(inputs.c, n, t), states);
    for (std::int64_t i = 0; i < channels; ++i) {
      const float delta = to_float(step[i]), in = delta * to_float(x[i]);
      float* h = state + i * states;
      const float* rate = a + i * states;
      float sum = 0.0f;
      if (kept) {
        float* decay = decays + (t * channels + i) * states;
        float* after = kept + (t * channels + i) * states;
#pragma omp simd
        for (std::int64_t j = 0; j < states; ++j) {
          decay[j] = exponential(delta * rate[j]);
          after[j] = h[j] = decay[j] * h[j] + in * row_b[j];
        }
      } else {
#pragma omp simd
        for (std::int64_t j = 0; j < states; ++j) h[j] = exponential(delta * rate[j]) * h[j] + in * row_b[j];
      }
      if (!y) continue;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t j = 0; j < states; ++j) sum += row_c[j] * h[j];
      store(y[t * y_stride + i], sum);
    }
  }
}

struct ScanWork {
  std::vector<float> state, kept, decays, b, c, db, dc;
  explicit ScanWork(const ScanShape& shape, bool backward)
      : state(size(shape.channels * shape.states)),
        kept(backward ? size(shape.positions * shape.channels * shape.states) : 0),
        decays(kept.size()),
        b(size(shape.states)),
        c(size(shape.states)),
        db(size(shape.states)),
        dc(size(shape.states)) {}
  static std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }
};

// One sequence in reverse; work.state carries exp(step_{t+1} a) g_{t+1}. Adds to da.
template <class T>
RUNG_KERNEL_INLINE void backward_sequence(const ScanShape& shape, const ScanInputs& inputs, std::int64_t n,
                                          const Slice& dy, const ScanGradients& gradients, ScanWork& work) {
  const std::int64_t channels = shape.channels, states = shape.states, each = shape.sequences / shape.members;
  const float* a = inputs.a + n / each * channels * states;
  float* da = gradients.da + n / each * channels * states;
  float *carried = work.state.data(), *b = work.b.data(), *c = work.c.data(), *db = work.db.data(),
        *dc = work.dc.data();
  std::fill(carried, carried + channels * states, 0.0f);
  for (std::int64_t t = shape.positions - 1; t >= 0; --t) {
    const T* step = row<T>(inputs.step, n, t);
    const T* x = row<T>(inputs.x, n, t);
    const T* out = row<T>(dy, n, t);
    load(b, row<T>(inputs.b, n, t), states);
    load(c, row<T>(inputs.c, n, t), states);
    std::fill(db, db + states, 0.0f);
    std::fill(dc, dc + states, 0.0f);
    for (std::int64_t i = 0; i < channels; ++i) {
      const float delta = to_float(step[i]), value = to_float(x[i]), g = to_float(out[i]);
      const float* h = work.kept.data() + (t * channels + i) * states;
      const float* before = t > 0 ? h - channels * states : nullptr;
      const float* decay = work.decays.data() + (t * channels + i) * states;
      float* carry = carried + i * states;
      const float* rate = a + i * states;
      float* rate_gradient = da + i * states;
      float through = 0.0f, along = 0.0f;
#pragma omp simd reduction(+ : through, along)
      for (std::int64_t j = 0; j < states; ++j) {
        const float total = c[j] * g + carry[j], w = before ? total * decay[j] * before[j] : 0.0f;
        dc[j] += h[j] * g;
        db[j] += delta * value * total;
        rate_gradient[j] += delta * w;
        along += rate[j] * w;
        through += b[j] * total;
        carry[j] = decay[j] * total;
      }
      store(row<T>(gradients.dstep, n, t)[i], along + value * through);
      store(row<T>(gradients.dx, n, t)[i], delta * through);
    }
    for (std::int64_t j = 0; j < states; ++j) store(row<T>(gradients.db, n, t)[j], db[j]);
    for (std::int64_t j = 0; j < states; ++j) store(row<T>(gradients.dc, n, t)[j], dc[j]);
  }
}

RUNG_KERNEL_CLONES void forward_f32(const ScanShape& shape, const ScanInputs& inputs, std::int64_t n,
                                    const MutableSlice& y, ScanWork& work) {
  forward_sequence<float>(shape, inputs, n, row<float>(y, n, 0), y.position_stride, work.state.data(),
                          nullptr, nullptr, work.b.data(), work.c.data());
}
RUNG_KERNEL_CLONES void forward_bf16(const ScanShape& shape, const ScanInputs& inputs, std::int64_t n,
                                     const MutableSlice& y, ScanWork& work) {
  forward_sequence<Bf16>(shape, inputs, n, row<Bf16>(y, n, 0), y.position_stride, work.state.data(), nullptr,
                         nullptr, work.b.data(), work.c.data());
}
RUNG_KERNEL_CLONES void backward_f32(const ScanShape& shape, const ScanInputs& inputs, std::int64_t n,
                                     const Slice& dy, const ScanGradients& gradients, ScanWork& work) {
  forward_sequence<float>(shape, inputs, n, nullptr, 0, work.state.data(), work.kept.data(),
                          work.decays.data(), work.b.data(), work.c.data());
  backward_sequence<float>(shape, inputs, n, dy, gradients, work);
}
RUNG_KERNEL_CLONES void backward_bf16(const ScanShape& shape, const ScanInputs& inputs, std::int64_t n,
                                      const Slice& dy, const ScanGradients& gradients, ScanWork& work) {
  forward_sequence<Bf16>(shape, inputs, n, nullptr, 0, work.state.data(), work.kept.data(),
                         work.decays.data(), work.b.data(), work.c.data());
  backward_sequence<Bf16>(shape, inputs, n, dy, gradients, work);
}

void require_shape(const ScanShape& shape) {
  RUNG_REQUIRE(shape.members >= 1 && shape.sequences >= 0 && shape.sequences % shape.members == 0,
               "E={} N={}", shape.members, shape.sequences);
  RUNG_REQUIRE(shape.positions >= 0 && shape.channels >= 1 && shape.states >= 1, "T={} I={} J={}",
               shape.positions, shape.channels, shape.states);
}

}  // namespace

void diagonal_scan_forward(const ScanShape& shape, const ScanInputs& inputs, const MutableSlice& y) {
  require_shape(shape);
  ScanWork work(shape, false);
  for (std::int64_t n = 0; n < shape.sequences; ++n)
    (shape.element == Element::f32 ? forward_f32 : forward_bf16)(shape, inputs, n, y, work);
}

void diagonal_scan_backward(const ScanShape& shape, const ScanInputs& inputs, const Slice& dy,
                            const ScanGradients& gradients) {
  require_shape(shape);
  std::fill_n(gradients.da, shape.members * shape.channels * shape.states, 0.0f);
  ScanWork work(shape, true);
  for (std::int64_t n = 0; n < shape.sequences; ++n)
    (shape.element == Element::f32 ? backward_f32 : backward_bf16)(shape, inputs, n, dy, gradients, work);
}

bool scan_fits_device(const ScanShape& shape) { return shape.states <= 32; }

}  // namespace rung::kernels
