// AdamW against its definition in float64, and what happens to members that fail.
#include "rung/learn/kernels/adamw.h"

#include <gtest/gtest.h>

#include "tests/learn/kernels/adamw_case.h"

namespace rung::kernels {
namespace {

TEST(AdamW, agrees_with_its_definition_over_many_steps) {
  for (const Element element : {Element::f32, Element::bf16})
    for (const std::int64_t size : {1, 37, 9000}) {
      AdamWCase given(3, size, element, 4);
      AdamWReference expected(given);
      for (std::int64_t t = 0; t < 15; ++t) {
        given.draw_gradients(t);
        expected.step(given, t);
        adamw_step(given.settings, given.buffers());
        EXPECT_EQ(given.step, t + 1);
        ASSERT_LT(distance(given.parameters, expected.parameters, given.parameters.count()), 1e-5) << t;
      }
      EXPECT_LT(distance(given.second, expected.second, given.second.count()), 1e-5);
      for (std::int64_t i = 0; i < given.parameters.count(); ++i) {
        Bf16 nearest;
        store(nearest, static_cast<float>(given.parameters[i]));
        ASSERT_EQ(given.rounded[i].bits, nearest.bits);
      }
    }
}

TEST(AdamW, a_gradient_that_is_not_finite_ends_that_member_alone) {
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    AdamWCase given(3, 50, Element::f32, 4);
    given.gradients.set(50 + 7, bad);
    const Buffer before = given.parameters;
    adamw_step(given.settings, given.buffers());
    EXPECT_EQ(given.alive, (std::vector<std::uint8_t>{1, 0, 1}));
    for (std::int64_t i = 0; i < 50; ++i) {
      EXPECT_NE(given.parameters[i], before[i]);
      EXPECT_EQ(given.parameters[50 + i], before[50 + i]);
      EXPECT_EQ(given.first[50 + i], 0.0);
      EXPECT_NE(given.parameters[100 + i], before[100 + i]);
    }
    given.draw_gradients(1);
    adamw_step(given.settings, given.buffers());  // dead members stay dead
    EXPECT_EQ(given.alive[1], 0);
    EXPECT_EQ(given.parameters[51], before[51]);
  }
}

TEST(AdamW, a_member_alone_has_the_bits_it_has_among_others) {
  AdamWCase given(3, 5000, Element::f32, 6);
  AdamWCase alone = given;
  alone.members = 1;
  for (int t = 0; t < 4; ++t) {
    adamw_step(given.settings, given.buffers());
    adamw_step(alone.settings, alone.buffers());
  }
  for (std::int64_t i = 0; i < 5000; ++i) ASSERT_EQ(given.parameters[i], alone.parameters[i]);
}

TEST(AdamW, the_schedule_rises_falls_and_stays) {
  const Schedule schedule{.warmup = 4, .total = 10, .floor = 0.25f};
  EXPECT_DOUBLE_EQ(schedule_fraction(schedule, 0), 0.25);
  EXPECT_DOUBLE_EQ(schedule_fraction(schedule, 3), 1.0);
  EXPECT_DOUBLE_EQ(schedule_fraction(schedule, 4), 1.0);
  EXPECT_DOUBLE_EQ(schedule_fraction(schedule, 7), 0.625);
  EXPECT_DOUBLE_EQ(schedule_fraction(schedule, 10), 0.25);
  EXPECT_DOUBLE_EQ(schedule_fraction(schedule, 1000), 0.25);
}

}  // namespace
}  // namespace rung::kernels
