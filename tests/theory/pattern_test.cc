// The pattern theorem at actual sizes: every hypothesis broken in turn, and the verdict changes.
#include "rung/theory/pattern.h"

#include <gtest/gtest.h>

#include "tests/theory/asked.h"

namespace rung {
namespace {

// The golden row: H = 1, d = 2, p = 4, partial sums of 2p + 20 bits, one linear layer of 24 state bits.
Asked golden() { return Asked().width(2).heads(1).bits(4).sums(28); }
const std::string kRounded = "linear(acc=round)";
const TaskSizes kGolden{{"m", 45}, {"n1", 3}};

TEST(pattern, refutes_the_golden_row_and_prints_its_numbers) {
  const auto v = golden().on("full+" + kRounded, "seqcomp", kGolden);
  EXPECT_EQ(v.outcome, Outcome::impossible);
  EXPECT_EQ(v.theorem, "one-full-layer-late");
  EXPECT_TRUE(is_proved(v.status));
  EXPECT_NEAR(*v.left, 955.37, 0.01);
  EXPECT_EQ(*v.right, 948);
  EXPECT_EQ(v.parameters["T"], 15);
  EXPECT_EQ(v.parameters["x_0"], 3);
  EXPECT_EQ(v.parameters["M_part"], 84);
  EXPECT_EQ(v.parameters["s_after"], 24);
  EXPECT_EQ(v.parameters["prompt"], 183);
}

TEST(pattern, proves_nothing_when_any_hypothesis_of_one_full_layer_fails) {
  EXPECT_EQ(golden().outcome("full+" + kRounded, "seqcomp", {{"m", 44}, {"n1", 3}}), Outcome::vacuous);
  EXPECT_EQ(golden().sums(30).outcome("full+" + kRounded, "seqcomp", kGolden), Outcome::vacuous);
  EXPECT_EQ(golden().outcome("full+linear(acc=round)*2", "seqcomp", kGolden),
            Outcome::vacuous);  // 48 state bits
  EXPECT_EQ(golden().outcome("full+linear", "seqcomp", kGolden),
            Outcome::vacuous);  // exact sums are wider
  EXPECT_NE(golden().thought().outcome("full+" + kRounded, "seqcomp", kGolden), Outcome::impossible);
  EXPECT_NE(golden().encoder().outcome("full+" + kRounded, "seqcomp", kGolden), Outcome::impossible);
  EXPECT_EQ(golden().bf16().outcome("full+" + kRounded, "seqcomp", kGolden), Outcome::open);  // rounded sums
  EXPECT_EQ(golden().outcome("topk(k=2,form=plain)+linear(acc=round)", "seqcomp", kGolden),
            Outcome::open);  // no theorem covers it
  EXPECT_NE(golden().outcome("linear(acc=round)+full", "seqcomp", kGolden),
            Outcome::impossible);  // early recurrence asks for more
}

TEST(pattern, speaks_about_floats_only_when_told_to_assume_exact_sums) {
  auto asked = Asked().width(2).heads(1).bf16();
  const TaskSizes sizes{{"m", 4000}, {"n1", 40}};
  EXPECT_EQ(asked.outcome("full+linear", "seqcomp", sizes), Outcome::open);
  const auto v = asked.exact().on("full+linear", "seqcomp", sizes);
  EXPECT_EQ(v.outcome, Outcome::impossible);
  ASSERT_FALSE(v.assumes.empty());
  EXPECT_EQ(v.assumes[0], "mode X at 16 bits");
}

TEST(pattern, calls_a_refutation_through_sparse_layers_a_sketch) {
  auto asked = Asked().width(2).heads(1).bits(4).context(1 << 20);
  const auto v = asked.on("sparse(B=2,k=1,form=plain)+linear", "seqcomp", {{"L", 2}});
  EXPECT_EQ(v.outcome, Outcome::impossible);
  EXPECT_EQ(v.status, Status::sketch);
  EXPECT_EQ(asked.on("full+linear", "seqcomp", {{"L", 2}}).status, Status::checked);
}

TEST(pattern, needs_a_prompt_as_long_as_the_smallest_certified_one) {
  const auto far = golden().context(4096).on("full+" + kRounded, "seqcomp");
  ASSERT_TRUE(far.horizon);
  EXPECT_LE(*far.horizon, 183);
  EXPECT_EQ(far.outcome, Outcome::impossible);
  const std::int64_t first = far.horizon->convert_to<std::int64_t>();
  EXPECT_EQ(golden().context(first).outcome("full+" + kRounded, "seqcomp"), Outcome::impossible);
  EXPECT_EQ(golden().context(first - 1).outcome("full+" + kRounded, "seqcomp"), Outcome::vacuous);
  // The sizes printed are certified when asked for by name.
  TaskSizes sizes{{"m", far.parameters["m"].integer()}, {"n1", far.parameters["n1"].integer()}};
  EXPECT_EQ(golden().outcome("full+" + kRounded, "seqcomp", sizes), Outcome::impossible);
}

TEST(pattern, refutes_early_recurrence_only_at_larger_sizes) {
  auto asked = Asked().width(4).heads(1).bits(8).sums(36).context(1 << 22);
  const auto v = asked.on("linear(acc=round)+full+linear(acc=round)", "seqcomp", {{"L", 2}});
  EXPECT_EQ(v.outcome, Outcome::impossible);
  EXPECT_EQ(v.theorem, "one-full-layer-early");
  EXPECT_GT(*v.horizon, 10'000);
  EXPECT_EQ(v.parameters["M_part"], 180);
  EXPECT_EQ(v.parameters["s_before"], 160);
}

TEST(pattern, tells_late_recurrence_from_early_with_two_full_layers) {
  auto asked = Asked().width(2).heads(1).bits(4).context(std::int64_t{1} << 30);
  const auto late = asked.on("full*2+linear", "seqcomp", {{"L", 2}});
  EXPECT_EQ(late.outcome, Outcome::impossible);
  EXPECT_EQ(late.theorem, "two-full-layers");
  for (const char* line : {"linear+full*2", "full+linear+full"})
    EXPECT_EQ(asked.outcome(line, "seqcomp", {{"L", 2}}), Outcome::open)
        << line;  // too narrow to be built, but not refuted
  auto wide = Asked().width(128).heads(2).bits(16).context(4096);
  for (const char* line : {"linear+full*2", "full+linear+full", "full*3"})
    EXPECT_EQ(wide.outcome(line, "seqcomp", {{"L", 2}}), Outcome::possible) << line;
  EXPECT_EQ(wide.outcome("full*2+linear", "seqcomp", {{"L", 2}}), Outcome::vacuous);
}

TEST(pattern, counts_recurrent_heads_beside_full_ones) {
  auto asked = Asked().width(4).heads(2).bits(4).context(std::int64_t{1} << 31);
  const auto v = asked.on("heads(full:1,linear:1)*2", "seqcomp", {{"L", 2}});
  EXPECT_EQ(v.theorem, "head-wise");
  EXPECT_EQ(v.outcome, Outcome::impossible);
  EXPECT_EQ(asked.on("full*2", "seqcomp", {{"L", 2}}).theorem, "two-full-layers");
  const auto one = asked.on("heads(full:1,linear:1)", "seqcomp", {{"L", 1}});
  EXPECT_EQ(one.outcome, Outcome::impossible);
  EXPECT_EQ(one.theorem, "full-alone-seqcomp");
  EXPECT_EQ(Asked().width(128).heads(4).bits(16).outcome("heads(full:2,linear:2)*2", "seqcomp", {{"L", 1}}),
            Outcome::possible);
}

TEST(pattern, answers_general_L_with_honest_vacuity) {
  auto asked = Asked().width(64).heads(4).bits(16).context(1 << 20);
  const auto fewer = asked.on("full*2+linear", "seqcomp", {{"L", 3}});
  EXPECT_EQ(fewer.theorem, "decomposition-fewer");
  EXPECT_EQ(fewer.outcome, Outcome::vacuous);
  ASSERT_TRUE(fewer.horizon);
  EXPECT_GT(*fewer.horizon, Integer(1) << 60);
  const auto equal = asked.on("full*3", "seqcomp", {{"L", 3}});
  EXPECT_EQ(equal.theorem, "decomposition-equal");
  EXPECT_EQ(equal.outcome, Outcome::vacuous);
  const auto deep = asked.on("full*20+linear", "seqcomp", {{"L", 21}});
  EXPECT_EQ(deep.outcome, Outcome::vacuous);
  EXPECT_FALSE(deep.horizon);
  EXPECT_TRUE(deep.parameters.contains("growth"));
  EXPECT_EQ(asked.width(256).outcome("linear+full*2", "seqcomp", {{"L", 2}}), Outcome::possible);
}

TEST(pattern, never_refutes_from_the_word_alone) {
  // F F on 2-SeqComp with few continuations: every head fetches one.
  auto asked = Asked().width(256).heads(4).bits(16);
  EXPECT_EQ(asked.on("full*2", "seqcomp", {{"m", 16}, {"n1", 4}}).theorem, "seqcomp-precomposed");
  EXPECT_EQ(asked.outcome("full*2", "seqcomp", {{"m", 16}, {"n1", 4}}), Outcome::possible);
  EXPECT_EQ(asked.outcome("full*2", "seqcomp", {{"m", 16}, {"n1", 5}}), Outcome::vacuous);
  // R R F with a state that holds z_1: absorption.
  EXPECT_EQ(
      asked.on("linear(heads=2)+linear(normalised=no,feature=relu)+full", "seqcomp", {{"m", 16}, {"n1", 50}})
          .theorem,
      "seqcomp-absorbed");
  EXPECT_NE(asked.outcome("linear(heads=2)+linear(normalised=no,feature=relu)+full", "seqcomp",
                          {{"m", 5000}, {"n1", 50}}),
            Outcome::possible);
}

TEST(pattern, summarises_what_the_word_does_at_this_context) {
  auto asked = Asked().width(64).heads(2).bits(16).context(4096);
  const auto three = summarise_pattern(asked.setting("full*3"));
  EXPECT_EQ(three.solvable, 2);
  EXPECT_FALSE(three.early);
  const auto early = summarise_pattern(asked.setting("linear+full*3"));
  EXPECT_EQ(early.solvable, 3);
  EXPECT_TRUE(early.early);
  EXPECT_EQ(early.asymptotic, 3);
  const auto late = summarise_pattern(asked.setting("full*3+linear"));
  EXPECT_EQ(late.solvable, 2);
  const auto tiny = summarise_pattern(golden().context(4096).setting("full+" + kRounded));
  EXPECT_EQ(tiny.impossible, 2);
  const auto none = summarise_pattern(Asked().width(4).heads(1).bits(8).context(4096).setting("linear*4"));
  EXPECT_EQ(none.impossible, 1);
  EXPECT_FALSE(none.solvable);
}

TEST(pattern, counts_windows_convolutions_and_shifts_as_recurrence) {
  auto asked = Asked().width(64).heads(4).bits(16).context(4096);
  for (const char* line : {"full(window=8)+full*2", "conv(width=8,channels=128)+full*2"}) {
    const auto v = asked.width(256).on(line, "seqcomp", {{"L", 2}});
    EXPECT_EQ(v.theorem, "seqcomp-recurrence") << line;
    EXPECT_EQ(v.status, Status::sketch) << line;  // carries, but no weights are written down
  }
  EXPECT_EQ(asked.outcome("full(window=2)+full*2", "seqcomp", {{"L", 2}}),
            Outcome::open);  // reaches too little, state early
  EXPECT_TRUE(summarise_pattern(asked.setting("full(conv=4)*2")).early);
  EXPECT_FALSE(summarise_pattern(asked.setting("full*2+full(window=8)")).early);
}

TEST(pattern, counts_an_early_recurrence_only_as_far_as_it_reaches) {
  auto asked = Asked().width(64).heads(4).bits(16).context(4096);
  const auto largest = [&](const std::string& line) {
    return summarise_pattern(asked.setting(line)).asymptotic;
  };
  EXPECT_EQ(largest("full*2"), 1);
  EXPECT_EQ(largest("linear+full*2"), 2);
  // From `=` back to z_0 it is L + 1 tokens: three for two functions, four for three.
  EXPECT_EQ(largest("conv(width=2)+full*2"), 1);
  EXPECT_EQ(largest("conv(width=3)+full*2"), 2);
  EXPECT_EQ(largest("conv(width=3)+full*3"), 2);
  EXPECT_EQ(largest("conv(width=2)*2+full*2"), 2);  // one behind the other
  EXPECT_EQ(largest("full+conv(width=3)+full"), 2);
  EXPECT_EQ(largest("full+conv(width=2)+full"), 1);
  EXPECT_EQ(largest("full(window=2)+full*2"), 1);
  EXPECT_EQ(largest("full(window=3)+full*2"), 2);
  EXPECT_EQ(largest("full(chunk=64)+full*2"), 1);  // a chunk may begin between z_0 and `=`
  EXPECT_EQ(largest("full(conv=4)*3"), 3);
  EXPECT_EQ(largest("full(conv=4)*4"), 3);
  EXPECT_EQ(largest("heads(full(conv=2):2,linear:2)+full"), 1);  // beside the F, not before it
  EXPECT_EQ(largest("full+conv(width=2)"), 1);                   // L = 1: anywhere, two tokens
  EXPECT_EQ(largest("full+full(chunk=8)"), 0);
}

}  // namespace
}  // namespace rung
