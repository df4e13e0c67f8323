// The embedding and its gradient against the definition.
#include "rung/learn/kernels/embedding_sum.h"

#include <gtest/gtest.h>

#include "tests/learn/kernels/embedding_case.h"

namespace rung::kernels {
namespace {

TEST(EmbeddingSum, agrees_with_its_definition_forward_and_backward) {
  for (EmbeddingCase& given : embedding_cases()) {
    const EmbeddingReference expected = embed(given);
    const auto fields = given.fields();
    embedding_sum_forward(given.shape, fields.data(), given.positioned() ? given.position.data() : nullptr,
                          given.x.data());
    embedding_sum_backward(given.shape, fields.data(), given.dx.data(),
                           given.positioned() ? given.dposition.floats() : nullptr);
    EXPECT_LT(distance(given.x, expected.x, given.x.count()), tolerance(given.shape.element));
    for (std::size_t f = 0; f < fields.size(); ++f)
      EXPECT_LT(distance(given.gradients[f], expected.gradients[f], given.gradients[f].count()), 1e-5);
    EXPECT_LT(distance(given.dposition, expected.dposition, given.dposition.count()), 1e-5);
  }
}

TEST(EmbeddingSum, a_field_may_want_no_gradient) {
  EmbeddingCase given({1, 2, 3, 4, 1, false, Element::f32, 0}, {6}, 1);
  auto fields = given.fields();
  fields[0].gradient = nullptr;
  embedding_sum_backward(given.shape, fields.data(), given.dx.data(), nullptr);
  EXPECT_TRUE(std::isnan(given.gradients[0][0]));
}

TEST(EmbeddingSumDeath, a_token_outside_its_table_is_the_callers_bug) {
  EmbeddingCase given({1, 1, 2, 4, 1, true, Element::f32, 0}, {6}, 1);
  given.tokens[0][1] = 6;
  const auto fields = given.fields();
  EXPECT_DEATH(embedding_sum_forward(given.shape, fields.data(), nullptr, given.x.data()), "token 6");
}

}  // namespace
}  // namespace rung::kernels
