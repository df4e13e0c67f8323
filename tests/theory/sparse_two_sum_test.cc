// One block-sparse layer on 2-Sum-last; the golden lg C(64,8) = 32.0, and every hypothesis broken in turn.
#include <gtest/gtest.h>

#include "rung/theory/counting.h"
#include "tests/theory/asked.h"

namespace rung {
namespace {

// One head, d = 2, p = 8: a block hands over 2 d p = 32 bits.
Asked narrow_sparse() { return Asked().width(2).heads(1).bits(8); }

TEST(sparse_two_sum, turns_at_the_golden_binomial) {
  EXPECT_NEAR(Count::binomial(64, 8).lg(), 32.0, 0.05);  // 4 426 165 368 sets, just above 2^32
  EXPECT_EQ(
      narrow_sparse().nowhere().outcome("sparse(B=8,k=2,form=plain)", "two-sum", {{"n", 64}, {"M", 64}}),
      Outcome::impossible);
  EXPECT_NE(
      narrow_sparse().nowhere().outcome("sparse(B=8,k=2,form=plain)", "two-sum", {{"n", 64}, {"M", 63}}),
      Outcome::impossible);
}

TEST(sparse_two_sum, needs_unread_blocks_one_layer_and_no_chain_of_thought) {
  const TaskSizes sizes{{"n", 64}, {"M", 200}};
  const auto asked = narrow_sparse().nowhere();
  EXPECT_EQ(asked.on("sparse(B=8,k=2,form=plain)", "two-sum", sizes).theorem, "sparse-two-sum");
  EXPECT_NE(asked.outcome("sparse(B=8,k=8,form=plain)", "two-sum", sizes),
            Outcome::impossible);  // every block is read
  EXPECT_NE(asked.outcome("sparse(B=8,k=2,window=48,form=plain)", "two-sum", sizes),
            Outcome::impossible);  // the window reads them
  EXPECT_NE(asked.outcome("sparse(B=8,k=2,form=plain)*2", "two-sum", sizes), Outcome::impossible);  // open
  EXPECT_NE(asked.outcome("sparse(B=8,k=2,form=plain)+linear", "two-sum", sizes), Outcome::impossible);
  EXPECT_NE(narrow_sparse().nowhere().thought().outcome("sparse(B=8,k=2,form=plain)", "two-sum", sizes),
            Outcome::impossible);
  EXPECT_NE(asked.outcome("topk(k=2,form=plain)", "two-sum", sizes),
            Outcome::impossible);  // 16 bits of index key
  EXPECT_NE(narrow_sparse().nowhere().bits(16).outcome("sparse(B=8,k=2,form=plain)", "two-sum", sizes),
            Outcome::impossible);
}

TEST(sparse_two_sum, asks_for_more_when_compression_sees_positions) {
  EXPECT_NE(narrow_sparse().outcome("sparse(B=8,k=2,form=plain)", "two-sum", {{"n", 64}, {"M", 64}}),
            Outcome::impossible);
  const auto v = narrow_sparse().on("sparse(B=8,k=2,form=plain)", "two-sum", {{"n", 64}, {"M", 500}});
  EXPECT_EQ(v.outcome, Outcome::impossible);
  EXPECT_EQ(v.theorem, "sparse-two-sum-positions");
}

TEST(sparse_two_sum, is_met_by_slot_heads) {
  auto asked = Asked().width(8 * 32).heads(8).bits(8);
  const auto v = asked.on("none+sparse(B=8,k=2,form=plain)", "two-sum", {{"n", 64}, {"M", 500}});
  EXPECT_EQ(v.outcome, Outcome::possible);
  EXPECT_EQ(v.theorem, "two-sum-slots");
  EXPECT_EQ(v.status, Status::measured);
}

}  // namespace
}  // namespace rung
