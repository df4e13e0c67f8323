// Random inputs of the diagonal scan in one fused buffer, and the scan written out in float64.
#pragma once

#include <vector>

#include "rung/learn/kernels/diagonal_scan.h"
#include "tests/learn/kernels/buffer.h"

namespace rung::kernels {

struct ScanCase {
  ScanShape shape;
  std::int64_t pitch;  // step, x, b, c side by side
  Buffer fused, gradient, dy, y, a, da;

  ScanCase(const ScanShape& s, std::uint64_t seed)
      : shape(s),
        pitch(2 * s.channels + 2 * s.states + 1),
        fused(s.element, s.sequences * s.positions * pitch),
        gradient(s.element, fused.count()),
        dy(s.element, s.sequences * s.positions * s.channels),
        y(s.element, dy.count()),
        a(Element::f32, s.members * s.channels * s.states),
        da(Element::f32, a.count()) {
    Random random(seed);
    fused.draw(random);
    dy.draw(random);
    gradient.fill(0.0);
    for (std::int64_t i = 0; i < a.count(); ++i) a.set(i, -0.1 - 2.0 * random.unit());
    for (std::int64_t i = 0; i < fused.count(); ++i)
      if (i % pitch < s.channels) fused.set(i, 0.01 + 0.5 * random.unit());
  }
  template <class S, class B>
  S slice(B& buffer, std::int64_t column) const {
    return S{buffer.at(column), shape.positions * pitch, pitch};
  }
  ScanInputs inputs() const {
    const std::int64_t i = shape.channels, j = shape.states;
    return {static_cast<const float*>(a.data()), slice<Slice>(fused, 0), slice<Slice>(fused, i),
            slice<Slice>(fused, 2 * i), slice<Slice>(fused, 2 * i + j)};
  }
  ScanGradients gradients() {
    const std::int64_t i = shape.channels, j = shape.states;
    return {slice<MutableSlice>(gradient, 0), slice<MutableSlice>(gradient, i),
            slice<MutableSlice>(gradient, 2 * i), slice<MutableSlice>(gradient, 2 * i + j), da.floats()};
  }
  MutableSlice output() { return whole(y.data(), shape.positions, 1, shape.channels); }
  Slice output_gradient() const { return whole(dy.data(), shape.positions, 1, shape.channels); }
};

struct ScanReference {
  std::vector<double> y, gradient, da;
};

inline ScanReference scan(const ScanCase& given) {
  const ScanShape& s = given.shape;
  const std::int64_t channels = s.channels, states = s.states;
  ScanReference out{std::vector<double>(given.y.count()), std::vector<double>(given.gradient.count()),
                    std::vector<double>(given.a.count())};
  std::vector<double> h(s.positions + 1);
  for (std::int64_t n = 0; n < s.sequences; ++n)
    for (std::int64_t i = 0; i < channels; ++i)
      for (std::int64_t j = 0; j < states; ++j) {  // each number of state by itself
        const std::int64_t rate = (n / (s.sequences / s.members) * channels + i) * states + j;
        const auto at = [&](std::int64_t t) { return (n * s.positions + t) * given.pitch; };
        const auto& f = given.fused;
        for (std::int64_t t = 0; t < s.positions; ++t) {
          const double step = f[at(t) + i], x = f[at(t) + channels + i], b = f[at(t) + 2 * channels + j];
          h[t + 1] = std::exp(step * given.a[rate]) * h[t] + step * b * x;
          out.y[(n * s.positions + t) * channels + i] += f[at(t) + 2 * channels + states + j] * h[t + 1];
        }
        double flow = 0.0;
        for (std::int64_t t = s.positions - 1; t >= 0; --t) {
          const double step = f[at(t) + i], x = f[at(t) + channels + i], b = f[at(t) + 2 * channels + j];
          const double decay = std::exp(step * given.a[rate]),
                       dy = given.dy[(n * s.positions + t) * channels + i];
          flow += f[at(t) + 2 * channels + states + j] * dy;
          out.gradient[at(t) + 2 * channels + states + j] += h[t + 1] * dy;
          out.gradient[at(t) + i] += flow * (given.a[rate] * decay * h[t] + b * x);
          out.gradient[at(t) + channels + i] += flow * step * b;
          out.gradient[at(t) + 2 * channels + j] += flow * step * x;
          out.da[rate] += flow * step * decay * h[t];
          flow *= decay;
        }
      }
  return out;
}

inline std::vector<ScanShape> scan_shapes() {
  std::vector<ScanShape> shapes;
  const std::int64_t sizes[][5] = {
      {1, 1, 1, 1, 1}, {2, 4, 33, 8, 16}, {1, 2, 100, 5, 3}, {3, 3, 16, 40, 4}, {1, 1, 50, 70, 32}};
  for (const auto& [e, n, t, i, j] : sizes)
    for (const Element element : {Element::f32, Element::bf16}) shapes.push_back({e, n, t, i, j, element});
  return shapes;
}

}  // namespace rung::kernels
