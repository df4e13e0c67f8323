// The loss at answer rows against its definition in float64; ties, rows without a target, numbers that are
// not finite.
#include "rung/learn/kernels/answer_loss.h"

#include <gtest/gtest.h>

#include "rung/learn/kernels/exponential.h"
#include "tests/learn/kernels/answer_case.h"

namespace rung::kernels {
namespace {

TEST(AnswerLoss, agrees_with_its_definition) {
  for (const Element element : {Element::f32, Element::bf16})
    for (const std::int64_t size : {1, 2, 7, 33, 256, 1000})
      for (const float smoothing : {0.0f, 0.1f}) {
        AnswerCase given(40, size, element, smoothing, 3);
        const AnswerReference expected = answer(given);
        answer_loss(given.rows(), given.loss.floats(), given.correct.data(), given.dlogits.data());
        EXPECT_LT(distance(given.loss, expected.loss, 40), 1e-5) << size;
        EXPECT_EQ(given.correct, expected.correct) << size;
        EXPECT_LT(distance(given.dlogits, expected.dlogits, given.dlogits.count()), tolerance(element))
            << size;
      }
}

TEST(AnswerLoss, ties_go_to_the_smaller_index) {
  AnswerCase given(2, 4, Element::f32, 0.0f, 3);
  for (std::int64_t i = 0; i < 8; ++i) given.logits.set(i, i % 4 == 0 ? -1.0 : 2.0);
  given.target = {1, 2};
  answer_loss(given.rows(), given.loss.floats(), given.correct.data(), nullptr);
  EXPECT_EQ(given.correct, (std::vector<std::uint8_t>{1, 0}));
}

TEST(AnswerLoss, a_row_without_target_counts_for_nothing) {
  AnswerCase given(3, 5, Element::f32, 0.1f, 3);
  given.target = {-1, 5, 4};
  given.dlogits.fill(9.0);
  answer_loss(given.rows(), given.loss.floats(), given.correct.data(), given.dlogits.data());
  for (std::int64_t i = 0; i < 10; ++i) EXPECT_EQ(given.dlogits[i], 0.0);
  EXPECT_EQ(given.loss[0], 0.0);
  EXPECT_EQ(given.loss[1], 0.0);
  EXPECT_GT(given.loss[2], 0.0);
}

TEST(AnswerLoss, a_nan_is_not_correct_and_stays_in_its_row) {
  AnswerCase given(2, 3, Element::f32, 0.0f, 3);
  for (std::int64_t j = 0; j < 3; ++j) given.logits.set(j, std::nan(""));
  given.target = {0, 1};
  answer_loss(given.rows(), given.loss.floats(), given.correct.data(), given.dlogits.data());
  EXPECT_TRUE(std::isnan(given.loss[0]));
  EXPECT_EQ(given.correct[0], 0);
  EXPECT_TRUE(std::isfinite(given.loss[1]));
}

TEST(Exponential, is_within_its_error_of_the_library) {
  double worst = 0.0;
  for (double x = -87.0; x < 88.5; x += 0.0037) {
    const auto y = static_cast<float>(x);
    worst = std::max(worst, std::abs(exponential(y) / std::exp(static_cast<double>(y)) - 1.0));
  }
  EXPECT_LT(worst, 3e-7);
  EXPECT_EQ(exponential(0.0f), 1.0f);
  EXPECT_EQ(exponential(-1000.0f), 0.0f);
  EXPECT_EQ(exponential(-HUGE_VALF), 0.0f);
  EXPECT_EQ(exponential(1000.0f), HUGE_VALF);
  EXPECT_TRUE(std::isnan(exponential(NAN)));
}

}  // namespace
}  // namespace rung::kernels
