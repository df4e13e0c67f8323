// Learned selection on 2-Sum-last: the edge, every hypothesis broken in turn, and the count against all index maps.
#include <gtest/gtest.h>

#include "rung/theory/horizon.h"
#include "tests/theory/asked.h"

namespace rung {
namespace {

// Index keys of one number of 4 bits: 16 of them.
Asked indexed() { return Asked().width(4).heads(1).bits(4); }
const std::string kIndexed = "topk(k=2,index_dim=1,form=plain)";

TEST(selection, needs_an_index_key_for_every_value) {
  EXPECT_NE(indexed().nowhere().outcome(kIndexed, "two-sum", {{"n", 3}, {"M", 16}}), Outcome::impossible);
  const auto v = indexed().nowhere().on(kIndexed, "two-sum", {{"n", 3}, {"M", 17}});
  EXPECT_EQ(v.outcome, Outcome::impossible);
  EXPECT_EQ(v.theorem, "selection-two-sum");
  EXPECT_EQ(v.status, Status::proved);
  EXPECT_NEAR(*v.left, std::log2(17.0), 1e-6);
  EXPECT_EQ(*v.right, 4);
}

TEST(selection, asks_for_more_tokens_when_index_keys_see_positions) {
  // (1 - 15/17) n > 2 from n = 18 on.
  EXPECT_NE(indexed().outcome(kIndexed, "two-sum", {{"n", 17}, {"M", 17}}), Outcome::impossible);
  EXPECT_EQ(indexed().outcome(kIndexed, "two-sum", {{"n", 18}, {"M", 17}}), Outcome::impossible);
}

TEST(selection, proves_nothing_when_a_hypothesis_fails) {
  const TaskSizes sizes{{"n", 40}, {"M", 200}};
  EXPECT_EQ(indexed().outcome(kIndexed, "two-sum", sizes), Outcome::impossible);
  EXPECT_EQ(indexed().outcome(kIndexed + "+none", "two-sum", sizes), Outcome::impossible);  // position-wise
  EXPECT_NE(indexed().outcome("topk(k=2,index_dim=2,form=plain)", "two-sum", sizes),
            Outcome::impossible);  // 8 bits
  EXPECT_NE(indexed().outcome("topk(k=40,index_dim=1,form=plain)", "two-sum", sizes),
            Outcome::impossible);  // all are read
  EXPECT_NE(indexed().outcome(kIndexed + "*2", "two-sum", sizes), Outcome::impossible);
  EXPECT_NE(indexed().outcome("linear+" + kIndexed, "two-sum", sizes), Outcome::impossible);
  EXPECT_NE(indexed().outcome(kIndexed + "+full", "two-sum", sizes), Outcome::impossible);
  EXPECT_NE(indexed().thought().outcome(kIndexed, "two-sum", sizes), Outcome::impossible);
}

// All ways to give M values index keys of b bits at n places; whatever they are, some value must share its key with
// another at more than k places. Knows no theorem.
TEST(selection, agrees_with_every_choice_of_index_keys_at_small_sizes) {
  for (const auto& [M, keys, places] : {std::tuple{3, 2, 4}, {4, 2, 3}, {5, 2, 2}, {5, 4, 2}, {3, 4, 2}}) {
    int maps = 1;
    for (int v = 0; v < M; ++v) maps *= keys;
    std::vector<unsigned> shared(static_cast<std::size_t>(maps));  // bit v: value v shares its key
    for (int map = 0; map < maps; ++map) {
      std::vector<int> key(static_cast<std::size_t>(M));
      for (int v = 0, rest = map; v < M; ++v, rest /= keys) key[static_cast<std::size_t>(v)] = rest % keys;
      for (int v = 0; v < M; ++v)
        for (int u = 0; u < M; ++u)
          if (u != v && key[static_cast<std::size_t>(u)] == key[static_cast<std::size_t>(v)])
            shared[static_cast<std::size_t>(map)] |= 1u << v;
    }
    long combinations = 1;
    for (int t = 0; t < places; ++t) combinations *= maps;
    int fewest = places;  // over all maps, the most places at which some value shares its key
    for (long choice = 0; choice < combinations; ++choice) {
      std::vector<int> count(static_cast<std::size_t>(M));
      long rest = choice;
      for (int t = 0; t < places; ++t, rest /= maps)
        for (int v = 0; v < M; ++v)
          count[static_cast<std::size_t>(v)] += shared[static_cast<std::size_t>(rest % maps)] >> v & 1;
      fewest = std::min(fewest, *std::max_element(count.begin(), count.end()));
    }
    const int bits = keys == 2 ? 1 : 2;
    for (int k = 1; k <= places; ++k)
      EXPECT_EQ(sparse_two_sum_impossible({1, k, bits, true}, places, M), fewest > k)
          << "M " << M << ", " << keys << " keys, " << places << " places, k " << k;
  }
}

}  // namespace
}  // namespace rung
