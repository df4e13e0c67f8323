// Random inputs of the matrix recurrence, as slices of one fused projection with odd strides, and the
// recurrence written out in float64 with every state kept: the kernels' reference.
#pragma once

#include <vector>

#include "rung/learn/kernels/matrix_recurrence.h"
#include "tests/learn/kernels/buffer.h"

namespace rung::kernels {

struct RecurrenceCase {
  RecurrenceShape shape;
  bool decays;
  std::int64_t margin;  // elements before the first vector of a position
  std::int64_t pitch;   // elements between positions
  Buffer fused, dy, gradient;
  Buffer log_decay, beta, dlog_decay, dbeta, error;
  Buffer y;

  // aligned: vectors of 16 elements and multiples begin at multiples of sixteen bytes, as in a padded
  // projection. strongest: log decays are drawn from [-strongest, 0], betas from [0, largest]. Low rank: a of length at
  // most 1, and b = -a times numbers in [0, 1], as rwkv7 removes.
  RecurrenceCase(const RecurrenceShape& s, bool decay, std::uint64_t seed, bool aligned = false,
                 double strongest = 0.3, double largest = 1.0)
      : shape(s),
        decays(decay),
        margin(aligned ? 8 : 1),
        pitch(columns() + (aligned ? 16 : 3)),
        fused(s.element, s.sequences * s.positions * pitch),
        dy(s.element, s.sequences * s.positions * s.heads * s.value_size),
        gradient(s.element, s.sequences * s.positions * pitch),
        log_decay(Element::f32, decay_count()),
        beta(Element::f32, scalars()),
        dlog_decay(Element::f32, decay_count()),
        dbeta(Element::f32, scalars()),
        error(Element::f32, dy.count()),
        y(s.element, dy.count()) {
    Random random(seed);
    fused.draw(random);
    dy.draw(random);
    for (std::int64_t i = 0; i < scalars(); ++i) {
      if (!s.channels) log_decay.set(i, -strongest * random.unit());
      beta.set(i, random.below(8) == 0 ? 0.0 : largest * random.unit());
    }
    for (std::int64_t i = 0; s.channels && i < decay_count(); ++i)
      log_decay.set(i, -strongest * random.unit());
    // Keys of length at most 1, so that the delta rule stays bounded.
    const RecurrenceInputs in = inputs();
    const auto shorten = [&](std::int64_t at) {
      double squares = 0.0;
      for (std::int64_t c = 0; c < s.key_size; ++c) squares += fused[at + c] * fused[at + c];
      for (std::int64_t c = 0; c < s.key_size; ++c)
        fused.set(at + c, fused[at + c] / std::sqrt(squares + 1e-9));
    };
    for (std::int64_t n = 0; n < s.sequences; ++n)
      for (std::int64_t t = 0; t < s.positions; ++t)
        for (std::int64_t h = 0; h < s.heads; ++h) {
          shorten(place(in.k, n, t, h, s.key_size));
          if (!s.low_rank) continue;
          const std::int64_t a = place(in.a, n, t, h, s.key_size), b = place(in.b, n, t, h, s.key_size);
          shorten(a);
          for (std::int64_t c = 0; c < s.key_size; ++c)
            fused.set(b + c, random.below(8) == 0 ? 0.0 : -random.unit() * fused[a + c]);
        }
  }

  std::int64_t scalars() const { return shape.sequences * shape.positions * shape.heads; }
  std::int64_t decay_count() const { return scalars() * (shape.channels ? shape.key_size : 1); }
  std::int64_t key_columns() const { return shape.heads * shape.key_size; }
  // q, k, v, a, b side by side.
  std::int64_t columns() const {
    return shape.heads * ((shape.low_rank ? 4 : 2) * shape.key_size + shape.value_size);
  }
  template <class S, class B>
  S slice(B& buffer, std::int64_t column) const {
    return S{buffer.at(column), shape.positions * pitch, pitch};
  }
  RecurrenceInputs inputs() const {
    RecurrenceInputs in{slice<Slice>(fused, margin), slice<Slice>(fused, margin + key_columns()),
                        slice<Slice>(fused, margin + 2 * key_columns()),
                        decays ? static_cast<const float*>(log_decay.data()) : nullptr,
                        shape.delta ? static_cast<const float*>(beta.data()) : nullptr};
    const std::int64_t after = margin + 2 * key_columns() + shape.heads * shape.value_size;
    if (shape.low_rank) in.a = slice<Slice>(fused, after), in.b = slice<Slice>(fused, after + key_columns());
    return in;
  }
  RecurrenceGradients gradients() {
    RecurrenceGradients out{slice<MutableSlice>(gradient, margin),
                            slice<MutableSlice>(gradient, margin + key_columns()),
                            slice<MutableSlice>(gradient, margin + 2 * key_columns()),
                            decays ? dlog_decay.floats() : nullptr, shape.delta ? dbeta.floats() : nullptr};
    const std::int64_t after = margin + 2 * key_columns() + shape.heads * shape.value_size;
    if (shape.low_rank)
      out.da = slice<MutableSlice>(gradient, after),
      out.db = slice<MutableSlice>(gradient, after + key_columns());
    return out;
  }
  MutableSlice output() { return whole(y.data(), shape.positions, shape.heads, shape.value_size); }
  Slice output_gradient() const { return whole(dy.data(), shape.positions, shape.heads, shape.value_size); }
  // The element of `fused` (or `gradient`) at which a vector begins.
  std::int64_t place(const Slice& s, std::int64_t n, std::int64_t t, std::int64_t h,
                     std::int64_t size) const {
    const auto first =
        static_cast<const unsigned char*>(s.data) - static_cast<const unsigned char*>(fused.data());
    return first / element_size(shape.element) + n * s.sequence_stride + t * s.position_stride + h * size;
  }
};

// Outputs of the reference, laid out as the case's own buffers.
struct RecurrenceReference {
  std::vector<double> y, gradient, dlog_decay, dbeta;
};

inline RecurrenceReference recur(const RecurrenceCase& given) {
  const RecurrenceShape& s = given.shape;
  const std::int64_t dk = s.key_size, dv = s.value_size, size = dk * dv;
  RecurrenceReference out;
  out.y.resize(given.y.count());
  out.gradient.resize(given.gradient.count());
  out.dlog_decay.resize(given.decay_count());
  out.dbeta.resize(given.scalars());
  const RecurrenceInputs in = given.inputs();
  std::vector<double> states((s.positions + 1) * size), decayed(s.positions * size), e(s.positions * dv),
      p(s.positions * dv);
  for (std::int64_t n = 0; n < s.sequences; ++n)
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const auto scalar = [&](std::int64_t t) { return (n * s.positions + t) * s.heads + h; };
      const auto decay_at = [&](std::int64_t t, std::int64_t c) {
        return s.channels ? scalar(t) * dk + c : scalar(t);
      };
      const auto decay = [&](std::int64_t t, std::int64_t c) {
        return given.decays ? std::exp(given.log_decay[decay_at(t, c)]) : 1.0;
      };
      for (std::int64_t t = 0; t < s.positions; ++t) {
        const double beta = s.delta ? given.beta[scalar(t)] : 1.0;
        const std::int64_t q = given.place(in.q, n, t, h, dk), k = given.place(in.k, n, t, h, dk),
                           v = given.place(in.v, n, t, h, dv);
        const std::int64_t a = s.low_rank ? given.place(in.a, n, t, h, dk) : 0,
                           b = s.low_rank ? given.place(in.b, n, t, h, dk) : 0;
        double *before = &states[t * size], *after = before + size, *kept = &decayed[t * size];
        for (std::int64_t r = 0; r < dv; ++r) {
          double predicted = 0.0, y = 0.0;
          p[t * dv + r] = 0.0;
          for (std::int64_t c = 0; c < dk; ++c) {
            kept[r * dk + c] = decay(t, c) * before[r * dk + c];
            if (s.low_rank) p[t * dv + r] += before[r * dk + c] * given.fused[a + c];
            predicted += kept[r * dk + c] * given.fused[k + c];
          }
          e[t * dv + r] = given.fused[v + r] - (s.delta ? predicted : 0.0);
          for (std::int64_t c = 0; c < dk; ++c) {
            after[r * dk + c] = kept[r * dk + c] + beta * e[t * dv + r] * given.fused[k + c];
            if (s.low_rank) after[r * dk + c] += p[t * dv + r] * given.fused[b + c];
            y += after[r * dk + c] * given.fused[q + c];
          }
          out.y[scalar(t) * dv + r] = y;
        }
      }
      std::vector<double> flow(size, 0.0);  // dL/dS_t, first what comes from t + 1
      for (std::int64_t t = s.positions - 1; t >= 0; --t) {
        const double beta = s.delta ? given.beta[scalar(t)] : 1.0;
        const std::int64_t q = given.place(in.q, n, t, h, dk), k = given.place(in.k, n, t, h, dk),
                           v = given.place(in.v, n, t, h, dv);
        const std::int64_t a = s.low_rank ? given.place(in.a, n, t, h, dk) : 0,
                           b = s.low_rank ? given.place(in.b, n, t, h, dk) : 0;
        const double *before = &states[t * size], *after = before + size, *kept = &decayed[t * size];
        for (std::int64_t r = 0; r < dv; ++r) {
          const double dy = given.dy[scalar(t) * dv + r], error = e[t * dv + r];
          double du = 0.0, dp = 0.0;
          for (std::int64_t c = 0; c < dk; ++c) {
            out.gradient[q + c] += dy * after[r * dk + c];
            flow[r * dk + c] += dy * given.fused[q + c];
            du += flow[r * dk + c] * given.fused[k + c];
            out.gradient[k + c] += flow[r * dk + c] * beta * error;
            if (!s.low_rank) continue;
            dp += flow[r * dk + c] * given.fused[b + c];
            out.gradient[b + c] += flow[r * dk + c] * p[t * dv + r];
          }
          out.gradient[v + r] = beta * du;
          out.dbeta[scalar(t)] += du * error;
          for (std::int64_t c = 0; c < dk; ++c) {
            if (s.delta) {
              out.gradient[k + c] -= beta * du * kept[r * dk + c];
              flow[r * dk + c] -= beta * du * given.fused[k + c];
            }
            out.dlog_decay[decay_at(t, c)] += flow[r * dk + c] * kept[r * dk + c];
            flow[r * dk + c] *= decay(t, c);
            if (!s.low_rank) continue;
            out.gradient[a + c] += dp * before[r * dk + c];
            flow[r * dk + c] += dp * given.fused[a + c];
          }
        }
      }
    }
  return out;
}

// The same of normalised linear attention, from its weights: w_ts = k_s . q_t over their sum.
inline RecurrenceReference attend_linearly(const RecurrenceCase& given) {
  const RecurrenceShape& s = given.shape;
  const std::int64_t dk = s.key_size, dv = s.value_size;
  RecurrenceReference out;
  out.y.resize(given.y.count());
  out.gradient.resize(given.gradient.count());
  const RecurrenceInputs in = given.inputs();
  for (std::int64_t n = 0; n < s.sequences; ++n)
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::int64_t t = 0; t < s.positions; ++t) {
        const std::int64_t q = given.place(in.q, n, t, h, dk),
                           at = ((n * s.positions + t) * s.heads + h) * dv;
        std::vector<double> weights(t + 1);
        double total = 0.0, inner = 0.0;
        for (std::int64_t before = 0; before <= t; ++before) {
          const std::int64_t k = given.place(in.k, n, before, h, dk);
          for (std::int64_t c = 0; c < dk; ++c) weights[before] += given.fused[q + c] * given.fused[k + c];
          total += weights[before];
        }
        if (total == 0.0) continue;
        for (std::int64_t before = 0; before <= t; ++before)
          for (std::int64_t r = 0; r < dv; ++r) {
            const std::int64_t v = given.place(in.v, n, before, h, dv) + r;
            out.y[at + r] += weights[before] / total * given.fused[v];
            out.gradient[v] += weights[before] / total * given.dy[at + r];
          }
        for (std::int64_t r = 0; r < dv; ++r) inner += out.y[at + r] * given.dy[at + r];
        for (std::int64_t before = 0; before <= t; ++before) {
          double slope = -inner;
          for (std::int64_t r = 0; r < dv; ++r)
            slope += given.dy[at + r] * given.fused[given.place(in.v, n, before, h, dv) + r];
          const std::int64_t k = given.place(in.k, n, before, h, dk);
          for (std::int64_t c = 0; c < dk; ++c) {
            out.gradient[q + c] += slope / total * given.fused[k + c];
            out.gradient[k + c] += slope / total * given.fused[q + c];
          }
        }
      }
  return out;
}
// Queries and keys without a sign, as the features of linear attention are; a query of zeros here and there.
inline void make_features(RecurrenceCase& given) {
  const RecurrenceInputs in = given.inputs();
  for (std::int64_t n = 0; n < given.shape.sequences; ++n)
    for (std::int64_t t = 0; t < given.shape.positions; ++t)
      for (std::int64_t h = 0; h < given.shape.heads; ++h)
        for (const Slice& slice : {in.q, in.k}) {
          const std::int64_t at = given.place(slice, n, t, h, given.shape.key_size);
          const bool none = slice.data == in.q.data && (t + h) % 7 == 3;
          for (std::int64_t c = 0; c < given.shape.key_size; ++c)
            given.fused.set(at + c, none ? 0.0 : std::abs(given.fused[at + c]));
        }
}

// The shapes that every kernel of the recurrence is run on: odd sizes, each padded width, one token, several
// heads.
inline std::vector<RecurrenceShape> recurrence_shapes() {
  std::vector<RecurrenceShape> shapes;
  const std::int64_t sizes[][5] = {{1, 1, 1, 1, 1},   {2, 3, 2, 4, 5},     {1, 300, 1, 16, 16},
                                   {2, 33, 3, 7, 31}, {1, 65, 2, 32, 32},  {3, 17, 1, 64, 33},
                                   {1, 40, 2, 9, 64}, {1, 128, 1, 64, 64}, {2, 9, 1, 33, 1},
                                   {5, 8, 3, 8, 8},   {1, 16, 2, 1, 63},   {2, 31, 1, 24, 40}};
  for (const auto& [n, t, h, dk, dv] : sizes)
    for (const Element element : {Element::f32, Element::bf16})
      for (const bool delta : {false, true}) shapes.push_back({n, t, h, dk, dv, element, delta});
  return shapes;
}
// A shape with decays by key channel: gla's, kda's, rwkv7's.
inline std::vector<RecurrenceShape> channel_forms(RecurrenceShape shape) {
  shape.channels = true;
  std::vector<RecurrenceShape> shapes(3, shape);
  shapes[0].delta = false, shapes[1].delta = true, shapes[2].delta = false;
  shapes[2].low_rank = true;
  return shapes;
}

}  // namespace rung::kernels
