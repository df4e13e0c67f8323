// What the theory says about released forms: counting holds, and what was proved of the plain form is not lent to them.
#include <gtest/gtest.h>

#include <algorithm>

#include "rung/spec/mixers.h"
#include "tests/theory/asked.h"

namespace rung {
namespace {

TEST(released_forms, are_counted_like_the_plain_ones) {
  const auto asked = Asked().width(4).heads(1).bits(4);
  for (const auto& [plain, released] : {std::pair("mamba2(form=plain)", "mamba2"),
                                        {"gdelta(form=plain)", "gdelta"},
                                        {"delta(form=plain)", "delta(range=2)"},
                                        {"mamba(form=plain)", "mamba"}}) {
    EXPECT_EQ(asked.outcome(plain, "eva", {{"n", 4096}}), Outcome::impossible) << plain;
    EXPECT_EQ(asked.outcome(released, "eva", {{"n", 4096}}), Outcome::impossible) << released;
  }
  for (const char* line : {"gla", "kda", "rwkv7"})
    EXPECT_EQ(asked.outcome(line, "eva", {{"n", 4096}}), Outcome::impossible) << line;
}

TEST(released_forms, are_not_what_a_proof_writes_down) {
  const auto asked = Asked().width(512).heads(8).bits(24);
  const TaskSizes sizes{{"n", 8}};
  for (const auto& [plain, released] : {std::pair("none+delta(form=plain)", "none+delta"),
                                        {"none+mamba2(form=plain)", "none+mamba2"},
                                        {"full", "full(rope=half)"},
                                        {"sparse(B=4,k=8,form=plain)", "sparse(B=4,k=8)"}}) {
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
  EXPECT_EQ(asked.outcome("sparse(B=16,k=1,form=plain)", "two-sum", sizes), Outcome::impossible);
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
  EXPECT_EQ(says("topk(k=8,index_dim=2,form=plain)"), "none");
  EXPECT_EQ(says("topk(k=8,index_dim=2,form=plain,index_rope=half,rope_dim=2)"), "positions");
}

// The oldest 2^⌊lg n⌋ tokens share a state in the weak partition alone.
TEST(released_forms, of_the_strong_partition_are_outside_the_theorem_on_levels) {
  const auto asked = Asked().width(4).heads(1).bits(8);  // 128 bits a level; 32 lg 63 = 191, 63 lg 63 = 377
  EXPECT_EQ(asked.outcome("loglinear(base=gdelta,form=released)", "eva", {{"n", 63}}), Outcome::impossible);
  EXPECT_NE(asked.outcome("loglinear(base=gdelta,form=released,partition=strong)", "eva", {{"n", 63}}),
            Outcome::impossible);
}

// Each theorem that a form can leave speaks about the forms inside its hypotheses, and leaves the others open: its own
// verdict, whatever else is known.
struct FormCase {
  const char *theorem, *task;
  TaskSizes sizes;
  std::vector<const char*> inside, outside;
};
bool speaks(const Verdict& v) {
  return v.outcome == Outcome::impossible || v.outcome == Outcome::possible || v.outcome == Outcome::vacuous;
}

TEST(released_forms, outside_a_hypothesis_leave_its_theorem_open) {
  const std::vector<FormCase> cases{
      {"aperiodicity",
       "parity",
       {{"n", 64}},
       {"mamba2(form=plain)", "mamba2", "mamba(form=released)", "mamba(form=plain,norms=after,gate=silu)",
        "gla(rank=2)", "heads(gla(rank=2):1,mamba2(form=released):1)"},
       {"delta(form=plain)", "delta", "delta(form=released,range=2)", "gdelta(form=released)", "kda", "rwkv7",
        "full(rope=half)", "topk(k=2,form=plain,index_norm=yes)", "sparse(B=4,k=2,form=released,rope=none)",
        "loglinear(base=mamba2,form=released)", "recurrent(kind=x,elements=4)"}},
      {"aperiodicity-tracked",
       "tracked-recall",
       {{"n", 4}, {"w", 64}},
       {"mamba2(form=released)", "gla(rank=2)"},
       {"kda", "rwkv7", "gdelta(form=released,range=2)", "full(rope=interleaved)"}},
      {"nonsolvable-groups",
       "group",
       {{"n", 16}},
       {"mamba(form=released)", "gla(rank=2)", "full"},
       {"kda", "rwkv7", "gdelta(form=released)", "full(rope=half)", "topk(k=2,form=plain)"}},
      {"sparse-two-sum",
       "two-sum",
       {{"n", 256}},
       {"sparse(B=16,k=1,form=plain)"},
       {"sparse(B=16,k=1,form=released)", "sparse(B=16,k=1,form=released,compress=linear,rope=none)",
        "sparse(B=16,k=1,form=released,compress=pool,span=8,stride=4)", "sparse(B=16,k=1,score=tokens)"}},
      {"log-linear-eva",
       "eva",
       {{"n", 63}},
       {"loglinear(base=gdelta,form=plain)", "loglinear(base=gdelta,form=released)",
        "loglinear(base=mamba2,form=released)"},
       {"loglinear(base=gdelta,form=released,partition=strong)"}},
  };
  for (const FormCase& one : cases) {
    auto asked = Asked().width(4).heads(2).bits(4).nowhere();
    asked.dimensions.context = 64;
    if (std::string(one.theorem) == "nonsolvable-groups") asked = asked.with("name", "A5");
    const auto all = theorems();
    const auto theorem =
        std::find_if(all.begin(), all.end(), [&](const Theorem& t) { return t.id == one.theorem; });
    ASSERT_NE(theorem, all.end()) << one.theorem;
    const auto verdict = [&](const char* line) -> std::optional<Verdict> {
      const Setting setting = asked.setting(line);
      const auto question = make_question(one.task, one.sizes, setting.context, false, asked.form);
      EXPECT_TRUE(question) << (question ? "" : question.error().message);
      return theorem->evaluate(*theorem, setting, *question);
    };
    for (const char* line : one.inside) {
      const auto v = verdict(line);
      ASSERT_TRUE(v) << one.theorem << " on " << line;
      EXPECT_TRUE(speaks(*v)) << one.theorem << " on " << line;
    }
    for (const char* line : one.outside) {
      const auto v = verdict(line);
      EXPECT_TRUE(!v || (v->outcome == Outcome::open && !v->every_length)) << one.theorem << " on " << line;
    }
  }
}

TEST(released_forms, have_their_assumptions_as_data) {
  const auto assumed = [](const char* line) {
    return assumptions_of(
        resolve({*parse_stack(line), {.width = 8, .heads = 2, .context = 8}}).value()[0].mixer);
  };
  EXPECT_EQ(assumed("mamba2(form=plain)").decay, Decay::table);
  EXPECT_EQ(assumed("mamba2(form=released)").decay, Decay::table);  // an integer file's may be negative
  EXPECT_EQ(assumed("mamba(form=released,norms=after)").decay, Decay::table);
  EXPECT_EQ(assumed("gla").update, Update::entrywise);
  EXPECT_EQ(assumed("kda").update, Update::coupled);
  EXPECT_EQ(assumed("recurrent(kind=x,elements=1)").update, Update::unknown);
  for (const char* line : {"delta(range=2,form=plain)", "gdelta(range=2)", "kda(range=2)", "rwkv7"})
    EXPECT_TRUE(assumed(line).negative_eigenvalues) << line;
  for (const char* line : {"delta(form=plain)", "gdelta", "kda", "gla", "mamba2"})
    EXPECT_FALSE(assumed(line).negative_eigenvalues) << line;
  EXPECT_TRUE(assumed("sparse(B=2,k=1,form=plain)").block_messages);
  EXPECT_FALSE(assumed("sparse(B=2,k=1,form=released)").block_messages);
  EXPECT_TRUE(assumed("loglinear(base=mamba2,form=released)").doubling_levels);
  EXPECT_FALSE(assumed("loglinear(base=mamba2,form=released,partition=strong)").doubling_levels);
  EXPECT_TRUE(assumed("topk(k=1,form=plain,index_rope=half,rope_dim=2)").turns);
  EXPECT_FALSE(assumed("full(rope=half)").written_down);
}

}  // namespace
}  // namespace rung
