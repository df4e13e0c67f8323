// Random rows for the norms, with a gap after every group, and the norms written out in float64.
#pragma once

#include <vector>

#include "rung/learn/kernels/row_norm.h"
#include "tests/learn/kernels/buffer.h"

namespace rung::kernels {

struct NormCase {
  NormShape shape;
  bool gained;
  std::int64_t stride;
  Buffer x, y, dy, dx, gain, dgain, inverse;

  // aligned: groups begin at multiples of 8 elements.
  NormCase(const NormShape& s, bool with_gain, std::uint64_t seed, bool aligned = false)
      : shape(s),
        gained(with_gain),
        stride(aligned ? (s.inner * s.width + 15) / 8 * 8 : s.inner * s.width + 3),
        x(s.element, s.outer * stride),
        y(s.element, x.count()),
        dy(s.element, x.count()),
        dx(s.element, x.count()),
        gain(Element::f32, s.members * s.width),
        dgain(Element::f32, gain.count()),
        inverse(Element::f32, s.outer * s.inner) {
    Random random(seed);
    x.draw(random);
    dy.draw(random);
    gain.draw(random, 1.0, 0.3);
  }
  NormRows in() const { return {x.data(), stride}; }
  MutableNormRows out() { return {y.data(), stride}; }
  NormRows out_gradient() const { return {dy.data(), stride}; }
  MutableNormRows in_gradient() { return {dx.data(), stride}; }
  const float* gain_data() const { return gained ? static_cast<const float*>(gain.data()) : nullptr; }
};

struct NormReference {
  std::vector<double> y, dx, inverse, dgain;
};

inline NormReference norm(const NormCase& given) {
  const NormShape& s = given.shape;
  NormReference out{std::vector<double>(given.x.count()), std::vector<double>(given.x.count()),
                    std::vector<double>(given.inverse.count()), std::vector<double>(given.gain.count())};
  for (std::int64_t o = 0; o < s.outer; ++o)
    for (std::int64_t i = 0; i < s.inner; ++i) {
      const std::int64_t at = o * given.stride + i * s.width, member = o / (s.outer / s.members);
      double squares = 0.0, along = 0.0;
      const auto factor = [&](std::int64_t c) {
        return s.unit ? s.scale : given.gained ? given.gain[member * s.width + c] : 1.0;
      };
      for (std::int64_t c = 0; c < s.width; ++c) {
        squares += given.x[at + c] * given.x[at + c];
        along += given.dy[at + c] * factor(c) * given.x[at + c];
      }
      const double inside = s.unit ? squares : squares / static_cast<double>(s.width) + s.epsilon;
      const double root = inside > 0.0 ? 1.0 / std::sqrt(inside) : 0.0;
      out.inverse[o * s.inner + i] = root;
      for (std::int64_t c = 0; c < s.width; ++c) {
        out.y[at + c] = given.x[at + c] * root * factor(c);
        out.dx[at + c] =
            root * given.dy[at + c] * factor(c) -
            given.x[at + c] * root * root * root * along / (s.unit ? 1.0 : static_cast<double>(s.width));
        out.dgain[member * s.width + c] += given.dy[at + c] * given.x[at + c] * root;
      }
    }
  return out;
}

inline std::vector<NormShape> norm_shapes() {
  std::vector<NormShape> shapes;
  const std::int64_t sizes[][4] = {{1, 1, 1, 1},     {6, 1, 64, 2},  {10, 3, 7, 5},
                                   {1030, 1, 16, 2}, {4, 2, 300, 1}, {3, 1, 1025, 3}};
  for (const auto& [outer, inner, width, members] : sizes)
    for (const Element element : {Element::f32, Element::bf16})
      for (const bool unit : {false, true})
        shapes.push_back({.outer = outer,
                          .inner = inner,
                          .width = width,
                          .members = members,
                          .element = element,
                          .unit = unit,
                          .scale = unit ? 0.75f : 1.0f});
  return shapes;
}

}  // namespace rung::kernels
