// Products on the host against plain loops in float64: tiles of every height and part of a panel, and maps of rows.
#include "rung/learn/kernels/row_map.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstring>

#include "rung/learn/kernels/matrix_tile.h"
#include "tests/learn/kernels/buffer.h"

namespace rung::kernels {
namespace {

constexpr double kMapTolerance = 1e-5;

struct MapCase {
  RowMapShape shape;
  std::int64_t weight_stride, bias_stride;
  Buffer x, dy, weight, bias, y, dx, dweight, dbias;
  MapCase(const RowMapShape& s, std::uint64_t seed)
      : shape(s),
        weight_stride(s.inputs * s.outputs + 5),
        bias_stride(s.outputs + 3),
        x(Element::f32, s.members * s.rows * s.inputs),
        dy(Element::f32, s.members * s.rows * s.outputs),
        weight(Element::f32, s.members * weight_stride),
        bias(Element::f32, s.members * bias_stride),
        y(dy),
        dx(x),
        dweight(Element::f32, s.members * s.outputs * s.inputs),
        dbias(Element::f32, s.members * s.outputs) {
    Random random(seed);
    for (Buffer* buffer : {&x, &dy, &weight, &bias}) buffer->draw(random);
    for (Buffer* buffer : {&y, &dx, &dweight, &dbias}) buffer->fill(NAN);
  }
  void run(bool biased) {
    const RowMapWeights weights{weight.floats(), weight_stride, biased ? bias.floats() : nullptr,
                                bias_stride};
    row_map_forward(shape, x.floats(), weights, y.floats());
    row_map_backward(shape, x.floats(), weights, dy.floats(),
                     {dx.floats(), dweight.floats(), biased ? dbias.floats() : nullptr});
  }
};

struct MapReference {
  std::vector<double> y, dx, dweight, dbias;
};
MapReference mapped(const MapCase& given, bool biased) {
  const RowMapShape& s = given.shape;
  MapReference out{std::vector<double>(given.y.count()), std::vector<double>(given.x.count()),
                   std::vector<double>(given.dweight.count()), std::vector<double>(given.dbias.count())};
  for (std::int64_t e = 0; e < s.members; ++e)
    for (std::int64_t row = e * s.rows; row < (e + 1) * s.rows; ++row)
      for (std::int64_t r = 0; r < s.outputs; ++r) {
        double& y = out.y[row * s.outputs + r];
        const double slope = given.dy[row * s.outputs + r];
        y = biased ? given.bias[e * given.bias_stride + r] : 0.0;
        out.dbias[e * s.outputs + r] += slope;
        for (std::int64_t c = 0; c < s.inputs; ++c) {
          const double w = given.weight[e * given.weight_stride + r * s.inputs + c];
          y += w * given.x[row * s.inputs + c];
          out.dx[row * s.inputs + c] += slope * w;
          out.dweight[(e * s.outputs + r) * s.inputs + c] += slope * given.x[row * s.inputs + c];
        }
      }
  return out;
}

TEST(RowMap, agrees_with_plain_loops_forward_and_backward) {
  std::uint64_t seed = 1;
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 193, 390})
    for (const std::int64_t inputs : {1, 15, 16, 40})
      for (const std::int64_t outputs : {1, 7, 16, 17, 48})
        for (const bool biased : {false, true}) {
          SCOPED_TRACE(fmt::format("rows={} inputs={} outputs={} bias={}", rows, inputs, outputs, biased));
          MapCase given({2, rows, inputs, outputs}, seed++);
          given.run(biased);
          const MapReference expected = mapped(given, biased);
          EXPECT_LT(distance(given.y, expected.y, given.y.count()), kMapTolerance);
          EXPECT_LT(distance(given.dx, expected.dx, given.dx.count()), kMapTolerance);
          EXPECT_LT(distance(given.dweight, expected.dweight, given.dweight.count()), kMapTolerance);
          if (biased) {
            EXPECT_LT(distance(given.dbias, expected.dbias, given.dbias.count()), kMapTolerance);
          }
        }
}

TEST(RowMap, a_wrong_weight_counts_as_wrong) {
  MapCase given({1, 3, 20, 20}, 2);
  given.run(true);
  given.weight.set(399, given.weight[399] + 0.01);
  const MapReference other = mapped(given, true);
  EXPECT_GT(distance(given.y, other.y, given.y.count()), kMapTolerance);
  EXPECT_GT(distance(given.dx, other.dx, given.dx.count()), kMapTolerance);
}

TEST(RowMap, a_row_has_the_same_bits_whatever_rows_surround_it) {
  MapCase given({1, 200, 33, 21}, 4);
  given.run(true);
  const RowMapWeights weights{given.weight.floats(), 0, given.bias.floats(), 0};
  for (const std::int64_t row : {0, 5, 190, 191, 192, 199}) {
    std::vector<float> alone(21);
    row_map_forward({1, 1, 33, 21}, given.x.floats() + row * 33, weights, alone.data());
    EXPECT_EQ(std::memcmp(alone.data(), given.y.floats() + row * 21, 21 * sizeof(float)), 0) << row;
  }
}

TEST(MatrixTile, both_ways_into_panels_agree_and_leave_zeros_beyond) {
  for (const std::int64_t rows : {1, 3, 4, 5, 9})
    for (const std::int64_t columns : {1, 4, 15, 16, 18}) {
      std::vector<float> plain(static_cast<std::size_t>(rows * columns)), transposed(plain.size());
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t c = 0; c < columns; ++c)
          plain[i * columns + c] = transposed[c * rows + i] = static_cast<float>(1 + i * columns + c);
      const std::int64_t size = panelled_size(rows, columns);
      std::vector<float> a(static_cast<std::size_t>(size), -1.0f), b(a);
      into_panels(plain.data(), columns, rows, columns, a.data());
      transposed_into_panels(transposed.data(), rows, rows, columns, b.data());
      EXPECT_EQ(a, b);
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t c = 0; c < panels_of(columns) * kPanel; ++c)
          EXPECT_EQ(a[(c / kPanel * rows + i) * kPanel + c % kPanel],
                    c < columns ? static_cast<float>(1 + i * columns + c) : 0.0f);
    }
}

}  // namespace
}  // namespace rung::kernels
