// Row norms against their definition in float64; the gradient against the product of Jacobian and dy.
#include "rung/learn/kernels/row_norm.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/learn/kernels/norm_case.h"

namespace rung::kernels {
namespace {

TEST(RowNorm, agrees_with_its_definition_forward_and_backward) {
  for (const NormShape& shape : norm_shapes())
    for (const bool gained : {false, true}) {
      if (shape.unit && gained) continue;
      NormCase given(shape, gained, 5);
      SCOPED_TRACE(fmt::format("outer={} inner={} width={} members={} {} unit={} gain={}", shape.outer,
                               shape.inner, shape.width, shape.members,
                               shape.element == Element::f32 ? "f32" : "bf16", shape.unit, gained));
      const NormReference expected = norm(given);
      row_norm_forward(shape, given.in(), given.gain_data(), given.out(), given.inverse.floats());
      row_norm_backward(shape, given.in(), given.gain_data(), given.inverse.floats(), given.out_gradient(),
                        given.in_gradient(), gained ? given.dgain.floats() : nullptr);
      EXPECT_LT(distance(given.y, expected.y, given.y.count()), tolerance(shape.element));
      EXPECT_LT(distance(given.inverse, expected.inverse, given.inverse.count()), 1e-5);
      EXPECT_LT(distance(given.dx, expected.dx, given.dx.count()), tolerance(shape.element));
      if (gained) {
        EXPECT_LT(distance(given.dgain, expected.dgain, given.dgain.count()), 1e-5);
      }
    }
}

TEST(RowNorm, the_reference_has_the_gradient_of_its_differences) {
  for (const bool unit : {false, true}) {
    NormCase given({.outer = 2, .inner = 2, .width = 5, .members = 1, .unit = unit, .scale = 1.5f}, !unit, 2);
    const NormReference expected = norm(given);
    const double h = 1.0 / 1024;
    const auto loss = [&] {
      const NormReference out = norm(given);
      double sum = 0.0;
      for (std::int64_t i = 0; i < given.dy.count(); ++i) sum += out.y[i] * given.dy[i];
      return sum;
    };
    for (std::int64_t i = 0; i < 10; ++i) {
      const double before = given.x[i];
      given.x.set(i, before + h);
      const double up = loss(), high = given.x[i];
      given.x.set(i, before - h);
      EXPECT_NEAR((up - loss()) / (high - given.x[i]), expected.dx[i], 1e-3) << i;
      given.x.set(i, before);
    }
  }
}

TEST(RowNorm, a_zero_row_has_the_unit_norm_zero_and_no_gradient) {
  NormCase given({.outer = 1, .inner = 1, .width = 6, .members = 1, .unit = true}, false, 2);
  given.x.fill(0.0);
  row_norm_forward(given.shape, given.in(), nullptr, given.out(), given.inverse.floats());
  row_norm_backward(given.shape, given.in(), nullptr, given.inverse.floats(), given.out_gradient(),
                    given.in_gradient(), nullptr);
  for (std::int64_t c = 0; c < 6; ++c) {
    EXPECT_EQ(given.y[c], 0.0);
    EXPECT_EQ(given.dx[c], 0.0);
  }
}

TEST(RowNorm, a_member_alone_has_the_bits_it_has_among_others) {
  NormCase given({.outer = 1200, .inner = 1, .width = 24, .members = 3}, true, 8);
  row_norm_forward(given.shape, given.in(), given.gain_data(), given.out(), given.inverse.floats());
  row_norm_backward(given.shape, given.in(), given.gain_data(), given.inverse.floats(), given.out_gradient(),
                    given.in_gradient(), given.dgain.floats());
  NormShape one = given.shape;
  one.outer = 400;
  one.members = 1;
  Buffer dgain(Element::f32, 24), dx(Element::f32, given.dx.count() / 3);
  for (std::int64_t e = 0; e < 3; ++e) {
    const std::int64_t first = e * 400 * given.stride;
    row_norm_backward(one, {given.x.at(first), given.stride}, given.gain_data() + e * 24,
                      given.inverse.floats() + e * 400, {given.dy.at(first), given.stride},
                      {dx.data(), given.stride}, dgain.floats());
    for (std::int64_t c = 0; c < 24; ++c) EXPECT_EQ(dgain[c], given.dgain[e * 24 + c]);
  }
}

}  // namespace
}  // namespace rung::kernels
