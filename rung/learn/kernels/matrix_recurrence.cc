// One thread, one head after another. Two layouts of a matrix serve the two products without a horizontal
// sum: "by key"
// ([key][value], products with k and q) and "by value" ([value][key], products with u and dy). The inner
// dimension is padded with zeros to a width the compiler knows; the outer one is taken four at a time, so
// that a sum is fetched and put back every fourth time only.
#include "rung/learn/kernels/matrix_recurrence.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "rung/learn/kernels/vector_clones.h"
#include "rung/spec/require.h"

namespace rung::kernels {
namespace {

// Where one head of one sequence stands.
struct Head {
  const RecurrenceShape* shape;
  const RecurrenceInputs* inputs;
  std::int64_t sequence, head;
  std::int64_t scalar(std::int64_t t) const {
    return (sequence * shape->positions + t) * shape->heads + head;
  }
  float decay(std::int64_t t) const {
    return inputs->log_decay ? std::exp(inputs->log_decay[scalar(t)]) : 1.0f;
  }
};

template <class T>
RUNG_KERNEL_INLINE const T* row(const Slice& slice, const Head& at, std::int64_t t, std::int64_t size) {
  return static_cast<const T*>(slice.data) + at.sequence * slice.sequence_stride + t * slice.position_stride +
         at.head * size;
}
template <class T>
RUNG_KERNEL_INLINE T* row(const MutableSlice& slice, const Head& at, std::int64_t t, std::int64_t size) {
  return static_cast<T*>(slice.data) + at.sequence * slice.sequence_stride + t * slice.position_stride +
         at.head * size;
}
template <class T>
RUNG_KERNEL_INLINE void load(float* to, const T* from, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) to[i] = to_float(from[i]);
}
template <class T>
RUNG_KERNEL_INLINE void save(T* to, const float* from, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) store(to[i], from[i]);
}

constexpr int kWidest = 256;  // dk, dv
constexpr int kStep = 4;      // outer rows at a time; kWidest is a multiple

// sum_i s[i][r] * f[i] over the four rows s.
template <int W>
RUNG_KERNEL_INLINE float combine(const float* s, int r, float f0, float f1, float f2, float f3) {
  return (s[r] * f0 + s[W + r] * f1) + (s[2 * W + r] * f2 + s[3 * W + r] * f3);
}

// Forward with the state by key; W is value_size padded.
template <class T, int W>
RUNG_KERNEL_INLINE void forward_head(const Head& at, const MutableSlice& y, float* error, float* state) {
  const RecurrenceShape& shape = *at.shape;
  const std::int64_t dk = shape.key_size, dv = shape.value_size;
  alignas(64) float q[kWidest] = {}, k[kWidest] = {}, v[W] = {}, u[W], out[W];
  std::fill(state, state + (dk + kStep - 1) * W, 0.0f);
  for (std::int64_t t = 0; t < shape.positions; ++t) {
    load(q, row<T>(at.inputs->q, at, t, dk), dk);
    load(k, row<T>(at.inputs->k, at, t, dk), dk);
    load(v, row<T>(at.inputs->v, at, t, dv), dv);
    const float decay = at.decay(t);
    if (shape.delta) {
      for (int r = 0; r < W; ++r) out[r] = 0.0f;
      for (std::int64_t c = 0; c < dk; c += kStep) {
        const float* s = state + c * W;
        const float k0 = k[c], k1 = k[c + 1], k2 = k[c + 2], k3 = k[c + 3];
        for (int r = 0; r < W; ++r) out[r] += combine<W>(s, r, k0, k1, k2, k3);
      }
      const float beta = at.inputs->beta[at.scalar(t)];
      for (int r = 0; r < W; ++r) u[r] = v[r] - decay * out[r];
      if (error) save(error + at.scalar(t) * dv, u, dv);
      for (int r = 0; r < W; ++r) u[r] *= beta;
    } else {
      for (int r = 0; r < W; ++r) u[r] = v[r];
    }
    for (int r = 0; r < W; ++r) out[r] = 0.0f;
    for (std::int64_t c = 0; c < dk; c += kStep) {
      float* s = state + c * W;
      const float k0 = k[c], k1 = k[c + 1], k2 = k[c + 2], k3 = k[c + 3];
      const float q0 = q[c], q1 = q[c + 1], q2 = q[c + 2], q3 = q[c + 3];
      for (int r = 0; r < W; ++r) {
        s[r] = decay * s[r] + u[r] * k0;
        s[W + r] = decay * s[W + r] + u[r] * k1;
        s[2 * W + r] = decay * s[2 * W + r] + u[r] * k2;
        s[3 * W + r] = decay * s[3 * W + r] + u[r] * k3;
        out[r] += combine<W>(s, r, q0, q1, q2, q3);
      }
    }
    save(row<T>(y, at, t, dv), out, dv);
  }
}

// What the passes of one head's backward hand on, [T] and [T, dv].
struct Handed {
  float *de, *inner;  // de for delta; inner: the terms of the decay's gradient
};

// Reverse with G by key; W is value_size padded. du, de, dv, dbeta.
template <class T, int W>
RUNG_KERNEL_INLINE void reverse_values(const Head& at, const float* error, const Slice& dy,
                                       const RecurrenceGradients& gradients, const Handed& handed,
                                       float* carried) {
  const RecurrenceShape& shape = *at.shape;
  const std::int64_t dk = shape.key_size, dv = shape.value_size;
  alignas(64) float q[kWidest] = {}, k[kWidest] = {}, v[W] = {}, g[W] = {}, du[W], de[W];
  std::fill(carried, carried + (dk + kStep - 1) * W, 0.0f);
  for (std::int64_t t = shape.positions - 1; t >= 0; --t) {
    load(q, row<T>(at.inputs->q, at, t, dk), dk);
    load(k, row<T>(at.inputs->k, at, t, dk), dk);
    load(g, row<T>(dy, at, t, dv), dv);
    for (int r = 0; r < W; ++r) du[r] = 0.0f;
    for (std::int64_t c = 0; c < dk; c += kStep) {
      float* s = carried + c * W;
      const float k0 = k[c], k1 = k[c + 1], k2 = k[c + 2], k3 = k[c + 3];
      const float q0 = q[c], q1 = q[c + 1], q2 = q[c + 2], q3 = q[c + 3];
      for (int r = 0; r < W; ++r) {
        s[r] += g[r] * q0;
        s[W + r] += g[r] * q1;
        s[2 * W + r] += g[r] * q2;
        s[3 * W + r] += g[r] * q3;
        du[r] += combine<W>(s, r, k0, k1, k2, k3);
      }
    }
    const float decay = at.decay(t);
    const std::int64_t scalar = at.scalar(t);
    float inner = 0.0f;
    if (shape.delta) {
      const float beta = at.inputs->beta[scalar];
      for (int r = 0; r < W; ++r) de[r] = beta * du[r];
      load(v, row<T>(at.inputs->v, at, t, dv), dv);
      const float* e = error + scalar * dv;
      float dbeta = 0.0f;
#pragma omp simd reduction(+ : dbeta)
      for (std::int64_t r = 0; r < dv; ++r) dbeta += du[r] * e[r];
#pragma omp simd reduction(+ : inner)
      for (std::int64_t r = 0; r < dv; ++r) inner += de[r] * v[r];
      gradients.dbeta[scalar] = dbeta;
      for (std::int64_t c = 0; c < dk; ++c) {
        float* s = carried + c * W;
        const float kc = k[c];
        for (int r = 0; r < W; ++r) s[r] = decay * (s[r] - de[r] * kc);
      }
      save(handed.de + t * dv, de, dv);
    } else {
      if (at.inputs->log_decay) {
        load(v, row<T>(at.inputs->v, at, t, dv), dv);
#pragma omp simd reduction(+ : inner)
        for (std::int64_t r = 0; r < dv; ++r) inner += du[r] * v[r];
        for (std::int64_t i = 0; i < dk * W; ++i) carried[i] *= decay;
      }
    }
    handed.inner[t] = -inner;
    save(row<T>(gradients.dv, at, t, dv), shape.delta ? de : du, dv);
  }
}

// u_t of one token as float.
template <class T>
RUNG_KERNEL_INLINE void load_update(const Head& at, const float* error, std::int64_t t, float* u) {
  const std::int64_t dv = at.shape->value_size;
  if (at.shape->delta) {
    const float beta = at.inputs->beta[at.scalar(t)];
    const float* e = error + at.scalar(t) * dv;
    for (std::int64_t r = 0; r < dv; ++r) u[r] = beta * e[r];
  } else {
    load(u, row<T>(at.inputs->v, at, t, dv), dv);
  }
}

// Reverse with G by value, then forward with S by value; W is key_size padded. dk, dq, the decay's gradient.
template <class T, bool Delta, int W>
RUNG_KERNEL_INLINE void reverse_keys(const Head& at, const float* error, const Slice& dy,
                                     const RecurrenceGradients& gradients, const Handed& handed,
                                     float* carried, float* key_gradient) {
  const RecurrenceShape& shape = *at.shape;
  const std::int64_t dk = shape.key_size, dv = shape.value_size;
  alignas(64) float q[W] = {}, k[W] = {}, g[kWidest] = {}, u[kWidest] = {}, de[kWidest] = {}, dq[W],
                    dk_row[W];
  std::fill(carried, carried + (dv + kStep - 1) * W, 0.0f);
  for (std::int64_t t = shape.positions - 1; t >= 0; --t) {
    load(q, row<T>(at.inputs->q, at, t, dk), dk);
    load(k, row<T>(at.inputs->k, at, t, dk), dk);
    load(g, row<T>(dy, at, t, dv), dv);
    load_update<T>(at, error, t, u);
    const float decay = at.decay(t);
    if (Delta) load(de, handed.de + t * dv, dv);
    for (int c = 0; c < W; ++c) dk_row[c] = 0.0f;
    for (std::int64_t r = 0; r < dv; r += kStep) {
      float* s = carried + r * W;
      const float g0 = g[r], g1 = g[r + 1], g2 = g[r + 2], g3 = g[r + 3];
      const float u0 = u[r], u1 = u[r + 1], u2 = u[r + 2], u3 = u[r + 3];
      const float e0 = de[r], e1 = de[r + 1], e2 = de[r + 2], e3 = de[r + 3];
      for (int c = 0; c < W; ++c) {
        const float t0 = s[c] + g0 * q[c], t1 = s[W + c] + g1 * q[c];
        const float t2 = s[2 * W + c] + g2 * q[c], t3 = s[3 * W + c] + g3 * q[c];
        dk_row[c] += (t0 * u0 + t1 * u1) + (t2 * u2 + t3 * u3);
        s[c] = decay * (Delta ? t0 - e0 * k[c] : t0);
        s[W + c] = decay * (Delta ? t1 - e1 * k[c] : t1);
        s[2 * W + c] = decay * (Delta ? t2 - e2 * k[c] : t2);
        s[3 * W + c] = decay * (Delta ? t3 - e3 * k[c] : t3);
      }
    }
    save(key_gradient + t * dk, dk_row, dk);
  }
  std::fill(carried, carried + (dv + kStep - 1) * W, 0.0f);
  for (std::int64_t t = 0; t < shape.positions; ++t) {
    load(k, row<T>(at.inputs->k, at, t, dk), dk);
    load(g, row<T>(dy, at, t, dv), dv);
    load_update<T>(at, error, t, u);
    const float decay = at.decay(t);
    if (Delta) load(de, handed.de + t * dv, dv);
    for (int c = 0; c < W; ++c) dq[c] = dk_row[c] = 0.0f;
    for (std::int64_t r = 0; r < dv; r += kStep) {
      float* s = carried + r * W;
      const float g0 = g[r], g1 = g[r + 1], g2 = g[r + 2], g3 = g[r + 3];
      const float u0 = u[r], u1 = u[r + 1], u2 = u[r + 2], u3 = u[r + 3];
      const float e0 = de[r], e1 = de[r + 1], e2 = de[r + 2], e3 = de[r + 3];
      for (int c = 0; c < W; ++c) {
        const float t0 = decay * s[c], t1 = decay * s[W + c], t2 = decay * s[2 * W + c],
                    t3 = decay * s[3 * W + c];
        if (Delta) dk_row[c] += (t0 * e0 + t1 * e1) + (t2 * e2 + t3 * e3);
        s[c] = t0 + u0 * k[c];
        s[W + c] = t1 + u1 * k[c];
        s[2 * W + c] = t2 + u2 * k[c];
        s[3 * W + c] = t3 + u3 * k[c];
        dq[c] += combine<W>(s, c, g0, g1, g2, g3);
      }
    }
    float* total = key_gradient + t * dk;
    for (std::int64_t c = 0; c < dk; ++c) total[c] -= dk_row[c];
    save(row<T>(gradients.dk, at, t, dk), total, dk);
    save(row<T>(gradients.dq, at, t, dk), dq, dk);
    if (at.inputs->log_decay) {
      load(q, row<T>(at.inputs->q, at, t, dk), dk);
      float inner = 0.0f;
#pragma omp simd reduction(+ : inner)
      for (std::int64_t c = 0; c < dk; ++c) inner += q[c] * dq[c];
      handed.inner[t] += inner;
    }
  }
}

// The instantiations a size may need: the smallest width that holds it.
#define RUNG_BY_WIDTH(size, call)     \
  do {                                \
    if ((size) <= 8) {                \
      constexpr int kWidth = 8;       \
      call;                           \
    } else if ((size) <= 16) {        \
      constexpr int kWidth = 16;      \
      call;                           \
    } else if ((size) <= 32) {        \
      constexpr int kWidth = 32;      \
      call;                           \
    } else if ((size) <= 64) {        \
      constexpr int kWidth = 64;      \
      call;                           \
    } else {                          \
      constexpr int kWidth = kWidest; \
      call;                           \
    }                                 \
  } while (false)

RUNG_KERNEL_CLONES void forward_f32(const Head& at, const MutableSlice& y, float* error, float* state) {
  RUNG_BY_WIDTH(at.shape->value_size, (forward_head<float, kWidth>(at, y, error, state)));
}
RUNG_KERNEL_CLONES void forward_bf16(const Head& at, const MutableSlice& y, float* error, float* state) {
  RUNG_BY_WIDTH(at.shape->value_size, (forward_head<Bf16, kWidth>(at, y, error, state)));
}
RUNG_KERNEL_CLONES void values_f32(const Head& at, const float* error, const Slice& dy,
                                   const RecurrenceGradients& out, const Handed& handed, float* carried) {
  RUNG_BY_WIDTH(at.shape->value_size, (reverse_values<float, kWidth>(at, error, dy, out, handed, carried)));
}
RUNG_KERNEL_CLONES void values_bf16(const Head& at, const float* error, const Slice& dy,
                                    const RecurrenceGradients& out, const Handed& handed, float* carried) {
  RUNG_BY_WIDTH(at.shape->value_size, (reverse_values<Bf16, kWidth>(at, error, dy, out, handed, carried)));
}
RUNG_KERNEL_CLONES void keys_f32(const Head& at, const float* error, const Slice& dy,
                                 const RecurrenceGradients& out, const Handed& handed, float* carried,
                                 float* key_gradient) {
  RUNG_BY_WIDTH(at.shape->key_size,
                (reverse_keys<float, false, kWidth>(at, error, dy, out, handed, carried, key_gradient)));
}
RUNG_KERNEL_CLONES void keys_delta_f32(const Head& at, const float* error, const Slice& dy,
                                       const RecurrenceGradients& out, const Handed& handed, float* carried,
                                       float* key_gradient) {
  RUNG_BY_WIDTH(at.shape->key_size,
                (reverse_keys<float, true, kWidth>(at, error, dy, out, handed, carried, key_gradient)));
}
RUNG_KERNEL_CLONES void keys_bf16(const Head& at, const float* error, const Slice& dy,
                                  const RecurrenceGradients& out, const Handed& handed, float* carried,
                                  float* key_gradient) {
  RUNG_BY_WIDTH(at.shape->key_size,
                (reverse_keys<Bf16, false, kWidth>(at, error, dy, out, handed, carried, key_gradient)));
}
RUNG_KERNEL_CLONES void keys_delta_bf16(const Head& at, const float* error, const Slice& dy,
                                        const RecurrenceGradients& out, const Handed& handed, float* carried,
                                        float* key_gradient) {
  RUNG_BY_WIDTH(at.shape->key_size,
                (reverse_keys<Bf16, true, kWidth>(at, error, dy, out, handed, carried, key_gradient)));
}
#undef RUNG_BY_WIDTH

void require_shape(const RecurrenceShape& shape, const RecurrenceInputs& inputs) {
  RUNG_REQUIRE(shape.sequences >= 0 && shape.positions >= 0 && shape.heads >= 1, "N={} T={} H={}",
               shape.sequences, shape.positions, shape.heads);
  RUNG_REQUIRE(shape.key_size >= 1 && shape.key_size <= kWidest && shape.value_size >= 1 &&
                   shape.value_size <= kWidest,
               "dk={} dv={}, expected 1..{}", shape.key_size, shape.value_size, kWidest);
  RUNG_REQUIRE(shape.delta == (inputs.beta != nullptr), "delta={}", shape.delta);
}

}  // namespace

void matrix_recurrence_forward(const RecurrenceShape& shape, const RecurrenceInputs& inputs,
                               const MutableSlice& y, float* error) {
  require_shape(shape, inputs);
  std::vector<float> state(static_cast<std::size_t>((shape.key_size + kStep - 1) * kWidest));
  for (std::int64_t n = 0; n < shape.sequences; ++n)
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const Head at{&shape, &inputs, n, h};
      (shape.element == Element::f32 ? forward_f32 : forward_bf16)(at, y, error, state.data());
    }
}

void matrix_recurrence_backward(const RecurrenceShape& shape, const RecurrenceInputs& inputs,
                                const float* error, const Slice& dy, const RecurrenceGradients& gradients) {
  require_shape(shape, inputs);
  RUNG_REQUIRE(!shape.delta || (error && gradients.dbeta), "delta needs its errors and a place for dbeta");
  RUNG_REQUIRE(!inputs.log_decay || gradients.dlog_decay, "a decay needs a place for its gradient");
  const std::int64_t length = shape.positions;
  std::vector<float> carried(
      static_cast<std::size_t>((std::max(shape.key_size, shape.value_size) + kStep - 1) * kWidest));
  std::vector<float> de(static_cast<std::size_t>(length * shape.value_size));
  std::vector<float> key_gradient(static_cast<std::size_t>(length * shape.key_size));
  std::vector<float> inner(static_cast<std::size_t>(length));
  const Handed handed{de.data(), inner.data()};
  const bool wide = shape.element == Element::f32;
  const auto keys = shape.delta ? (wide ? keys_delta_f32 : keys_delta_bf16) : (wide ? keys_f32 : keys_bf16);
  for (std::int64_t n = 0; n < shape.sequences; ++n)
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const Head at{&shape, &inputs, n, h};
      (wide ? values_f32 : values_bf16)(at, error, dy, gradients, handed, carried.data());
      keys(at, error, dy, gradients, handed, carried.data(), key_gradient.data());
      if (!inputs.log_decay) continue;
      float total = 0.0f;
      for (std::int64_t t = length - 1; t >= 0; --t) {
        total += inner[static_cast<std::size_t>(t)];
        gradients.dlog_decay[at.scalar(t)] = total;
      }
    }
}

bool recurrence_fits_device(const RecurrenceShape& shape) {
  return shape.key_size <= 64 && shape.value_size <= 64;
}

}  // namespace rung::kernels
