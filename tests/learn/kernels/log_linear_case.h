// Random inputs of log-linear attention, and its definition in float64: buckets from the set bits of the
// row's index.
#pragma once

#include <vector>

#include "rung/learn/kernels/log_linear_attention.h"
#include "tests/learn/kernels/buffer.h"

namespace rung::kernels {

// The level of j for row i, by walking the buckets: the largest first, from position 0 on.
inline int bucket_level(std::int64_t i, std::int64_t j) {
  if (i == j) return 0;
  std::int64_t begin = 0;
  for (int bit = 62; bit >= 0; --bit)
    if ((i >> bit) & 1) {
      const std::int64_t end = begin + (std::int64_t{1} << bit);
      if (j < end) return bit + 1;
      begin = end;
    }
  return -1;
}

struct LogLinearCase {
  LogLinearShape shape;
  bool decays;
  std::int64_t pitch;
  Buffer fused, gradient, dy, y, share, dshare, log_decay, dlog_decay;

  // `gap`: elements after the vectors of a position.
  LogLinearCase(const LogLinearShape& s, bool decay, std::uint64_t seed, std::int64_t gap = 1)
      : shape(s),
        decays(decay),
        pitch(s.heads * (2 * s.key_size + s.value_size) + gap),
        fused(s.element, s.sequences * s.positions * pitch),
        gradient(s.element, fused.count()),
        dy(s.element, s.sequences * s.positions * s.heads * s.value_size),
        y(s.element, dy.count()),
        share(Element::f32, s.sequences * s.positions * s.heads * s.levels),
        dshare(Element::f32, share.count()),
        log_decay(Element::f32, s.sequences * s.positions * s.heads),
        dlog_decay(Element::f32, log_decay.count()) {
    Random random(seed);
    fused.draw(random, 0.0, 0.5);
    dy.draw(random);
    share.draw(random, 0.5, 0.2);
    for (std::int64_t i = 0; i < log_decay.count(); ++i) log_decay.set(i, -0.1 * random.unit());
  }
  std::int64_t column(int part) const { return part * shape.heads * shape.key_size; }  // of q, k, v
  template <class S, class B>
  S slice(B& buffer, int part) const {
    return S{buffer.at(column(part)), shape.positions * pitch, pitch};
  }
  LogLinearInputs inputs() const {
    return {slice<Slice>(fused, 0), slice<Slice>(fused, 1), slice<Slice>(fused, 2),
            static_cast<const float*>(share.data()),
            decays ? static_cast<const float*>(log_decay.data()) : nullptr};
  }
};

// The shapes that the kernels are run on, levels left open: a token, parts of a square, whole ones, one more, heads that
// are shared among blocks, sizes of keys and values that differ, are odd and are not.
inline std::vector<LogLinearShape> log_linear_shapes(Element element) {
  const std::int64_t sizes[][5] = {{1, 1, 1, 1, 1},     {2, 3, 2, 4, 5},     {1, 300, 1, 16, 16},
                                   {2, 33, 3, 7, 31},   {1, 129, 2, 32, 32}, {1, 65, 1, 64, 33},
                                   {1, 40, 1, 8, 8},    {1, 128, 1, 64, 64}, {2, 256, 2, 32, 32},
                                   {1, 257, 1, 24, 32}, {1, 200, 1, 40, 64}, {1, 16, 2, 16, 8}};
  std::vector<LogLinearShape> shapes;
  for (const auto& [n, t, h, dk, dv] : sizes)
    shapes.push_back({n, t, h, dk, dv, log_linear_levels(t) + 1, element});
  return shapes;
}

struct LogLinearReference {
  std::vector<double> y, gradient, dshare, dlog_decay;
};

inline LogLinearReference attend(const LogLinearCase& given) {
  const LogLinearShape& s = given.shape;
  const std::int64_t dk = s.key_size, dv = s.value_size;
  LogLinearReference out{std::vector<double>(given.y.count()), std::vector<double>(given.gradient.count()),
                         std::vector<double>(given.share.count()),
                         std::vector<double>(given.log_decay.count())};
  for (std::int64_t n = 0; n < s.sequences; ++n)
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const auto scalar = [&](std::int64_t t) { return (n * s.positions + t) * s.heads + h; };
      const auto at = [&](int part, std::int64_t t) {
        return (n * s.positions + t) * given.pitch + given.column(part) + h * (part == 2 ? dv : dk);
      };
      for (std::int64_t i = 0; i < s.positions; ++i) {
        double decay = 0.0;  // of j: the sum of log_decay over (j, i]
        for (std::int64_t j = i; j >= 0; --j) {
          const std::int64_t level = scalar(i) * s.levels + bucket_level(i, j);
          const double factor = std::exp(decay), weight = given.share[level] * factor;
          double score = 0.0, flow = 0.0;
          for (std::int64_t c = 0; c < dk; ++c)
            score += given.fused[at(0, i) + c] * given.fused[at(1, j) + c];
          for (std::int64_t r = 0; r < dv; ++r) {
            const double dy = given.dy[scalar(i) * dv + r], v = given.fused[at(2, j) + r];
            out.y[scalar(i) * dv + r] += weight * score * v;
            out.gradient[at(2, j) + r] += weight * score * dy;
            flow += dy * v;
          }
          for (std::int64_t c = 0; c < dk; ++c) {
            out.gradient[at(0, i) + c] += weight * flow * given.fused[at(1, j) + c];
            out.gradient[at(1, j) + c] += weight * flow * given.fused[at(0, i) + c];
          }
          out.dshare[level] += factor * score * flow;
          // Each of the decays in (j, i] multiplies this pair: for now what that changes at its ends.
          if (j < i) out.dlog_decay[scalar(j + 1)] += weight * score * flow;
          if (j < i && i + 1 < s.positions) out.dlog_decay[scalar(i + 1)] -= weight * score * flow;
          if (given.decays) decay += given.log_decay[scalar(j)];
        }
      }
      for (std::int64_t t = 1; t < s.positions; ++t)
        out.dlog_decay[scalar(t)] += out.dlog_decay[scalar(t - 1)];
    }
  return out;
}

}  // namespace rung::kernels
