// One thread, one sequence after another; the states of one sequence are kept, [T, J, I]. Channels are the
// inner dimension everywhere, so that only db and dc are sums over a vector.
#include "rung/learn/kernels/diagonal_scan.h"

#include <algorithm>
#include <vector>

#include "rung/base/require.h"
#include "rung/learn/kernels/exponential.h"
#include "rung/learn/kernels/vector_clones.h"

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
#pragma omp simd
  for (std::int64_t i = 0; i < size; ++i) to[i] = to_float(from[i]);
}
template <class T>
RUNG_KERNEL_INLINE void save(T* to, const float* from, std::int64_t size) {
#pragma omp simd
  for (std::int64_t i = 0; i < size; ++i) store(to[i], from[i]);
}

struct ScanWork {
  std::vector<float> rate, rate_gradient, state;      // [J, I]
  std::vector<float> kept;                            // backward: [T, J, I]
  std::vector<float> step, x, in, y, through, along;  // [I]; in = step x
  std::vector<float> b, c, db, dc;                    // [J]
  ScanWork(const ScanShape& shape, bool backward) {
    const auto size = static_cast<std::size_t>(shape.channels * shape.states);
    for (auto* matrix : {&rate, &rate_gradient, &state}) matrix->resize(size);
    kept.resize(backward ? static_cast<std::size_t>(shape.positions) * size : 0);
    for (auto* channels : {&step, &x, &in, &y, &through, &along})
      channels->resize(static_cast<std::size_t>(shape.channels));
    for (auto* states : {&b, &c, &db, &dc}) states->resize(static_cast<std::size_t>(shape.states));
  }
};

// The token's inputs as float32.
template <class T>
RUNG_KERNEL_INLINE void load_token(const ScanShape& shape, const ScanInputs& inputs, std::int64_t n,
                                   std::int64_t t, ScanWork& work) {
  load(work.step.data(), row<T>(inputs.step, n, t), shape.channels);
  load(work.x.data(), row<T>(inputs.x, n, t), shape.channels);
  load(work.b.data(), row<T>(inputs.b, n, t), shape.states);
  load(work.c.data(), row<T>(inputs.c, n, t), shape.states);
  for (std::int64_t i = 0; i < shape.channels; ++i) work.in[i] = work.step[i] * work.x[i];
}

// One sequence forward. Keeps the states, or gives y.
template <class T, bool Keeps>
RUNG_KERNEL_INLINE void forward_sequence(const ScanShape& shape, const ScanInputs& inputs, std::int64_t n,
                                         const MutableSlice& out, ScanWork& work) {
  const std::int64_t channels = shape.channels, size = channels * shape.states;
  std::fill(work.state.begin(), work.state.end(), 0.0f);
  const float *step = work.step.data(), *in = work.in.data();
  float* y = work.y.data();
  for (std::int64_t t = 0; t < shape.positions; ++t) {
    load_token<T>(shape, inputs, n, t, work);
    for (std::int64_t i = 0; i < channels; ++i) y[i] = 0.0f;
    for (std::int64_t j = 0; j < shape.states; ++j) {
      const float b = work.b[j], c = work.c[j];
      const float* rate = work.rate.data() + j * channels;
      float* h = work.state.data() + j * channels;
      float* kept = Keeps ? work.kept.data() + t * size + j * channels : nullptr;
#pragma omp simd
      for (std::int64_t i = 0; i < channels; ++i) {
        const float decay = exponential(step[i] * rate[i]), after = decay * h[i] + in[i] * b;
        h[i] = after;
        if (Keeps) kept[i] = after;
        if (!Keeps) y[i] += c * after;
      }
    }
    if (!Keeps) save(row<T>(out, n, t), y, channels);
  }
}

// One sequence in reverse; state carries exp(step_{t+1} a) g_{t+1}. Adds to rate_gradient.
template <class T>
RUNG_KERNEL_INLINE void backward_sequence(const ScanShape& shape, const ScanInputs& inputs, std::int64_t n,
                                          const Slice& dy, const ScanGradients& gradients, ScanWork& work) {
  const std::int64_t channels = shape.channels, size = channels * shape.states;
  const float *step = work.step.data(), *x = work.x.data(), *in = work.in.data();
  float *g = work.y.data(), *through = work.through.data(), *along = work.along.data();
  std::fill(work.state.begin(), work.state.end(), 0.0f);
  for (std::int64_t t = shape.positions - 1; t >= 0; --t) {
    load_token<T>(shape, inputs, n, t, work);
    load(g, row<T>(dy, n, t), channels);
    for (std::int64_t i = 0; i < channels; ++i) through[i] = along[i] = 0.0f;
    for (std::int64_t j = 0; j < shape.states; ++j) {
      const float b = work.b[j], c = work.c[j], present = t > 0 ? 1.0f : 0.0f;  // before the first token: 0
      const float *h = work.kept.data() + t * size + j * channels, *before = t > 0 ? h - size : h;
      const float* rate = work.rate.data() + j * channels;
      float *carried = work.state.data() + j * channels, *da = work.rate_gradient.data() + j * channels;
      float db = 0.0f, dc = 0.0f;
#pragma omp simd reduction(+ : db, dc)
      for (std::int64_t i = 0; i < channels; ++i) {
        const float flow = c * g[i] + carried[i], on = exponential(step[i] * rate[i]) * flow,
                    w = present * on * before[i];
        dc += h[i] * g[i];
        db += in[i] * flow;
        da[i] += step[i] * w;
        along[i] += rate[i] * w;
        through[i] += b * flow;
        carried[i] = on;
      }
      work.db[j] = db;
      work.dc[j] = dc;
    }
    T *dstep = row<T>(gradients.dstep, n, t), *dx = row<T>(gradients.dx, n, t);
    for (std::int64_t i = 0; i < channels; ++i) store(dstep[i], along[i] + x[i] * through[i]);
    for (std::int64_t i = 0; i < channels; ++i) store(dx[i], step[i] * through[i]);
    save(row<T>(gradients.db, n, t), work.db.data(), shape.states);
    save(row<T>(gradients.dc, n, t), work.dc.data(), shape.states);
  }
}

RUNG_KERNEL_CLONES void forward_f32(const ScanShape& shape, const ScanInputs& inputs, std::int64_t n,
                                    const MutableSlice& y, ScanWork& work) {
  forward_sequence<float, false>(shape, inputs, n, y, work);
}
RUNG_KERNEL_CLONES void forward_bf16(const ScanShape& shape, const ScanInputs& inputs, std::int64_t n,
                                     const MutableSlice& y, ScanWork& work) {
  forward_sequence<Bf16, false>(shape, inputs, n, y, work);
}
RUNG_KERNEL_CLONES void backward_f32(const ScanShape& shape, const ScanInputs& inputs, std::int64_t n,
                                     const Slice& dy, const ScanGradients& gradients, ScanWork& work) {
  forward_sequence<float, true>(shape, inputs, n, {}, work);
  backward_sequence<float>(shape, inputs, n, dy, gradients, work);
}
RUNG_KERNEL_CLONES void backward_bf16(const ScanShape& shape, const ScanInputs& inputs, std::int64_t n,
                                      const Slice& dy, const ScanGradients& gradients, ScanWork& work) {
  forward_sequence<Bf16, true>(shape, inputs, n, {}, work);
  backward_sequence<Bf16>(shape, inputs, n, dy, gradients, work);
}

// a of a member as [J, I].
void turn_rates(const ScanShape& shape, const ScanInputs& inputs, std::int64_t member, ScanWork& work) {
  const float* a = inputs.a + member * shape.channels * shape.states;
  for (std::int64_t i = 0; i < shape.channels; ++i)
    for (std::int64_t j = 0; j < shape.states; ++j)
      work.rate[j * shape.channels + i] = a[i * shape.states + j];
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
  const std::int64_t each = shape.sequences / shape.members;
  for (std::int64_t n = 0; n < shape.sequences; ++n) {
    if (n % each == 0) turn_rates(shape, inputs, n / each, work);
    (shape.element == Element::f32 ? forward_f32 : forward_bf16)(shape, inputs, n, y, work);
  }
}

void diagonal_scan_backward(const ScanShape& shape, const ScanInputs& inputs, const Slice& dy,
                            const ScanGradients& gradients) {
  require_shape(shape);
  ScanWork work(shape, true);
  const std::int64_t each = shape.sequences / shape.members;
  for (std::int64_t member = 0; member < shape.members; ++member) {
    turn_rates(shape, inputs, member, work);
    std::fill(work.rate_gradient.begin(), work.rate_gradient.end(), 0.0f);
    for (std::int64_t n = member * each; n < (member + 1) * each; ++n)
      (shape.element == Element::f32 ? backward_f32 : backward_bf16)(shape, inputs, n, dy, gradients, work);
    float* da = gradients.da + member * shape.channels * shape.states;
    for (std::int64_t i = 0; i < shape.channels; ++i)
      for (std::int64_t j = 0; j < shape.states; ++j)
        da[i * shape.states + j] = work.rate_gradient[j * shape.channels + i];
  }
}

bool scan_fits_device(const ScanShape& shape) { return shape.states <= 32; }

}  // namespace rung::kernels
