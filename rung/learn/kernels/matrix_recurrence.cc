// One thread, one head after another. A head's vectors are rows of a width that the compiler knows
// (head_rows.h). Two layouts of a matrix then serve the two kinds of product without a
// horizontal sum: "by key" ([key][value], products with k and q) and "by value" ([value][key], products with
// u and dy). The inner dimension is a vector; the outer one is taken four at a time, so that a sum is fetched
// and put back every fourth time only.
#include "rung/learn/kernels/matrix_recurrence.h"

#include <cmath>
#include <vector>

#include "rung/base/require.h"
#include "rung/learn/kernels/head_rows.h"
#include "rung/learn/kernels/vector_clones.h"

namespace rung::kernels {
namespace {

constexpr int kWidest = 256;  // dk, dv
constexpr int kStep = 4;      // outer rows at a time; every width is a multiple

// One head of one sequence.
struct Head {
  std::int64_t length, key_width, value_width;
  HeadRows q, k, dq, dk;     // [T, dk]
  HeadRows v, e, y, dy, dv;  // [T, dv]; e: delta
  Numbers decay, beta;       // [T]; 1 where there is none
  Numbers dbeta, inner;      // [T]; inner: q . dq - v . dv
  Numbers factor;            // [T]: what y is divided by, as a factor; normalised
  Numbers matrix;            // the state or its gradient, in either layout

  Head(const RecurrenceShape& shape, bool backward)
      : length(shape.positions),
        key_width(padded(shape.key_size)),
        value_width(padded(shape.value_size)),
        q(shape.element, length, shape.key_size),
        k(q),
        dq(q),
        dk(q),
        v(shape.element, length, shape.value_size),
        e(Element::f32, length, shape.value_size),
        y(v),
        dy(v),
        dv(v) {
    for (auto* scalars : {&decay, &beta}) scalars->assign(length, 1.0f);
    if (shape.normalised) factor.assign(length, 0.0f);
    matrix.assign(key_width * value_width, 0.0f);
    if (!backward) return;
    for (auto* scalars : {&dbeta, &inner}) scalars->assign(length, 0.0f);
  }
};

// Into an array of the function's own, which the compiler knows that no matrix overlaps.
template <int W>
RUNG_KERNEL_INLINE void copy(float (&to)[W], const float* from) {
  for (int i = 0; i < W; ++i) to[i] = from[i];
}
// sum_i s[i][r] * f[i] over the four rows s.
template <int W>
RUNG_KERNEL_INLINE float combine(const float* s, int r, const float* f) {
  return (s[r] * f[0] + s[W + r] * f[1]) + (s[2 * W + r] * f[2] + s[3 * W + r] * f[3]);
}

// Forward, the state by key; W = V.
template <int W>
RUNG_KERNEL_INLINE void forward_pass(Head& head, bool delta) {
  alignas(64) float u[W], sum[W];
  float* state = head.matrix.data();
  head.matrix.fill(0.0f);
  for (std::int64_t t = 0; t < head.length; ++t) {
    const float* q = head.q.at(t);
    const float* k = head.k.at(t);
    const float* v = head.v.at(t);
    const float decay = head.decay[t], beta = head.beta[t];
    copy<W>(u, v);
    if (delta) {
      float* e = head.e.at(t);
      for (int r = 0; r < W; ++r) sum[r] = 0.0f;
      for (std::int64_t c = 0; c < head.key_width; c += kStep) {
        const float f[kStep] = {k[c], k[c + 1], k[c + 2], k[c + 3]};
        for (int r = 0; r < W; ++r) sum[r] += combine<W>(state + c * W, r, f);
      }
      for (int r = 0; r < W; ++r) {
        e[r] = v[r] - decay * sum[r];
        u[r] = beta * e[r];
      }
    }
    for (int r = 0; r < W; ++r) sum[r] = 0.0f;
    for (std::int64_t c = 0; c < head.key_width; c += kStep) {
      float* s = state + c * W;
      const float f[kStep] = {k[c], k[c + 1], k[c + 2], k[c + 3]},
                  g[kStep] = {q[c], q[c + 1], q[c + 2], q[c + 3]};
      for (int r = 0; r < W; ++r) {
        s[r] = decay * s[r] + u[r] * f[0];
        s[W + r] = decay * s[W + r] + u[r] * f[1];
        s[2 * W + r] = decay * s[2 * W + r] + u[r] * f[2];
        s[3 * W + r] = decay * s[3 * W + r] + u[r] * f[3];
        sum[r] += combine<W>(s, r, g);
      }
    }
    float* y = head.y.at(t);
    for (int r = 0; r < W; ++r) y[r] = sum[r];
  }
}

// Reverse, G by key; W = V: du, de, dbeta, -v . dv.
template <int W>
RUNG_KERNEL_INLINE void reverse_values(Head& head, bool delta) {
  alignas(64) float dy[W], du[W], de[W];
  float* flow = head.matrix.data();
  head.matrix.fill(0.0f);
  for (std::int64_t t = head.length - 1; t >= 0; --t) {
    const float* q = head.q.at(t);
    const float* k = head.k.at(t);
    const float* v = head.v.at(t);
    const float decay = head.decay[t], beta = head.beta[t];
    copy<W>(dy, head.dy.at(t));
    for (int r = 0; r < W; ++r) du[r] = 0.0f;
    for (std::int64_t c = 0; c < head.key_width; c += kStep) {
      float* s = flow + c * W;
      const float f[kStep] = {k[c], k[c + 1], k[c + 2], k[c + 3]},
                  g[kStep] = {q[c], q[c + 1], q[c + 2], q[c + 3]};
      for (int r = 0; r < W; ++r) {
        s[r] += dy[r] * g[0];
        s[W + r] += dy[r] * g[1];
        s[2 * W + r] += dy[r] * g[2];
        s[3 * W + r] += dy[r] * g[3];
        du[r] += combine<W>(s, r, f);
      }
    }
    for (int r = 0; r < W; ++r) de[r] = beta * du[r];
    if (delta) {
      for (std::int64_t c = 0; c < head.key_width; ++c) {
        float* s = flow + c * W;
        for (int r = 0; r < W; ++r) s[r] = decay * (s[r] - de[r] * k[c]);
      }
    } else if (decay != 1.0f) {
      for (std::int64_t i = 0; i < head.key_width * W; ++i) flow[i] *= decay;
    }
    float inner = 0.0f, dbeta = 0.0f;
#pragma omp simd reduction(+ : inner)
    for (int r = 0; r < W; ++r) inner += de[r] * v[r];
    head.inner[t] = -inner;
    if (delta) {
      const float* e = head.e.at(t);
#pragma omp simd reduction(+ : dbeta)
      for (int r = 0; r < W; ++r) dbeta += du[r] * e[r];
      head.dbeta[t] = dbeta;
    }
    float* dv = head.dv.at(t);
    for (int r = 0; r < W; ++r) dv[r] = de[r];
  }
}

// Reverse, G by value, then forward, S by value; W = K: dk, dq, and q . dq added to inner.
template <bool Delta, int W>
RUNG_KERNEL_INLINE void reverse_keys(Head& head) {
  alignas(64) float q[W], k[W], sum[W], other[W];
  float* matrix = head.matrix.data();
  head.matrix.fill(0.0f);
  for (std::int64_t t = head.length - 1; t >= 0; --t) {
    copy<W>(q, head.q.at(t));
    copy<W>(k, head.k.at(t));
    const float* dy = head.dy.at(t);
    const float* de = head.dv.at(t);
    const float* u = (Delta ? head.e : head.v).at(t);
    const float decay = head.decay[t], beta = head.beta[t];
    for (int c = 0; c < W; ++c) sum[c] = 0.0f;
    for (std::int64_t r = 0; r < head.value_width; r += kStep) {
      float* s = matrix + r * W;
      const float g[kStep] = {dy[r], dy[r + 1], dy[r + 2], dy[r + 3]},
                  f[kStep] = {u[r], u[r + 1], u[r + 2], u[r + 3]};
      const float d[kStep] = {de[r], de[r + 1], de[r + 2], de[r + 3]};
      for (int c = 0; c < W; ++c) {
        const float t0 = s[c] + g[0] * q[c], t1 = s[W + c] + g[1] * q[c];
        const float t2 = s[2 * W + c] + g[2] * q[c], t3 = s[3 * W + c] + g[3] * q[c];
        sum[c] += (t0 * f[0] + t1 * f[1]) + (t2 * f[2] + t3 * f[3]);
        s[c] = decay * (Delta ? t0 - d[0] * k[c] : t0);
        s[W + c] = decay * (Delta ? t1 - d[1] * k[c] : t1);
        s[2 * W + c] = decay * (Delta ? t2 - d[2] * k[c] : t2);
        s[3 * W + c] = decay * (Delta ? t3 - d[3] * k[c] : t3);
      }
    }
    float* dk = head.dk.at(t);
    for (int c = 0; c < W; ++c) dk[c] = beta * sum[c];
  }
  head.matrix.fill(0.0f);
  for (std::int64_t t = 0; t < head.length; ++t) {
    copy<W>(q, head.q.at(t));
    copy<W>(k, head.k.at(t));
    const float* dy = head.dy.at(t);
    const float* de = head.dv.at(t);
    const float* u = (Delta ? head.e : head.v).at(t);
    const float decay = head.decay[t], beta = head.beta[t];
    for (int c = 0; c < W; ++c) sum[c] = other[c] = 0.0f;
    for (std::int64_t r = 0; r < head.value_width; r += kStep) {
      float* s = matrix + r * W;
      const float g[kStep] = {dy[r], dy[r + 1], dy[r + 2], dy[r + 3]},
                  d[kStep] = {de[r], de[r + 1], de[r + 2], de[r + 3]};
      const float f[kStep] = {beta * u[r], beta * u[r + 1], beta * u[r + 2], beta * u[r + 3]};
      for (int c = 0; c < W; ++c) {
        const float t0 = decay * s[c], t1 = decay * s[W + c], t2 = decay * s[2 * W + c],
                    t3 = decay * s[3 * W + c];
        if (Delta) other[c] += (t0 * d[0] + t1 * d[1]) + (t2 * d[2] + t3 * d[3]);
        s[c] = t0 + f[0] * k[c];
        s[W + c] = t1 + f[1] * k[c];
        s[2 * W + c] = t2 + f[2] * k[c];
        s[3 * W + c] = t3 + f[3] * k[c];
        sum[c] += combine<W>(s, c, g);
      }
    }
    float inner = 0.0f;
    float* dq = head.dq.at(t);
    float* dk = head.dk.at(t);
#pragma omp simd reduction(+ : inner)
    for (int c = 0; c < W; ++c) {
      inner += q[c] * sum[c];
      dq[c] = sum[c];
      if (Delta) dk[c] -= other[c];
    }
    head.inner[t] += inner;
  }
}

// Normalised: with Z_t = k_1 + ... + k_t, y_t / (Z_t . q_t) is y_t times its factor, 0 where the divisor is.
RUNG_KERNEL_CLONES void find_factors(Head& head) {
  alignas(64) float total[kWidest] = {};
  const std::int64_t width = head.key_width;
  for (std::int64_t t = 0; t < head.length; ++t) {
    const float* q = head.q.at(t);
    const float* k = head.k.at(t);
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t c = 0; c < width; ++c) {
      total[c] += k[c];
      sum += total[c] * q[c];
    }
    head.factor[t] = sum != 0.0f ? 1.0f / sum : 0.0f;
  }
}
RUNG_KERNEL_CLONES void times_factors(Head& head, HeadRows& from, HeadRows& to) {
  for (std::int64_t t = 0; t < head.length; ++t) {
    const float* in = from.at(t);
    float* out = to.at(t);
    const float factor = head.factor[t];
    for (std::int64_t r = 0; r < head.value_width; ++r) out[r] = in[r] * factor;
  }
}
// What flows through the divisors, dz_t = -factor_t (y_t . dy_t): dq_t += dz_t Z_t, dk_t += sum_{s >= t} dz_s q_s. Of
// what is not yet divided y . dy = q . dq (matrix_recurrence.h), so that y is not needed.
RUNG_KERNEL_CLONES void through_divisors(Head& head) {
  alignas(64) float total[kWidest] = {};
  const std::int64_t width = head.key_width;
  for (std::int64_t t = 0; t < head.length; ++t) {
    const float *q = head.q.at(t), *k = head.k.at(t);
    float* dq = head.dq.at(t);
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t c = 0; c < width; ++c) sum += q[c] * dq[c];
    const float dz = -head.factor[t] * sum;
    head.inner[t] = dz;
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
      total[c] += k[c];
      dq[c] += dz * total[c];
    }
  }
  for (std::int64_t c = 0; c < width; ++c) total[c] = 0.0f;
  for (std::int64_t t = head.length - 1; t >= 0; --t) {
    const float* q = head.q.at(t);
    float* dk = head.dk.at(t);
    const float dz = head.inner[t];
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
      total[c] += dz * q[c];
      dk[c] += total[c];
    }
  }
}

// The instantiations a width may need.
#define RUNG_BY_WIDTH(width, call)    \
  do {                                \
    if ((width) == 8) {               \
      constexpr int kWidth = 8;       \
      call;                           \
    } else if ((width) == 16) {       \
      constexpr int kWidth = 16;      \
      call;                           \
    } else if ((width) == 32) {       \
      constexpr int kWidth = 32;      \
      call;                           \
    } else if ((width) == 64) {       \
      constexpr int kWidth = 64;      \
      call;                           \
    } else if ((width) == 128) {      \
      constexpr int kWidth = 128;     \
      call;                           \
    } else {                          \
      constexpr int kWidth = kWidest; \
      call;                           \
    }                                 \
  } while (false)

RUNG_KERNEL_CLONES void forward(Head& head, bool delta) {
  RUNG_BY_WIDTH(head.value_width, (forward_pass<kWidth>(head, delta)));
}
RUNG_KERNEL_CLONES void values(Head& head, bool delta) {
  RUNG_BY_WIDTH(head.value_width, (reverse_values<kWidth>(head, delta)));
}
RUNG_KERNEL_CLONES void keys(Head& head) {
  RUNG_BY_WIDTH(head.key_width, (reverse_keys<false, kWidth>(head)));
}
RUNG_KERNEL_CLONES void keys_of_delta(Head& head) {
  RUNG_BY_WIDTH(head.key_width, (reverse_keys<true, kWidth>(head)));
}
#undef RUNG_BY_WIDTH

void require_shape(const RecurrenceShape& shape, const RecurrenceInputs& inputs) {
  RUNG_REQUIRE(shape.sequences >= 0 && shape.positions >= 0 && shape.heads >= 1, "N={} T={} H={}",
               shape.sequences, shape.positions, shape.heads);
  RUNG_REQUIRE(shape.key_size >= 1 && shape.key_size <= kWidest && shape.value_size >= 1 &&
                   shape.value_size <= kWidest,
               "dk={} dv={}, expected 1..{}", shape.key_size, shape.value_size, kWidest);
  RUNG_REQUIRE(shape.delta == (inputs.beta != nullptr), "delta={}", shape.delta);
  RUNG_REQUIRE(!shape.normalised || !(shape.delta || inputs.log_decay), "normalised with a decay or beta");
}

// The scalars of head h of sequence n: [N, T, H] from the first of them on, H apart.
std::int64_t scalar(const RecurrenceShape& shape, std::int64_t n, std::int64_t h, std::int64_t t) {
  return (n * shape.positions + t) * shape.heads + h;
}

void read_inputs(const RecurrenceShape& shape, const RecurrenceInputs& inputs, std::int64_t n, std::int64_t h,
                 Head& head) {
  head.q.read(inputs.q, n, h);
  head.k.read(inputs.k, n, h);
  head.v.read(inputs.v, n, h);
  for (std::int64_t t = 0; t < head.length; ++t) {
    if (inputs.log_decay) head.decay[t] = std::exp(inputs.log_decay[scalar(shape, n, h, t)]);
    if (inputs.beta) head.beta[t] = inputs.beta[scalar(shape, n, h, t)];
  }
}

}  // namespace

void matrix_recurrence_forward(const RecurrenceShape& shape, const RecurrenceInputs& inputs,
                               const MutableSlice& y, float* error) {
  require_shape(shape, inputs);
  if (shape.positions == 0) return;
  Head head(shape, false);
  // Errors that nobody keeps are written to one place, again and again.
  std::vector<float> unkept(static_cast<std::size_t>(shape.heads * shape.value_size));
  const MutableSlice errors = error ? whole(error, shape.positions, shape.heads, shape.value_size)
                                    : MutableSlice{unkept.data(), 0, 0};
  for (std::int64_t n = 0; n < shape.sequences; ++n)
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      read_inputs(shape, inputs, n, h, head);
      head.y.begin(y, n, h);
      head.e.begin(errors, n, h);
      forward(head, shape.delta);
      if (shape.normalised) {
        find_factors(head);
        times_factors(head, head.y, head.y);
      }
      head.y.end();
      if (shape.delta) head.e.end();
    }
}

void matrix_recurrence_backward(const RecurrenceShape& shape, const RecurrenceInputs& inputs,
                                const float* error, const Slice& dy, const RecurrenceGradients& gradients) {
  require_shape(shape, inputs);
  RUNG_REQUIRE(!shape.delta || (error && gradients.dbeta), "delta needs its errors and a place for dbeta");
  RUNG_REQUIRE(!inputs.log_decay || gradients.dlog_decay, "a decay needs a place for its gradient");
  if (shape.positions == 0) return;
  Head head(shape, true);
  // Normalised: the slope of what is divided, of one head after another.
  std::vector<float> slopes(
      static_cast<std::size_t>(shape.normalised ? shape.positions * shape.value_size : 0));
  const MutableSlice slope{slopes.data(), 0, shape.value_size};
  for (std::int64_t n = 0; n < shape.sequences; ++n)
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      read_inputs(shape, inputs, n, h, head);
      head.dy.read(dy, n, h);
      if (shape.normalised) {
        find_factors(head);
        head.y.begin(slope, 0, 0);
        times_factors(head, head.dy, head.y);
        head.y.end();
        head.dy.read(slope, 0, 0);
      }
      if (shape.delta) head.e.read(whole(error, shape.positions, shape.heads, shape.value_size), n, h);
      head.dq.begin(gradients.dq, n, h);
      head.dk.begin(gradients.dk, n, h);
      head.dv.begin(gradients.dv, n, h);
      values(head, shape.delta);
      (shape.delta ? keys_of_delta : keys)(head);
      if (shape.normalised) through_divisors(head);
      head.dq.end();
      head.dk.end();
      head.dv.end();
      float total = 0.0f;
      for (std::int64_t t = head.length - 1; t >= 0; --t) {
        total += head.inner[t];
        if (inputs.log_decay) gradients.dlog_decay[scalar(shape, n, h, t)] = total;
        if (shape.delta) gradients.dbeta[scalar(shape, n, h, t)] = head.dbeta[t];
      }
    }
}

bool recurrence_fits_host(const RecurrenceShape& shape) {
  return shape.key_size <= kWidest && shape.value_size <= kWidest &&
         (!shape.normalised || (shape.element == Element::f32 && !shape.delta));
}
bool recurrence_fits_device(const RecurrenceShape& shape) {
  return shape.key_size <= 64 && shape.value_size <= 64;
}

}  // namespace rung::kernels
