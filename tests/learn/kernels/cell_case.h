// Random inputs of a cell, its sums a column inside a wider buffer, and the cell written out in float64.
#pragma once

#include <vector>

#include "rung/learn/kernels/cell_recurrence.h"
#include "tests/learn/kernels/buffer.h"

namespace rung::kernels {

struct CellCase {
  CellShape shape;
  std::int64_t pitch;  // the sums, then one number more
  Buffer fused, gradient, dy, y, state, bias, states, e;

  CellCase(const CellShape& s, std::uint64_t seed)
      : shape(s),
        pitch(cell_rows(s) + 1),
        fused(s.element, s.sequences * s.positions * pitch),
        gradient(s.element, fused.count()),
        dy(s.element, s.sequences * s.positions * s.size),
        y(s.element, dy.count()),
        state(Element::f32, s.members * cell_rows(s) * s.size),
        bias(Element::f32, s.members * cell_rows(s)),
        states(Element::f32, dy.count()),
        e(Element::f32, s.sequences * s.positions * cell_rows(s)) {
    Random random(seed);
    fused.draw(random);
    dy.draw(random);
    state.draw(random, 0.0, 0.7 / std::sqrt(static_cast<double>(s.size)));
    bias.draw(random, 0.0, 0.3);
    gradient.fill(0.0);
  }
  bool biased() const { return shape.kind == CellKind::gru; }
  CellInputs inputs() const {
    return {static_cast<const float*>(state.data()),
            biased() ? static_cast<const float*>(bias.data()) : nullptr,
            Slice{fused.at(0), shape.positions * pitch, pitch}};
  }
  MutableSlice sums_gradient() { return {gradient.at(0), shape.positions * pitch, pitch}; }
  MutableSlice output() { return whole(y.data(), shape.positions, 1, shape.size); }
  Slice output_gradient() const { return whole(dy.data(), shape.positions, 1, shape.size); }
};

struct CellReference {
  std::vector<double> y, gradient, e;  // gradient: of the fused buffer
};

inline CellReference run_cell(const CellCase& given) {
  const CellShape& s = given.shape;
  const std::int64_t size = s.size, rows = cell_rows(s);
  const auto logistic = [](double x) { return 1.0 / (1.0 + std::exp(-x)); };
  CellReference out{std::vector<double>(given.y.count()), std::vector<double>(given.gradient.count()),
                    std::vector<double>(given.e.count())};
  for (std::int64_t n = 0; n < s.sequences; ++n) {
    const std::int64_t member = n / (s.sequences / s.members);
    std::vector<std::vector<double>> h(s.positions + 1, std::vector<double>(size)), g(s.positions);
    const auto x = [&](std::int64_t t, std::int64_t r) {
      return given.fused[(n * s.positions + t) * given.pitch + r];
    };
    const auto u = [&](std::int64_t r, std::int64_t j) {
      return given.state[(member * rows + r) * size + j];
    };
    for (std::int64_t t = 0; t < s.positions; ++t) {
      g[t].assign(rows, 0.0);
      for (std::int64_t r = 0; r < rows; ++r) {
        g[t][r] = given.biased() ? given.bias[member * rows + r] : 0.0;
        for (std::int64_t j = 0; j < size; ++j) g[t][r] += u(r, j) * h[t][j];
      }
      for (std::int64_t i = 0; i < size; ++i) {
        double value;
        if (s.kind == CellKind::gru) {
          const double z = logistic(x(t, i) + g[t][i]), r = logistic(x(t, size + i) + g[t][size + i]);
          value = z * h[t][i] + (1 - z) * std::tanh(x(t, 2 * size + i) + r * g[t][2 * size + i]);
        } else {
          const double sum = x(t, i) + g[t][i];
          value = s.kind == CellKind::tanh ? std::tanh(sum) : std::max(0.0, sum);
        }
        if (s.bits > 0) {
          const double levels = std::ldexp(1.0, s.bits - 1) - 0.5;
          value = std::nearbyint(value * levels) / levels;
        }
        h[t + 1][i] = value;
        out.y[(n * s.positions + t) * size + i] = value;
      }
    }
    std::vector<double> back(size);
    for (std::int64_t t = s.positions - 1; t >= 0; --t) {
      std::vector<double> e(rows), next(size);
      double* d = out.gradient.data() + (n * s.positions + t) * given.pitch;
      for (std::int64_t i = 0; i < size; ++i) {
        const double dh = given.dy[(n * s.positions + t) * size + i] + back[i];
        if (s.kind == CellKind::gru) {
          const double z = logistic(x(t, i) + g[t][i]), r = logistic(x(t, size + i) + g[t][size + i]);
          const double fresh = std::tanh(x(t, 2 * size + i) + r * g[t][2 * size + i]);
          const double dn = dh * (1 - z) * (1 - fresh * fresh);
          d[i] = e[i] = dh * (h[t][i] - fresh) * z * (1 - z);
          d[size + i] = e[size + i] = dn * g[t][2 * size + i] * r * (1 - r);
          d[2 * size + i] = dn, e[2 * size + i] = dn * r;
          next[i] = z * dh;
        } else {
          const double sum = x(t, i) + g[t][i], value = std::tanh(sum);
          d[i] = e[i] = dh * (s.kind == CellKind::tanh ? 1 - value * value : (sum > 0 ? 1.0 : 0.0));
        }
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        out.e[(n * s.positions + t) * rows + r] = e[r];
        for (std::int64_t j = 0; j < size; ++j) next[j] += u(r, j) * e[r];
      }
      back = next;
    }
  }
  return out;
}

inline std::vector<CellShape> cell_shapes() {
  std::vector<CellShape> shapes;
  const std::int64_t sizes[][4] = {
      {1, 1, 1, 1}, {2, 6, 33, 6}, {3, 9, 20, 8}, {1, 5, 50, 13}, {2, 2, 17, 32}};
  for (const auto& [e, n, t, s] : sizes)
    for (const CellKind kind : {CellKind::tanh, CellKind::relu, CellKind::gru})
      for (const Element element : {Element::f32, Element::bf16})
        shapes.push_back({e, n, t, s, kind, 0, element});
  return shapes;
}

}  // namespace rung::kernels
