// Widths of what is stored, where they are not the model's own: both sides of the theory hear them.
#include "rung/spec/accounting.h"
#include "tests/theory/asked.h"

namespace rung {
namespace {

Asked stored(Asked asked, const StorageBits& bits) {
  asked.options.storage = bits;
  return asked;
}

// A bound and a construction that contradict each other end the program, so that asking is the test.
TEST(Storage, narrow_states_leave_no_weights_possible_that_a_bound_forbids) {
  const std::string linear = "linear(heads=1,dim=256,vdim=1,feature=identity,normalised=no,acc=round)";
  const std::string mamba2 = "mamba2(heads=4,dim=1,state=1,form=plain)";
  for (int bits = 1; bits <= 16; ++bits) {
    const Asked wide = stored(Asked().width(514).bits(16), {.state = bits});
    const Asked entries = Asked().width(514).bits(16).entries(bits);
    EXPECT_EQ(wide.outcome(linear, "eva", {{"n", 256}}), entries.outcome(linear, "eva", {{"n", 256}}))
        << bits;
    wide.on(mamba2, "flipflop", {{"k", 100}});
  }
  const std::string linear_first = "linear(acc=round,heads=4)+full(heads=4)*2";
  const TaskSizes sizes{{"L", 2}, {"m", 30}, {"n1", 5}};
  EXPECT_EQ(Asked().width(256).bits(16).outcome(linear_first, "seqcomp", sizes), Outcome::possible);
  EXPECT_EQ(stored(Asked().width(256).bits(16), {.state = 1}).outcome(linear_first, "seqcomp", sizes),
            Outcome::open);
  EXPECT_EQ(Asked().width(64).outcome("rnn", "parity", {{"n", 16}}), Outcome::possible);
  EXPECT_EQ(stored(Asked().width(64), {.state = 1}).outcome("rnn", "parity", {{"n", 16}}), Outcome::open);
}

TEST(Storage, narrow_caches_and_convolutions_leave_lookups_open) {
  const Asked plain = Asked().width(64).bits(16);
  EXPECT_EQ(plain.outcome("full", "eva", {{"n", 16}}), Outcome::possible);
  EXPECT_EQ(stored(plain, {.cache = 15}).outcome("full", "eva", {{"n", 16}}), Outcome::open);
  EXPECT_EQ(stored(plain, {.cache = 16}).outcome("full", "eva", {{"n", 16}}), Outcome::possible);
  EXPECT_EQ(stored(plain, {.conv = 1}).outcome("full", "eva", {{"n", 16}}), Outcome::possible);
  const Asked wide = Asked().width(256).bits(16);
  const TaskSizes sizes{{"L", 2}, {"m", 30}, {"n1", 5}};
  const std::string convolved = "conv(width=4)+full(heads=4)*2",
                    windowed = "full(heads=4,window=4)+full(heads=4)*2";
  EXPECT_EQ(wide.outcome(convolved, "seqcomp", sizes), Outcome::possible);
  EXPECT_EQ(stored(wide, {.conv = 1}).outcome(convolved, "seqcomp", sizes), Outcome::open);
  EXPECT_EQ(stored(wide, {.cache = 1}).outcome(windowed, "seqcomp", sizes), Outcome::open);
}

TEST(Storage, what_is_possible_has_at_least_what_is_asked_for) {
  for (const char* carrier :
       {"linear", "rnn", "gru", "mamba(form=plain)", "mamba2(form=plain)", "delta(form=plain)",
        "gdelta(form=plain)", "loglinear(form=plain)", "conv(width=4)", "full(window=4)"}) {
    const Verdict v = Asked().width(256).heads(4).bits(16).on(std::string(carrier) + "+full*2", "seqcomp",
                                                              {{"L", 2}, {"m", 30}, {"n1", 40}});
    if (v.outcome != Outcome::possible) continue;
    EXPECT_GE(v.left, v.right) << carrier;
    EXPECT_GE(v.margin, 1) << carrier;
  }
}

TEST(Storage, a_block_across_the_cut_is_no_state) {
  const Setting setting = Asked().width(4).bits(2).setting("sparse(B=16,k=1,form=plain)");
  EXPECT_TRUE(setting.word.total().empty());
  EXPECT_GT(setting.word.full(0).state.after(1), 0);
  const Setting both =
      Asked().width(4).bits(2).setting("sparse(B=16,k=1,form=plain)+linear(acc=round,heads=1)");
  EXPECT_EQ(both.word.total().after(1), account(both.architecture, both.layers, {}).state_bits);
}

TEST(Storage, a_hypothesis_that_fails_says_what_is_there) {
  const Verdict rounded = Asked().width(64).bf16().nowhere().on("full", "parity", {{"n", 16}});
  bool found = false;
  for (const Hypothesis& h : rounded.hypotheses)
    if (h.text.find("exact integer sums") != std::string::npos && !h.holds) {
      found = true;
      EXPECT_EQ(h.numbers, "sums in bf16 are rounded");
    }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace rung
