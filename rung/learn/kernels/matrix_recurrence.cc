// One thread, one head after another. A head's vectors are rows of a width that the compiler knows
// (head_rows.h). Two layouts of a matrix then serve the two kinds of product without a horizontal sum: "by key"
// ([key][value], products with k and q) and "by value" ([value][key], products with u and dy). The inner
// dimension is a vector; the outer one is taken four at a time, so that a sum is fetched and put back every
// fourth time only. The passes are compiled for each form: what a form lacks costs it nothing.
#include "rung/learn/kernels/matrix_recurrence.h"

#include <cmath>
#include <vector>

#include "rung/base/require.h"
#include "rung/learn/kernels/exponential.h"
#include "rung/learn/kernels/head_rows.h"
#include "rung/learn/kernels/vector_clones.h"

namespace rung::kernels {
namespace {

constexpr int kWidest = 256;  // dk, dv
constexpr int kStep = 4;      // outer rows at a time; every width is a multiple

// The first two decay by head, the others by key channel.
enum class Form { sum, delta, channel_sum, channel_delta, low_rank };
constexpr bool by_channel(Form form) { return form != Form::sum && form != Form::delta; }
constexpr bool is_delta(Form form) { return form == Form::delta || form == Form::channel_delta; }
Form form_of(const RecurrenceShape& shape) {
  if (shape.low_rank) return Form::low_rank;
  if (shape.delta) return shape.channels ? Form::channel_delta : Form::delta;
  return shape.channels ? Form::channel_sum : Form::sum;
}

// One head of one sequence.
struct Head {
  std::int64_t length, key_width, value_width;
  HeadRows q, k, dq, dk;     // [T, dk]
  HeadRows a, b, da, db;     // [T, dk]; low rank
  HeadRows v, e, y, dy, dv;  // [T, dv]; e: delta, and p of low rank
  Numbers decay, beta;       // [T]; 1 where there is none
  Numbers decays, slopes;    // [T, key_width] by channel; slopes: q dq - k (G^T u + S'^T de) - b db
  Numbers dbeta, inner;      // [T]; inner: q . dq - v . dv
  Numbers dp;                // [T, value_width]; low rank
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
        a(shape.element, shape.low_rank ? length : 0, shape.key_size),
        b(a),
        da(a),
        db(a),
        v(shape.element, length, shape.value_size),
        e(Element::f32, length, shape.value_size),
        y(v),
        dy(v),
        dv(v) {
    for (auto* scalars : {&decay, &beta}) scalars->assign(length, 1.0f);
    if (shape.channels) decays.assign(length * key_width, 1.0f);
    if (shape.normalised) factor.assign(length, 0.0f);
    matrix.assign(key_width * value_width, 0.0f);
    if (!backward) return;
    if (shape.channels) slopes.assign(length * key_width, 0.0f);
    if (shape.low_rank) dp.assign(length * value_width, 0.0f);
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
// x * f[i] more in each of the four rows.
template <int W>
RUNG_KERNEL_INLINE void add_rows(float* s, int r, float x, const float* f) {
  s[r] += x * f[0];
  s[W + r] += x * f[1];
  s[2 * W + r] += x * f[2];
  s[3 * W + r] += x * f[3];
}
// The decay of key c: the head's, or its own.
template <Form F>
RUNG_KERNEL_INLINE float decay_of(std::int64_t c, float decay, const float* decays) {
  return by_channel(F) ? decays[c] : decay;
}

// Forward, the state by key; W = V.
template <Form F, int W>
RUNG_KERNEL_INLINE void forward_pass(Head& head) {
  alignas(64) float u[W], p[W], sum[W];
  float* state = head.matrix.data();
  head.matrix.fill(0.0f);
  for (std::int64_t t = 0; t < head.length; ++t) {
    const float* q = head.q.at(t);
    const float* k = head.k.at(t);
    const float* v = head.v.at(t);
    const float* b = F == Form::low_rank ? head.b.at(t) : nullptr;
    const float* decays = by_channel(F) ? &head.decays[t * head.key_width] : nullptr;
    const float decay = head.decay[t], beta = head.beta[t];
    copy<W>(u, v);
    if (is_delta(F) || F == Form::low_rank) {
      const float* read = F == Form::low_rank ? head.a.at(t) : k;
      float* e = head.e.at(t);
      for (int r = 0; r < W; ++r) p[r] = 0.0f;
      for (std::int64_t c = 0; c < head.key_width; c += kStep) {
        float f[kStep] = {read[c], read[c + 1], read[c + 2], read[c + 3]};
        if (F == Form::channel_delta)
          for (int i = 0; i < kStep; ++i) f[i] *= decays[c + i];
        for (int r = 0; r < W; ++r) p[r] += combine<W>(state + c * W, r, f);
      }
      for (int r = 0; r < W; ++r) {
        e[r] = F == Form::low_rank ? p[r] : v[r] - (F == Form::delta ? decay * p[r] : p[r]);
        if (is_delta(F)) u[r] = beta * e[r];
      }
    }
    for (int r = 0; r < W; ++r) sum[r] = 0.0f;
    for (std::int64_t c = 0; c < head.key_width; c += kStep) {
      float* s = state + c * W;
      const float f[kStep] = {k[c], k[c + 1], k[c + 2], k[c + 3]},
                  g[kStep] = {q[c], q[c + 1], q[c + 2], q[c + 3]};
      const float d[kStep] = {decay_of<F>(c, decay, decays), decay_of<F>(c + 1, decay, decays),
                              decay_of<F>(c + 2, decay, decays), decay_of<F>(c + 3, decay, decays)};
      float h[kStep] = {};
      if (F == Form::low_rank)
        for (int i = 0; i < kStep; ++i) h[i] = b[c + i];
      for (int r = 0; r < W; ++r) {
        s[r] = d[0] * s[r] + u[r] * f[0];
        s[W + r] = d[1] * s[W + r] + u[r] * f[1];
        s[2 * W + r] = d[2] * s[2 * W + r] + u[r] * f[2];
        s[3 * W + r] = d[3] * s[3 * W + r] + u[r] * f[3];
        if (F == Form::low_rank) add_rows<W>(s, r, p[r], h);
        sum[r] += combine<W>(s, r, g);
      }
    }
    float* y = head.y.at(t);
    for (int r = 0; r < W; ++r) y[r] = sum[r];
  }
}

// Reverse, G by key; W = V: du, de, dbeta, dp, and where a head decays as a whole -v . dv.
template <Form F, int W>
RUNG_KERNEL_INLINE void reverse_values(Head& head) {
  alignas(64) float dy[W], du[W], de[W], dp[W];
  float* flow = head.matrix.data();
  head.matrix.fill(0.0f);
  for (std::int64_t t = head.length - 1; t >= 0; --t) {
    const float* q = head.q.at(t);
    const float* k = head.k.at(t);
    const float* v = head.v.at(t);
    const float* b = F == Form::low_rank ? head.b.at(t) : nullptr;
    const float* decays = by_channel(F) ? &head.decays[t * head.key_width] : nullptr;
    const float decay = head.decay[t], beta = head.beta[t];
    copy<W>(dy, head.dy.at(t));
    for (int r = 0; r < W; ++r) du[r] = dp[r] = 0.0f;
    for (std::int64_t c = 0; c < head.key_width; c += kStep) {
      float* s = flow + c * W;
      const float f[kStep] = {k[c], k[c + 1], k[c + 2], k[c + 3]},
                  g[kStep] = {q[c], q[c + 1], q[c + 2], q[c + 3]};
      float h[kStep] = {};
      if (F == Form::low_rank)
        for (int i = 0; i < kStep; ++i) h[i] = b[c + i];
      for (int r = 0; r < W; ++r) {
        add_rows<W>(s, r, dy[r], g);
        du[r] += combine<W>(s, r, f);
        if (F == Form::low_rank) dp[r] += combine<W>(s, r, h);
      }
    }
    for (int r = 0; r < W; ++r) de[r] = beta * du[r];
    if (F != Form::sum || decay != 1.0f) {
      const float* a = F == Form::low_rank ? head.a.at(t) : nullptr;
      for (std::int64_t c = 0; c < head.key_width; ++c) {
        float* s = flow + c * W;
        const float d = decay_of<F>(c, decay, decays), key = k[c], read = F == Form::low_rank ? a[c] : 0.0f;
        for (int r = 0; r < W; ++r) {
          s[r] = d * (is_delta(F) ? s[r] - de[r] * key : s[r]);
          if (F == Form::low_rank) s[r] += dp[r] * read;
        }
      }
    }
    if (F == Form::low_rank)
      for (int r = 0; r < W; ++r) head.dp[t * W + r] = dp[r];
    float inner = 0.0f, dbeta = 0.0f;
    if (!by_channel(F)) {
#pragma omp simd reduction(+ : inner)
      for (int r = 0; r < W; ++r) inner += de[r] * v[r];
      head.inner[t] = -inner;
    }
    if (is_delta(F)) {
      const float* e = head.e.at(t);
#pragma omp simd reduction(+ : dbeta)
      for (int r = 0; r < W; ++r) dbeta += du[r] * e[r];
      head.dbeta[t] = dbeta;
    }
    float* dv = head.dv.at(t);
    for (int r = 0; r < W; ++r) dv[r] = de[r];
  }
}

// Reverse, G by value, then forward, S by value; W = K: dk, dq, da, db, and q . dq added to inner or, by channel, the
// slopes.
template <Form F, int W>
RUNG_KERNEL_INLINE void reverse_keys(Head& head) {
  constexpr bool kDelta = is_delta(F), kLowRank = F == Form::low_rank;
  alignas(64) float q[W], k[W], a[W], b[W], decays[W], sum[W], other[W];
  float* matrix = head.matrix.data();
  head.matrix.fill(0.0f);
  for (std::int64_t t = head.length - 1; t >= 0; --t) {
    copy<W>(q, head.q.at(t));
    copy<W>(k, head.k.at(t));
    if (kLowRank) copy<W>(a, head.a.at(t));
    if (by_channel(F)) copy<W>(decays, &head.decays[t * W]);
    const float* dy = head.dy.at(t);
    const float* de = head.dv.at(t);
    const float* e = head.e.at(t);
    const float* dp = kLowRank ? &head.dp[t * head.value_width] : nullptr;
    const float* u = kDelta ? e : head.v.at(t);
    const float decay = head.decay[t], beta = head.beta[t];
    for (int c = 0; c < W; ++c) sum[c] = other[c] = 0.0f;
    for (std::int64_t r = 0; r < head.value_width; r += kStep) {
      float* s = matrix + r * W;
      const float g[kStep] = {dy[r], dy[r + 1], dy[r + 2], dy[r + 3]},
                  f[kStep] = {u[r], u[r + 1], u[r + 2], u[r + 3]};
      const float d[kStep] = {de[r], de[r + 1], de[r + 2], de[r + 3]};
      float p[kStep] = {}, h[kStep] = {};
      if (kLowRank)
        for (int i = 0; i < kStep; ++i) p[i] = e[r + i], h[i] = dp[r + i];
      for (int c = 0; c < W; ++c) {
        const float w = decay_of<F>(c, decay, decays);
        const float t0 = s[c] + g[0] * q[c], t1 = s[W + c] + g[1] * q[c];
        const float t2 = s[2 * W + c] + g[2] * q[c], t3 = s[3 * W + c] + g[3] * q[c];
        sum[c] += (t0 * f[0] + t1 * f[1]) + (t2 * f[2] + t3 * f[3]);
        if (kLowRank) other[c] += (t0 * p[0] + t1 * p[1]) + (t2 * p[2] + t3 * p[3]);
        s[c] = w * (kDelta ? t0 - d[0] * k[c] : t0);
        s[W + c] = w * (kDelta ? t1 - d[1] * k[c] : t1);
        s[2 * W + c] = w * (kDelta ? t2 - d[2] * k[c] : t2);
        s[3 * W + c] = w * (kDelta ? t3 - d[3] * k[c] : t3);
        if (kLowRank) add_rows<W>(s, c, a[c], h);
      }
    }
    float* dk = head.dk.at(t);
    for (int c = 0; c < W; ++c) dk[c] = beta * sum[c];
    if (kLowRank) {
      float* db = head.db.at(t);
      for (int c = 0; c < W; ++c) db[c] = other[c];
    }
  }
  head.matrix.fill(0.0f);
  for (std::int64_t t = 0; t < head.length; ++t) {
    copy<W>(q, head.q.at(t));
    copy<W>(k, head.k.at(t));
    if (kLowRank) copy<W>(b, head.b.at(t));
    if (by_channel(F)) copy<W>(decays, &head.decays[t * W]);
    const float* dy = head.dy.at(t);
    const float* de = head.dv.at(t);
    const float* e = head.e.at(t);
    const float* dp = kLowRank ? &head.dp[t * head.value_width] : nullptr;
    const float* u = kDelta ? e : head.v.at(t);
    const float decay = head.decay[t], beta = head.beta[t];
    for (int c = 0; c < W; ++c) sum[c] = other[c] = 0.0f;
    for (std::int64_t r = 0; r < head.value_width; r += kStep) {
      float* s = matrix + r * W;
      const float g[kStep] = {dy[r], dy[r + 1], dy[r + 2], dy[r + 3]},
                  d[kStep] = {de[r], de[r + 1], de[r + 2], de[r + 3]};
      const float f[kStep] = {beta * u[r], beta * u[r + 1], beta * u[r + 2], beta * u[r + 3]};
      float p[kStep] = {}, h[kStep] = {};
      if (kLowRank)
        for (int i = 0; i < kStep; ++i) p[i] = e[r + i], h[i] = dp[r + i];
      for (int c = 0; c < W; ++c) {
        if (kLowRank) other[c] += combine<W>(s, c, h);
        const float w = decay_of<F>(c, decay, decays);
        const float t0 = w * s[c], t1 = w * s[W + c], t2 = w * s[2 * W + c], t3 = w * s[3 * W + c];
        if (kDelta) other[c] += (t0 * d[0] + t1 * d[1]) + (t2 * d[2] + t3 * d[3]);
        s[c] = t0 + f[0] * k[c];
        s[W + c] = t1 + f[1] * k[c];
        s[2 * W + c] = t2 + f[2] * k[c];
        s[3 * W + c] = t3 + f[3] * k[c];
        if (kLowRank) add_rows<W>(s, c, b[c], p);
        sum[c] += combine<W>(s, c, g);
      }
    }
    float inner = 0.0f;
    float* dq = head.dq.at(t);
    float* dk = head.dk.at(t);
    if (by_channel(F)) {
      float* slopes = &head.slopes[t * W];
      const float* db = kLowRank ? head.db.at(t) : nullptr;
      for (int c = 0; c < W; ++c) slopes[c] = q[c] * sum[c] - k[c] * (kDelta ? dk[c] + other[c] : dk[c]);
      if (kLowRank)
        for (int c = 0; c < W; ++c) slopes[c] -= b[c] * db[c];
    }
#pragma omp simd reduction(+ : inner)
    for (int c = 0; c < W; ++c) {
      inner += q[c] * sum[c];
      dq[c] = sum[c];
      if (kDelta) dk[c] -= other[c];
    }
    if (!by_channel(F)) head.inner[t] += inner;
    if (kLowRank) {
      float* da = head.da.at(t);
      for (int c = 0; c < W; ++c) da[c] = other[c];
    }
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

// The three passes of a form.
struct Passes {
  void (*forward)(Head&);
  void (*values)(Head&);
  void (*keys)(Head&);
};
#define RUNG_PASSES(form)                                                        \
  RUNG_KERNEL_CLONES void forward_##form(Head& head) {                           \
    RUNG_BY_WIDTH(head.value_width, (forward_pass<Form::form, kWidth>(head)));   \
  }                                                                              \
  RUNG_KERNEL_CLONES void values_##form(Head& head) {                            \
    RUNG_BY_WIDTH(head.value_width, (reverse_values<Form::form, kWidth>(head))); \
  }                                                                              \
  RUNG_KERNEL_CLONES void keys_##form(Head& head) {                              \
    RUNG_BY_WIDTH(head.key_width, (reverse_keys<Form::form, kWidth>(head)));     \
  }                                                                              \
  Passes passes_##form() { return {forward_##form, values_##form, keys_##form}; }
RUNG_PASSES(sum)
RUNG_PASSES(delta)
RUNG_PASSES(channel_sum)
RUNG_PASSES(channel_delta)
RUNG_PASSES(low_rank)
#undef RUNG_PASSES
#undef RUNG_BY_WIDTH

Passes passes_of(const RecurrenceShape& shape) {
  switch (form_of(shape)) {
    case Form::sum:
      return passes_sum();
    case Form::delta:
      return passes_delta();
    case Form::channel_sum:
      return passes_channel_sum();
    case Form::channel_delta:
      return passes_channel_delta();
    case Form::low_rank:
      return passes_low_rank();
  }
  RUNG_REQUIRE(false, "form {}", static_cast<int>(form_of(shape)));
}

// Decays of the head's channels, from their logarithms `stride` apart.
RUNG_KERNEL_CLONES void find_decays(const float* log_decay, std::int64_t stride, std::int64_t size,
                                    Head& head) {
  for (std::int64_t t = 0; t < head.length; ++t) {
    float* decays = &head.decays[t * head.key_width];
    for (std::int64_t c = 0; c < size; ++c) decays[c] = exponential(log_decay[t * stride + c]);
  }
}
// The gradient of their logarithms, from the slopes and what leaves through a (matrix_recurrence.h).
RUNG_KERNEL_CLONES void sum_slopes(Head& head, bool low_rank, std::int64_t size, float* to,
                                   std::int64_t stride) {
  alignas(64) float total[kWidest] = {};
  for (std::int64_t t = head.length - 1; t >= 0; --t) {
    const float* slopes = &head.slopes[t * head.key_width];
    for (std::int64_t c = 0; c < size; ++c) {
      total[c] += slopes[c];
      to[t * stride + c] = total[c];
    }
    if (!low_rank) continue;
    const float *a = head.a.at(t), *da = head.da.at(t);
    for (std::int64_t c = 0; c < size; ++c) total[c] += a[c] * da[c];
  }
}

void require_shape(const RecurrenceShape& shape, const RecurrenceInputs& inputs) {
  RUNG_REQUIRE(shape.sequences >= 0 && shape.positions >= 0 && shape.heads >= 1, "N={} T={} H={}",
               shape.sequences, shape.positions, shape.heads);
  RUNG_REQUIRE(shape.key_size >= 1 && shape.key_size <= kWidest && shape.value_size >= 1 &&
                   shape.value_size <= kWidest,
               "dk={} dv={}, expected 1..{}", shape.key_size, shape.value_size, kWidest);
  RUNG_REQUIRE(shape.delta == (inputs.beta != nullptr), "delta={}", shape.delta);
  RUNG_REQUIRE(!shape.normalised || !(shape.delta || inputs.log_decay), "normalised with a decay or beta");
  RUNG_REQUIRE(!shape.channels || inputs.log_decay, "channels without their decays");
  RUNG_REQUIRE(shape.low_rank == (inputs.a.data && inputs.b.data) &&
                   (!shape.low_rank || (shape.channels && !shape.delta)),
               "low_rank={} channels={} delta={}", shape.low_rank, shape.channels, shape.delta);
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
  if (shape.low_rank) {
    head.a.read(inputs.a, n, h);
    head.b.read(inputs.b, n, h);
  }
  if (shape.channels)
    find_decays(inputs.log_decay + scalar(shape, n, h, 0) * shape.key_size, shape.heads * shape.key_size,
                shape.key_size, head);
  for (std::int64_t t = 0; t < head.length; ++t) {
    if (inputs.log_decay && !shape.channels)
      head.decay[t] = std::exp(inputs.log_decay[scalar(shape, n, h, t)]);
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
      passes_of(shape).forward(head);
      if (shape.normalised) {
        find_factors(head);
        times_factors(head, head.y, head.y);
      }
      head.y.end();
      if (shape.delta || shape.low_rank) head.e.end();
    }
}

void matrix_recurrence_backward(const RecurrenceShape& shape, const RecurrenceInputs& inputs,
                                const float* error, const Slice& dy, const RecurrenceGradients& gradients) {
  require_shape(shape, inputs);
  RUNG_REQUIRE(!shape.delta || (error && gradients.dbeta), "delta needs its errors and a place for dbeta");
  RUNG_REQUIRE(!shape.low_rank || (error && gradients.da.data && gradients.db.data),
               "low rank needs what was read and places for da and db");
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
      if (shape.delta || shape.low_rank)
        head.e.read(whole(error, shape.positions, shape.heads, shape.value_size), n, h);
      head.dq.begin(gradients.dq, n, h);
      head.dk.begin(gradients.dk, n, h);
      head.dv.begin(gradients.dv, n, h);
      if (shape.low_rank) {
        head.da.begin(gradients.da, n, h);
        head.db.begin(gradients.db, n, h);
      }
      passes_of(shape).values(head);
      passes_of(shape).keys(head);
      if (shape.normalised) through_divisors(head);
      head.dq.end();
      head.dk.end();
      head.dv.end();
      if (shape.low_rank) {
        head.da.end();
        head.db.end();
      }
      if (shape.channels)
        sum_slopes(head, shape.low_rank, shape.key_size,
                   gradients.dlog_decay + scalar(shape, n, h, 0) * shape.key_size,
                   shape.heads * shape.key_size);
      float total = 0.0f;
      for (std::int64_t t = head.length - 1; t >= 0; --t) {
        total += head.inner[t];
        if (inputs.log_decay && !shape.channels) gradients.dlog_decay[scalar(shape, n, h, t)] = total;
        if (shape.delta) gradients.dbeta[scalar(shape, n, h, t)] = head.dbeta[t];
      }
    }
}

bool recurrence_fits_host(const RecurrenceShape& shape) {
  return shape.key_size <= kWidest && shape.value_size <= kWidest &&
         (!shape.normalised || (shape.element == Element::f32 && !shape.delta && !shape.channels));
}
bool recurrence_fits_device(const RecurrenceShape& shape) {
  return shape.key_size <= 64 && shape.value_size <= 64 && !shape.channels;
}

}  // namespace rung::kernels
