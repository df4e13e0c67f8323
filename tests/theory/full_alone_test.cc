// One full layer alone: partial sums against strings, brackets and triples; every hypothesis broken in turn.
#include <gtest/gtest.h>

#include "tests/theory/asked.h"

namespace rung {
namespace {

// M_part = 1 (2 + 1) 28 = 84 bits.
Asked narrow() { return Asked().width(2).heads(1).bits(4).sums(28); }

TEST(full_alone, compares_no_strings_longer_than_its_partial_sums) {
  EXPECT_NE(narrow().outcome("full", "equality", {{"n", 84}}), Outcome::impossible);
  const auto v = narrow().on("full", "equality", {{"n", 85}});
  EXPECT_EQ(v.outcome, Outcome::impossible);
  EXPECT_EQ(v.theorem, "full-alone-strings");
  EXPECT_EQ(*v.right, 84);
  EXPECT_EQ(*v.horizon, 84);
  EXPECT_EQ(narrow().outcome("full", "disjointness", {{"n", 85}}), Outcome::impossible);
}

TEST(full_alone, proves_nothing_when_any_hypothesis_fails) {
  const TaskSizes sizes{{"n", 85}};
  EXPECT_NE(narrow().outcome("full*2", "equality", sizes), Outcome::impossible);
  EXPECT_NE(narrow().outcome("linear+full", "equality", sizes), Outcome::impossible);
  EXPECT_NE(narrow().thought().outcome("full", "equality", sizes), Outcome::impossible);
  EXPECT_EQ(narrow().bf16().outcome("full", "equality", sizes), Outcome::open);
  EXPECT_EQ(narrow().bf16().exact().outcome("full", "equality", {{"n", 300}}), Outcome::impossible);
  EXPECT_NE(narrow().sums(29).outcome("full", "equality", sizes), Outcome::impossible);
  EXPECT_NE(narrow().width(4).heads(2).outcome("heads(full:1,linear:1)", "equality", sizes),
            Outcome::impossible);  // state beside
  EXPECT_NE(narrow().outcome("sparse(B=2,k=1,form=plain)", "equality", sizes), Outcome::impossible);
}

TEST(full_alone, matches_no_brackets_and_finds_no_triples) {
  EXPECT_EQ(narrow().outcome("full", "dyck", {{"n", 172}}), Outcome::impossible);  // 85 free pairs
  EXPECT_NE(narrow().outcome("full", "dyck", {{"n", 170}}), Outcome::impossible);
  EXPECT_NE(narrow().outcome("full", "dyck", {{"n", 173}}), Outcome::impossible);  // odd: never well nested
  EXPECT_NE(narrow().outcome("full", "dyck", {{"n", 172}, {"k", 1}}), Outcome::impossible);
  EXPECT_NE(narrow().width(4).heads(2).outcome("heads(full:1,linear:1)", "dyck", {{"n", 172}}),
            Outcome::impossible);
  EXPECT_EQ(narrow().outcome("full", "three-sum", {{"n", 40}}), Outcome::impossible);
  EXPECT_NE(narrow().outcome("full*2", "three-sum", {{"n", 40}}), Outcome::impossible);
}

TEST(full_alone, does_not_compose_one_function) {
  EXPECT_EQ(narrow().outcome("full", "seqcomp", {{"m", 22}}), Outcome::impossible);  // 22 lg 22 = 98.1 > 84
  EXPECT_NE(narrow().outcome("full", "seqcomp", {{"m", 19}}), Outcome::impossible);  // 19 lg 19 = 80.7
  EXPECT_NE(narrow().outcome("full+linear", "seqcomp", {{"m", 22}}), Outcome::impossible);
  EXPECT_NE(narrow().outcome("linear+full", "seqcomp", {{"m", 22}}), Outcome::impossible);
  EXPECT_NE(narrow().outcome("full*2", "seqcomp", {{"m", 22}}), Outcome::impossible);
}

}  // namespace
}  // namespace rung
