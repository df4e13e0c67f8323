#include "rung/theory/proof_cache.h"

#include <gtest/gtest.h>

#include "rung/theory/one_full_layer.h"

namespace rung {
namespace {

TEST(ProofCache, searches_once_and_says_the_same_again) {
  ProofCache memory;
  const OneFullLayer layer{.partial = 100, .before = 0, .after = 50};
  int searches = 0;
  const auto search = [&] {
    ++searches;
    return smallest_proof(layer, Objective::prompt);
  };
  const auto first = memory.recall("a", search), again = memory.recall("a", search),
             plain = smallest_proof(layer, Objective::prompt);
  ASSERT_TRUE(first && again && plain);
  EXPECT_EQ(searches, 1);
  EXPECT_EQ(first->sizes, plain->sizes);
  EXPECT_EQ(again->sizes, plain->sizes);
  EXPECT_EQ(again->left, plain->left);
  memory.recall("b", search);
  EXPECT_EQ(searches, 2);
}

TEST(ProofCache, remembers_that_nothing_was_found_and_stays_bounded) {
  ProofCache memory;
  int searches = 0;
  const auto nothing = [&]() -> std::optional<SeqcompProof> {
    ++searches;
    return std::nullopt;
  };
  EXPECT_FALSE(memory.recall("none", nothing));
  EXPECT_FALSE(memory.recall("none", nothing));
  EXPECT_EQ(searches, 1);
  for (std::size_t k = 0; k < 2 * ProofCache::kMost; ++k) memory.recall(std::to_string(k), nothing);
  EXPECT_LE(memory.size(), ProofCache::kMost);
}

}  // namespace
}  // namespace rung
