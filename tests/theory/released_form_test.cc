// What the theory says about released forms: counting holds, and what was proved of the plain form is not lent to them.
#include <gtest/gtest.h>

#include "tests/theory/asked.h"

namespace rung {
namespace {

TEST(released_forms, are_counted_like_the_plain_ones) {
  const auto asked = Asked().width(4).heads(1).bits(4);
  for (const auto& [plain, released] : {std::pair("mamba2", "mamba2(form=released)"),
                                        {"gdelta", "gdelta(form=released)"},
                                        {"delta", "delta(form=released,range=2)"},
                                        {"mamba", "mamba(form=released)"}}) {
    EXPECT_EQ(asked.outcome(plain, "eva", {{"n", 4096}}), Outcome::impossible) << plain;
    EXPECT_EQ(asked.outcome(released, "eva", {{"n", 4096}}), Outcome::impossible) << released;
  }
  for (const char* line : {"gla", "kda", "rwkv7"})
    EXPECT_EQ(asked.outcome(line, "eva", {{"n", 4096}}), Outcome::impossible) << line;
}

TEST(released_forms, are_not_what_a_proof_writes_down) {
  const auto asked = Asked().width(512).heads(8).bits(24);
  const TaskSizes sizes{{"n", 8}};
  for (const auto& [plain, released] : {std::pair("none+delta", "none+delta(form=released)"),
                                        {"none+mamba2", "none+mamba2(form=released)"},
                                        {"full", "full(rope=half)"},
                                        {"sparse(B=4,k=8)", "sparse(B=4,k=8,form=released)"}}) {
    if (asked.outcome(plain, "eva", sizes) != Outcome::possible) continue;
    EXPECT_NE(asked.outcome(released, "eva", sizes), Outcome::possible) << released;
  }
  EXPECT_EQ(asked.outcome("full", "eva", sizes), Outcome::possible);
  EXPECT_NE(asked.outcome("full(rope=half)", "eva", sizes), Outcome::possible);
  // A layer beside the one that works may have any form: its output map is zero.
  EXPECT_EQ(asked.outcome("full+gla", "eva", sizes), Outcome::possible);
}

// One compression a block and a selection on top of the own block: the released form has neither.
TEST(released_forms, of_sparse_attention_are_outside_the_theorem_on_blocks) {
  auto asked = Asked().width(2).heads(1).bits(2);
  const TaskSizes sizes{{"n", 256}};
  EXPECT_EQ(asked.outcome("sparse(B=16,k=1)", "two-sum", sizes), Outcome::impossible);
  EXPECT_NE(asked.outcome("sparse(B=16,k=1,form=released)", "two-sum", sizes), Outcome::impossible);
}

// Index keys that turn depend on the position, whatever the embedding says.
TEST(released_forms, of_selection_know_that_turned_keys_depend_on_positions) {
  const auto asked = Asked().width(4).heads(1).bits(2).nowhere();
  const auto says = [&](const char* line) {
    for (const auto& hypothesis : asked.on(line, "two-sum", {{"n", 16}, {"M", 33}}).hypotheses)
      if (hypothesis.text.find("2^b < M and") != std::string::npos) return std::string("positions");
    return std::string("none");
  };
  EXPECT_EQ(says("topk(k=8,index_dim=2)"), "none");
  EXPECT_EQ(says("topk(k=8,index_dim=2,index_rope=half,rope_dim=2)"), "positions");
}

// The oldest 2^⌊lg n⌋ tokens share a state in the weak partition alone.
TEST(released_forms, of_the_strong_partition_are_outside_the_theorem_on_levels) {
  const auto asked = Asked().width(4).heads(1).bits(8);  // 128 bits a level; 32 lg 63 = 191, 63 lg 63 = 377
  EXPECT_EQ(asked.outcome("loglinear(base=gdelta,form=released)", "eva", {{"n", 63}}), Outcome::impossible);
  EXPECT_NE(asked.outcome("loglinear(base=gdelta,form=released,partition=strong)", "eva", {{"n", 63}}),
            Outcome::impossible);
}

}  // namespace
}  // namespace rung
