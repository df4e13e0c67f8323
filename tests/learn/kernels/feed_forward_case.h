// Random rows and parameters for the feed-forward block, with a gap after each member's parameters, and the
// block written out in float64.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "rung/learn/kernels/feed_forward.h"
#include "tests/learn/kernels/buffer.h"

namespace rung::kernels {

inline const char* name_of(Activation activation) {
  return activation == Activation::relu ? "relu" : activation == Activation::gelu ? "gelu" : "silu";
}

// Numbers of one member, and how far apart members stand: a multiple of 16 bytes.
struct MemberBuffer {
  std::int64_t size, stride;
  Buffer numbers;
  MemberBuffer(Element element, std::int64_t members, std::int64_t count)
      : size(count), stride(count + 24), numbers(element, members * stride) {}
  double at(std::int64_t member, std::int64_t i) const { return numbers[member * stride + i]; }
};

struct FeedForwardCase {
  FeedForwardShape shape;
  Buffer x, dy;
  MemberBuffer gain, w1, b1, w2, b2;

  FeedForwardCase(const FeedForwardShape& s, std::uint64_t seed, Element element = Element::bf16)
      : shape(s),
        x(element, s.members * s.rows * s.width),
        dy(element, x.count()),
        gain(element, s.members, s.width),
        w1(element, s.members, s.hidden * s.width),
        b1(element, s.members, s.hidden),
        w2(element, s.members, s.width * s.hidden),
        b2(element, s.members, s.width) {
    Random random(seed);
    x.draw(random, 0.1, 2.0);
    dy.draw(random);
    gain.numbers.draw(random, 1.0, 0.3);
    w1.numbers.draw(random, 0.0, 1.4 / std::sqrt(static_cast<double>(s.width)));
    b1.numbers.draw(random, 0.1, 0.5);
    w2.numbers.draw(random, 0.0, 1.0 / std::sqrt(static_cast<double>(s.hidden)));
    b2.numbers.draw(random, 0.0, 0.5);
  }
};

// What a case gives: y and dx [members, rows, width], the parameters' gradients [members, ...].
struct FeedForwardReference {
  std::vector<double> y, dx, dgain, dw1, db1, dw2, db2;
};

inline double rounded_to_bf16(double x) {
  Bf16 place{};
  store(place, static_cast<float>(x));
  return to_float(place);
}

inline double activation_value(Activation activation, double a) {
  if (activation == Activation::relu) return a > 0 ? a : 0;
  if (activation == Activation::gelu) return 0.5 * a * (1 + std::erf(a / std::sqrt(2.0)));
  return a / (1 + std::exp(-a));
}
inline double activation_slope(Activation activation, double a) {
  if (activation == Activation::relu) return a > 0 ? 1 : 0;
  const double pi = std::acos(-1.0);
  if (activation == Activation::gelu)
    return 0.5 * (1 + std::erf(a / std::sqrt(2.0))) + a * std::exp(-a * a / 2) / std::sqrt(2 * pi);
  const double s = 1 / (1 + std::exp(-a));
  return s * (1 + a * (1 - s));
}

// rounded: u, h and g become bfloat16 where they enter a product, as the kernels have it; without, a reLU
// changes sides where they differ.
inline FeedForwardReference feed_forward(const FeedForwardCase& given, bool rounded = true) {
  const FeedForwardShape& s = given.shape;
  const std::int64_t width = s.width, hidden = s.hidden;
  const auto operand = [&](double value) { return rounded ? rounded_to_bf16(value) : value; };
  const auto sized = [&](std::int64_t count) {
    return std::vector<double>(static_cast<std::size_t>(s.members * count));
  };
  FeedForwardReference out{sized(s.rows * width), sized(s.rows * width), sized(width), sized(hidden * width),
                           sized(hidden),         sized(width * hidden), sized(width)};
  std::vector<double> u(width), du(width), g(hidden), h(hidden);
  for (std::int64_t e = 0; e < s.members; ++e)
    for (std::int64_t row = 0; row < s.rows; ++row) {
      const std::int64_t first = (e * s.rows + row) * width;
      double squares = 0;
      for (std::int64_t c = 0; c < width; ++c) squares += given.x[first + c] * given.x[first + c];
      const double root = 1 / std::sqrt(squares / static_cast<double>(width) + s.epsilon);
      for (std::int64_t c = 0; c < width; ++c) {
        u[c] = operand(given.x[first + c] * root * given.gain.at(e, c));
        du[c] = 0;
        out.y[first + c] = given.x[first + c] + given.b2.at(e, c);
        out.db2[e * width + c] += given.dy[first + c];
      }
      for (std::int64_t m = 0; m < hidden; ++m) {
        double a = given.b1.at(e, m), dh = 0;
        for (std::int64_t c = 0; c < width; ++c) {
          a += given.w1.at(e, m * width + c) * u[c];
          dh += given.w2.at(e, c * hidden + m) * given.dy[first + c];
        }
        h[m] = operand(activation_value(s.activation, a));
        const double exact = dh * activation_slope(s.activation, a);
        g[m] = operand(exact);
        out.db1[e * hidden + m] += exact;
        for (std::int64_t c = 0; c < width; ++c) {
          out.y[first + c] += given.w2.at(e, c * hidden + m) * h[m];
          du[c] += given.w1.at(e, m * width + c) * g[m];
          out.dw1[(e * hidden + m) * width + c] += g[m] * u[c];
          out.dw2[(e * width + c) * hidden + m] += given.dy[first + c] * h[m];
        }
      }
      double along = 0;
      for (std::int64_t c = 0; c < width; ++c) along += du[c] * given.gain.at(e, c) * given.x[first + c];
      for (std::int64_t c = 0; c < width; ++c) {
        const double x = given.x[first + c];
        out.dgain[e * width + c] += du[c] * x * root;
        out.dx[first + c] =
            given.dy[first + c] +
            root * (du[c] * given.gain.at(e, c) - x * root * root * along / static_cast<double>(width));
      }
    }
  return out;
}

// What the block is asked for, NaN beforehand.
struct FeedForwardOutputs {
  Buffer y, dx, dgain, dw1, db1, dw2, db2;
  explicit FeedForwardOutputs(const FeedForwardShape& s, Element element = Element::bf16)
      : y(element, s.members * s.rows * s.width),
        dx(y),
        dgain(element, s.members * s.width),
        dw1(element, s.members * s.hidden * s.width),
        db1(element, s.members * s.hidden),
        dw2(dw1),
        db2(dgain) {
    for (Buffer* buffer : {&y, &dx, &dgain, &dw1, &db1, &dw2, &db2}) buffer->fill(std::nan(""));
  }
};

// How far the outputs are from the reference, the worst of the seven, in the Euclidean norm.
inline double worst_distance(const FeedForwardOutputs& out, const FeedForwardReference& expected) {
  double worst = 0;
  const auto compare = [&](const Buffer& a, const std::vector<double>& b) {
    const double d = distance(a, b, a.count());
    worst = std::isnan(d) ? HUGE_VAL : std::max(worst, d);
  };
  compare(out.y, expected.y), compare(out.dx, expected.dx), compare(out.dgain, expected.dgain);
  compare(out.dw1, expected.dw1), compare(out.db1, expected.db1), compare(out.dw2, expected.dw2);
  compare(out.db2, expected.db2);
  return worst;
}

// Rounding of the outputs is 2^-9 of each number at most; the few operands that round the other way add less.
inline constexpr double kFeedForwardTolerance = 4e-3;
// With relu a unit whose sum is 0 but for rounding may be on in one and off in the other: one of 128 rows and 64 units is
// a hundredth of the gradients' norm (0.016 was seen).
inline constexpr double kUnitTolerance = 3e-2;

}  // namespace rung::kernels
