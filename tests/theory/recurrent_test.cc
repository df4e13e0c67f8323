// The cut argument: what a recurrent state must hold, task by task, with goldens, and every hypothesis broken
// in turn.
#include <gtest/gtest.h>

#include <set>

#include "rung/theory/counting.h"
#include "rung/theory/horizon.h"
#include "rung/theory/recurrent_cut.h"
#include "rung/theory/three_sum_values.h"
#include "tests/theory/asked.h"

namespace rung {
namespace {

// 1024 state bits: one unnormalised linear layer with d = 8, p = 16.
const char* const kState1024 = "linear(normalised=no,acc=round)";
Asked linear() { return Asked().width(8).heads(1).bits(16); }

TEST(recurrent, refutes_eva_from_the_size_after_the_horizon) {
  const auto below = linear().on(kState1024, "eva", {{"n", 143}}),
             above = linear().on(kState1024, "eva", {{"n", 144}});
  EXPECT_NE(below.outcome, Outcome::impossible);
  EXPECT_EQ(above.outcome, Outcome::impossible);
  EXPECT_EQ(above.theorem, "recurrent-eva");
  EXPECT_EQ(*above.right, 1024);
  EXPECT_EQ(*above.horizon, 143);
  EXPECT_EQ(above.parameters["certified_from"], 144);
}

TEST(recurrent, holds_in_every_arithmetic_and_with_any_chain_of_thought) {
  for (const auto& asked : {linear(), linear().thought(), linear().bf16(), linear().bf16().thought()})
    EXPECT_EQ(asked.outcome(kState1024, "eva", {{"n", 144}}), Outcome::impossible);
}

TEST(recurrent, says_nothing_once_attention_sees_the_whole_past_or_the_stack_is_an_encoder) {
  for (const char* line :
       {"linear(normalised=no)+full", "topk(k=1,form=plain)+linear", "compressed(kind=hca,ratio=8,entry=4)"})
    EXPECT_NE(linear().outcome(line, "eva", {{"n", 100000}}), Outcome::impossible) << line;
  EXPECT_NE(linear().encoder().outcome(kState1024, "eva", {{"n", 144}}), Outcome::impossible);
}

TEST(recurrent, counts_windows_convolutions_and_opaque_recurrences) {
  EXPECT_EQ(linear().outcome("full(window=4)", "eva", {{"n", 1000}}), Outcome::impossible);
  EXPECT_EQ(linear().outcome("conv(width=4)", "eva", {{"n", 1000}}), Outcome::impossible);
  const auto v = linear().on("recurrent(kind=kda,elements=64)", "eva", {{"n", 144}});
  EXPECT_EQ(v.outcome, Outcome::impossible);
  EXPECT_EQ(*v.right, 1024);
}

TEST(recurrent, refutes_every_task_that_a_stack_without_mixers_is_asked) {
  for (const char* task :
       {"eva", "index", "retrieval", "mqar", "two-sum", "two-sum-exists", "three-sum", "seqcomp", "equality",
        "disjointness", "counting", "istree", "sparse-average", "cgram", "khop", "nearest"})
    EXPECT_EQ(linear().context(64).outcome("identity*3+none", task), Outcome::impossible) << task;
}

TEST(recurrent, asks_two_sum_for_the_golden_number_of_bits) {
  const auto v = linear().on(kState1024, "two-sum", {{"n", 1024}, {"M", 1024 * 1024}});
  EXPECT_EQ(v.outcome, Outcome::impossible);
  EXPECT_NEAR(*v.left, 11710, 1);
  // M = O(n): a bitmap of M bits suffices, so the bound stays below it.
  const auto small = linear().on(kState1024, "two-sum", {{"n", 500}, {"M", 1001}});
  EXPECT_NE(small.outcome, Outcome::impossible);
  EXPECT_LT(*small.left, 1001);
}

TEST(recurrent, needs_less_from_a_small_alphabet) {
  EXPECT_EQ(linear().outcome(kState1024, "index", {{"n", 1024}}), Outcome::vacuous);
  EXPECT_EQ(linear().outcome(kState1024, "index", {{"n", 1025}}), Outcome::impossible);
  EXPECT_EQ(linear().outcome(kState1024, "index", {{"n", 1025}, {"sigma", 1}}), Outcome::vacuous);
  EXPECT_EQ(linear().outcome(kState1024, "mqar", {{"n", 144}}), Outcome::impossible);
  EXPECT_NE(linear().outcome(kState1024, "mqar", {{"n", 144}, {"M", 10}}),
            Outcome::impossible);  // ten keys, ten entries
  EXPECT_EQ(linear().outcome(kState1024, "retrieval", {{"n", 144}}), Outcome::impossible);
}

TEST(recurrent, stores_strings_counts_partitions_and_contexts) {
  EXPECT_EQ(linear().outcome(kState1024, "equality", {{"n", 1024}}), Outcome::vacuous);
  EXPECT_EQ(linear().outcome(kState1024, "equality", {{"n", 1025}}), Outcome::impossible);
  EXPECT_EQ(linear().outcome(kState1024, "disjointness", {{"n", 1025}}), Outcome::impossible);
  EXPECT_EQ(linear().outcome(kState1024, "istree", {{"n", 1000}}), Outcome::impossible);
  EXPECT_EQ(linear().outcome(kState1024, "istree", {{"n", 100}}), Outcome::vacuous);
  EXPECT_EQ(linear().outcome(kState1024, "counting", {{"n", 5000}, {"sigma", 1000}}), Outcome::impossible);
  EXPECT_EQ(linear().outcome(kState1024, "counting", {{"n", 5000}, {"sigma", 4}}), Outcome::vacuous);
  EXPECT_EQ(linear().outcome(kState1024, "cgram", {{"n", 20000}, {"sigma", 100}, {"c", 3}}),
            Outcome::impossible);
  EXPECT_EQ(linear().outcome(kState1024, "cgram", {{"n", 20000}, {"sigma", 4}}), Outcome::vacuous);
  EXPECT_EQ(linear().outcome(kState1024, "khop", {{"n", 20000}, {"sigma", 1000}}), Outcome::impossible);
  EXPECT_EQ(linear().outcome(kState1024, "khop", {{"n", 20000}, {"sigma", 4}}), Outcome::vacuous);
  EXPECT_EQ(linear().outcome(kState1024, "nearest", {{"n", 4000}, {"d", 12}, {"f", 16}}),
            Outcome::impossible);
  EXPECT_EQ(linear().outcome(kState1024, "nearest", {{"n", 4000}, {"d", 4}}), Outcome::vacuous);
  EXPECT_EQ(linear().with("read", "last").outcome(kState1024, "sparse-average", {{"n", 1026}}),
            Outcome::impossible);
  EXPECT_EQ(linear().with("read", "last").outcome(kState1024, "sparse-average", {{"n", 1025}}),
            Outcome::vacuous);
  EXPECT_EQ(linear().outcome(kState1024, "three-sum", {{"n", 500}}), Outcome::impossible);
  EXPECT_EQ(linear().outcome(kState1024, "two-sum-exists", {{"n", 3000}}), Outcome::impossible);
}

// The families behind the counts, by brute force on the tasks themselves: prefixes that some continuation
// tells apart.
std::size_t classes_by_exhaustion(const std::string& name, const TaskSizes& sizes, std::int64_t cut) {
  const auto task = make_task(name, sizes);
  EXPECT_TRUE(task);
  std::map<std::vector<std::int64_t>, std::vector<std::int64_t>>
      rows;  // prefix -> answers of all continuations in order
  enumerate(**task, [&](const Instance& instance) {
    const auto& tokens = instance.prompt.fields[0];
    rows[{tokens.begin(), tokens.begin() + cut}].push_back(instance.answer.back());
    return true;
  });
  std::set<std::vector<std::int64_t>> distinct;
  for (const auto& [prefix, row] : rows) distinct.insert(row);
  return distinct.size();
}

double claimed(const std::string& task, const TaskSizes& sizes) {
  return *Asked().on("identity", task, sizes).left;
}

TEST(recurrent, never_claims_more_classes_than_exhaustion_finds) {
  const struct {
    const char* task;
    TaskSizes sizes;
    std::int64_t cut;
    bool tight;
  } cases[] = {
      {"eva", {{"n", 4}}, 4, true},
      {"index", {{"n", 5}, {"sigma", 3}}, 5, true},
      {"two-sum", {{"n", 4}, {"M", 6}}, 4, true},
      {"two-sum-exists", {{"n", 4}, {"M", 9}}, 3, false},
      {"three-sum", {{"n", 4}, {"M", 20}}, 2, false},
      {"equality", {{"n", 4}}, 4, true},
      {"disjointness", {{"n", 4}}, 4, true},
      {"counting", {{"n", 5}, {"sigma", 3}}, 5, true},
      {"counting", {{"n", 5}, {"sigma", 3}, {"k", 2}}, 5, false},
      {"istree", {{"n", 5}}, 6, false},
      {"seqcomp", {{"m", 2}, {"n1", 2}}, 4, true},
  };
  for (const auto& c : cases) {
    const double found = std::log2(static_cast<double>(classes_by_exhaustion(c.task, c.sizes, c.cut)));
    EXPECT_LE(claimed(c.task, c.sizes), found + 1e-9) << c.task;
    if (c.tight) EXPECT_NEAR(claimed(c.task, c.sizes), found, 1e-9) << c.task;
  }
  // Strings without repeats of a context have no answer to enumerate over: the families of c-gram and k-hop
  // by their answers.
  EXPECT_LE(
      claimed("khop", {{"n", 5}, {"k", 1}, {"sigma", 4}}),
      std::log2(static_cast<double>(classes_by_exhaustion("khop", {{"n", 5}, {"k", 1}, {"sigma", 4}}, 4))) +
          1e-9);
  EXPECT_LE(
      claimed("khop", {{"n", 7}, {"k", 2}, {"sigma", 4}}),
      std::log2(static_cast<double>(classes_by_exhaustion("khop", {{"n", 7}, {"k", 2}, {"sigma", 4}}, 4))) +
          1e-9);
}

// The cited statement, against the counts: linear in n where it says so, and not where it does not.
TEST(recurrent, counting_and_contexts_need_many_bits_only_with_many_symbols) {
  for (const std::int64_t n : {64, 512, 4096}) {
    const auto bits = [&](const char* task, const TaskSizes& sizes) { return claimed(task, sizes); };
    const auto least = static_cast<double>(n);
    EXPECT_GE(bits("index", {{"n", n}}), least);
    EXPECT_GE(bits("mqar", {{"n", n}}), least);
    EXPECT_GE(bits("istree", {{"n", n}}), least);
    EXPECT_GE(bits("counting", {{"n", n}, {"sigma", n}}), least);
    EXPECT_GE(bits("cgram", {{"n", n}, {"sigma", n}, {"c", 2}}), least);
    EXPECT_LE(bits("counting", {{"n", n}, {"sigma", 3}}), 2 * std::log2(least + 2));
    EXPECT_LE(bits("cgram", {{"n", n}, {"sigma", 3}, {"c", 2}}), 3 * std::log2(3.0));
  }
  // And so few suffice: over two symbols the classes of counting are the n + 1 counts.
  EXPECT_EQ(classes_by_exhaustion("counting", {{"n", 6}, {"sigma", 2}}, 6), 7u);
}

TEST(recurrent, three_sum_values_lie_strictly_between_a_sixth_and_a_third) {
  for (std::int64_t M = 1; M < 200; ++M) {
    std::int64_t count = 0;
    for (std::int64_t a = 0; a < M; ++a) count += 6 * a > M && 3 * a < M;
    EXPECT_EQ(three_sum_values(M), count) << M;
  }
}

TEST(log_linear, charges_the_oldest_bucket_alone) {
  // One level is 1024 bits; all live levels together are ten times that.
  auto asked = linear();
  const auto v = asked.on("loglinear(base=linear,acc=round)", "eva", {{"n", 200}});
  EXPECT_EQ(v.outcome, Outcome::vacuous);  // 128 lg 200 = 978
  const auto later = asked.on("loglinear(base=linear,acc=round)", "eva", {{"n", 256}});
  EXPECT_EQ(later.outcome, Outcome::impossible);
  EXPECT_EQ(later.theorem, "log-linear-eva");
  EXPECT_EQ(*later.right, 1024);  // one level
  EXPECT_EQ(
      asked.outcome("linear(normalised=no,acc=round)+loglinear(base=linear,acc=round)", "eva", {{"n", 256}}),
      Outcome::vacuous);
  EXPECT_EQ(asked.on("loglinear(base=linear,acc=round)", "two-sum", {{"n", 1024}}).theorem,
            "log-linear-two-sum");
  EXPECT_EQ(asked.outcome("loglinear(base=linear,acc=round)", "index", {{"n", 2048}}), Outcome::impossible);
  EXPECT_EQ(asked.on("loglinear(base=linear,acc=round)", "seqcomp", {{"m", 256}}).theorem,
            "log-linear-seqcomp");
  EXPECT_NE(asked.outcome("loglinear(base=linear,acc=round)+full", "eva", {{"n", 256}}), Outcome::impossible);
}

// Tokens are counted past what 64 bits hold: at 63 for each n a product in 64 bits is undefined, which the sanitizer says.
TEST(recurrent_cut, finds_where_it_certifies_up_to_the_largest_n) {
  const Setting setting = Asked().bits(32).setting("recurrent(kind=other,elements=1125899906842624)*10");
  const std::int64_t bits = 10 * (std::int64_t{1} << 55);
  const auto question = make_question("copy", {}, 4096, false, {});
  ASSERT_TRUE(question);
  for (const std::int64_t each : {1, 2, 63, 1000}) {
    CutBound bound;
    bound.classes = [](std::int64_t n) { return std::optional(Count::power(2, n)); };
    bound.tokens_each = each;
    const Verdict v = cut_verdict(theorems().front(), setting, *question, bound);
    EXPECT_EQ(v.horizon, Integer(bits)) << each;
  }
}

}  // namespace
}  // namespace rung
