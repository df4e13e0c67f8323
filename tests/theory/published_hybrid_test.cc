// The hybrid theorem as published: its numbers, its hypotheses broken in turn, and our counts at its own length.
#include <gtest/gtest.h>

#include "rung/theory/bound_query.h"
#include "rung/theory/decomposition.h"
#include "rung/theory/one_full_layer.h"
#include "tests/theory/asked.h"

namespace rung {
namespace {

// H = 1, d = 2, p = 4; a state of H d (d+1) p = 24 bits, as one linear layer of that size has.
Asked published() { return Asked().width(2).heads(1).bits(4); }
const std::string kPublishedState = "recurrent(kind=any,elements=6)";

std::optional<Verdict> said(const Asked& asked, const std::string& line, std::int64_t L) {
  const Setting setting = asked.setting(line);
  const auto question = make_question("seqcomp", {{"L", L}}, setting.context, false);
  EXPECT_TRUE(question);
  return apply(theorem("hybrid-published"), setting, *question);
}

TEST(published_hybrid, is_vacuous_at_every_length_in_use) {
  const auto v = said(published(), "full+" + kPublishedState, 2);
  ASSERT_TRUE(v);
  EXPECT_EQ(v->outcome, Outcome::vacuous);
  EXPECT_EQ(*v->right, 8);                             // H d p of the full layer, and 24 / (d+1) of the state
  EXPECT_NEAR(*v->left, std::exp2(12.0 / 256), 1e-9);  // 4096 tokens
  EXPECT_EQ(v->parameters["lg_certified_from"], 768.0);  // 8^256
  EXPECT_EQ(*v->horizon, Integer(1) << 768);
  const auto deeper = said(published(), "full+" + kPublishedState + "+full", 3);
  EXPECT_EQ(deeper->parameters["lg_certified_from"], 3.0 * 4096);
  EXPECT_EQ(*deeper->horizon, Integer(1) << 3 * 4096);
  // The smallest head there is, at the longest context there is.
  const auto least = said(Asked().width(1).heads(1).bits(2).context(kMaxContext), "full", 2);
  EXPECT_EQ(least->outcome, Outcome::vacuous);
  EXPECT_EQ(least->parameters["lg_certified_from"], 256.0);
}

TEST(published_hybrid, charges_the_layer_that_needs_most) {
  EXPECT_EQ(*said(published(), "full+recurrent(kind=any,elements=60)", 2)->right, 80);  // 240 / 3
  EXPECT_EQ(*said(published(), "full(heads=3,dim=5,vdim=7)+" + kPublishedState, 2)->right, 3 * 7 * 4);
  EXPECT_EQ(*said(published(), "heads(full(dim=5):2,full(dim=3):1)", 2)->right, (2 * 5 + 3) * 4);
}

TEST(published_hybrid, opens_when_a_hypothesis_fails) {
  EXPECT_EQ(said(published(), "full+" + kPublishedState + "*4096", 2)->outcome, Outcome::vacuous);
  EXPECT_EQ(said(published(), "full+" + kPublishedState + "*4097", 2)->outcome, Outcome::open);  // 2^12 a gap
  EXPECT_EQ(said(published(), "full+" + kPublishedState + "*4097", 3)->outcome, Outcome::vacuous);
  EXPECT_EQ(said(published(), kPublishedState + "+full", 2)->outcome, Outcome::open);
  EXPECT_EQ(said(published(), "heads(full:1,linear:1)", 2)->outcome, Outcome::open);
  EXPECT_EQ(said(published().thought(), "full", 2)->outcome, Outcome::open);
  EXPECT_EQ(said(published().encoder(), "full", 2)->outcome, Outcome::open);
  EXPECT_EQ(said(published().bf16(), "full", 2)->outcome, Outcome::open);
  for (const std::string line :
       {"full*2", "linear", "topk(k=2,form=plain)", "sparse(B=2,k=1,form=plain)", "none"})
    EXPECT_FALSE(said(published(), line, 2)) << line;  // not L-1 full layers, or not full ones
  EXPECT_FALSE(said(published(), "full", 1));
}

TEST(published_hybrid, never_takes_the_place_of_a_count) {
  for (const std::string line : {"full", "full+linear", "full+linear*40", "full+full", "full+linear+full"})
    for (const std::int64_t L : {2, 3})
      for (const std::int64_t context : {16, 4096, 1 << 20})
        EXPECT_NE(published().context(context).on(line, "seqcomp", {{"L", L}}).theorem, "hybrid-published")
            << line << " " << L << " " << context;
}

// The explicit form follows from our counts wherever they are evaluated: with all 2^(3L²) layers of H d (d+1) p bits
// in every gap they refute some sizes whose prompt is no longer than (H d p)^(2^(4L)).
TEST(published_hybrid, follows_from_the_counts_at_its_own_length) {
  for (const std::int64_t H : {1, 2, 8})
    for (const std::int64_t d : {1, 2, 64})
      for (const std::int64_t p : {2, 8, 16}) {
        const Integer hdp = H * d * p, partial = Integer(H) * (d + 1) * (2 * p + 20),
                      state = Integer(H) * d * (d + 1) * p;
        const auto two =
            smallest_proof(OneFullLayer{partial, 0, (Integer(1) << 12) * state}, Objective::prompt);
        ASSERT_TRUE(two) << H << " " << d << " " << p;
        EXPECT_LE(two->sizes.prompt_length(), boost::multiprecision::pow(hdp, 256));
        EXPECT_LT(bit_length(two->sizes.prompt_length()), 80u);
      }
  for (const std::int64_t d : {2, 16}) {
    const Integer hdp = d * 4, partial = Integer(d + 1) * 28, gap = (Integer(1) << 27) * d * (d + 1) * 4;
    const auto three =
        smallest_proof(Decomposition{.L = 3, .partial = partial, .outputs = hdp, .gaps = {0, gap, gap}});
    ASSERT_TRUE(three) << d;
    EXPECT_TRUE(three->certified);
    EXPECT_LE(three->sizes.prompt_length(), boost::multiprecision::pow(hdp, 4096));
    EXPECT_LT(bit_length(three->sizes.prompt_length()), 400u);
  }
}

TEST(query, asks_one_theorem_by_its_name_and_refuses_an_unknown_one) {
  BoundQuery query{.task = "seqcomp", .sizes = {{"L", 2}}, .theorem = "hybrid-published"};
  query.architecture.line = "full+linear";
  auto chosen = query.architecture.choose();
  ASSERT_TRUE(chosen) << chosen.error().message;
  auto report = answer_query(query, *chosen);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->verdicts[0].theorem, "hybrid-published");
  for (const auto& [id, text] : {std::pair{"recurrent-eva", "about this task"},
                                 {"two-full-layers", "about such architectures"},
                                 {"three-sum-layers", "with numbers"}}) {
    query.theorem = id;
    report = answer_query(query, *chosen);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->verdicts[0].outcome, Outcome::open);
    EXPECT_NE(report->verdicts[0].hypotheses[0].text.find(text), std::string::npos) << id;
  }
  query.theorem = "hybrid-publish";
  report = answer_query(query, *chosen);
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("hybrid-published"), std::string::npos);
}

}  // namespace
}  // namespace rung
