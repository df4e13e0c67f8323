#include "rung/base/random.h"

#include <gtest/gtest.h>

namespace rung {
namespace {

TEST(Random, repeats_for_the_same_seed_and_stream_and_differs_otherwise) {
  Random a(1, 2), b(1, 2), c(1, 3), d(2, 2);
  const auto first = a.next();
  EXPECT_EQ(first, b.next());
  EXPECT_NE(first, c.next());
  EXPECT_NE(first, d.next());
}

TEST(Random, below_reaches_every_value_and_nothing_else) {
  Random random(7);
  std::vector<int> seen(5, 0);
  for (int i = 0; i < 5000; ++i) ++seen.at(random.below(5));
  for (int count : seen) EXPECT_NEAR(count, 1000, 200);
}

}  // namespace
}  // namespace rung
