// Properties of the verdicts as a whole: every task and mixer answers, and three monotonicities.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "rung/theory/pattern.h"
#include "tests/theory/asked.h"

namespace rung {
namespace {

const std::vector<std::string>& lines() {
  static const std::vector<std::string> all = {"full",
                                               "full*3",
                                               "full(window=16)",
                                               "full(chunk=16)",
                                               "full(conv=4)",
                                               "linear",
                                               "linear(feature=taylor2)",
                                               "rnn",
                                               "rnn(cell=relu)",
                                               "gru",
                                               "mamba(form=plain)",
                                               "mamba(conv=4,form=plain)",
                                               "mamba2(form=plain)",
                                               "delta(form=plain)",
                                               "gdelta(form=plain)",
                                               "loglinear",
                                               "loglinear(base=mamba2,form=plain)",
                                               "loglinear(base=gdelta,form=plain)",
                                               "sparse(B=4,k=2,form=plain)",
                                               "sparse(B=4,k=2,window=8,form=plain)",
                                               "topk(k=4,form=plain)",
                                               "heads(full:1,linear:1)",
                                               "heads(full:1,delta(form=plain):1)*2",
                                               "conv(width=4)",
                                               "identity",
                                               "none",
                                               "recurrent(kind=rwkv7,elements=4096)",
                                               "compressed(kind=hca,ratio=8,entry=64)",
                                               "linear+full",
                                               "full+linear",
                                               "linear+full*2",
                                               "full+linear+full",
                                               "full*2+linear",
                                               "(gdelta(form=plain)*3+full)*4",
                                               "sparse(B=4,k=2,form=plain)+linear",
                                               "topk(k=4,form=plain)+full"};
  return all;
}

TEST(verdict, exists_for_every_task_and_every_mixer) {
  for (const auto& line : lines())
    for (const auto& word : task_words())
      for (const bool thought : {false, true}) {
        auto asked = Asked().width(32).heads(2).bits(8).context(128);
        if (thought) asked.thought();
        const auto v = asked.on(line, std::string(word.name));
        EXPECT_EQ(v.task, word.name);
        EXPECT_FALSE(v.hypotheses.empty()) << line << " " << word.name;
        if (v.outcome != Outcome::open) EXPECT_FALSE(v.theorem.empty()) << line << " " << word.name;
        if (v.outcome == Outcome::impossible) EXPECT_TRUE(v.all_hold()) << line << " " << word.name;
        if (v.outcome == Outcome::possible)
          EXPECT_TRUE(v.all_hold()) << line << " " << word.name << " " << v.theorem;
        const auto json = verdict_json(v);
        EXPECT_EQ(json.size(), 15u + json.contains("every_length"));
      }
}

TEST(verdict, of_an_impossible_with_numbers_has_left_above_right) {
  for (const auto& line : lines())
    for (const auto& word : task_words()) {
      const auto v = Asked().width(4).heads(2).bits(4).context(100000).on(line, std::string(word.name));
      if (v.outcome != Outcome::impossible) continue;
      ASSERT_TRUE(v.left && v.right);
      EXPECT_GT(*v.left, *v.right) << line << " " << word.name;
    }
}

RC_GTEST_PROP(verdict, a_larger_context_never_turns_impossible_into_possible, ()) {
  const auto line = *rc::gen::elementOf(lines());
  const auto words = task_words();
  const auto task = std::string(words[*rc::gen::inRange<std::size_t>(0, words.size())].name);
  auto asked =
      Asked().width(*rc::gen::element<std::int64_t>(4, 16, 64)).heads(2).bits(*rc::gen::element(4, 8, 16));
  const auto context = *rc::gen::inRange<std::int64_t>(24, 3000);
  const auto larger = context + *rc::gen::inRange<std::int64_t>(1, 100000);
  const auto before = asked.context(context).outcome(line, task),
             after = asked.context(larger).outcome(line, task);
  if (before == Outcome::impossible) RC_ASSERT(after == Outcome::impossible);
  if (after == Outcome::possible) RC_ASSERT(before == Outcome::possible);
}

RC_GTEST_PROP(verdict, adding_a_layer_never_removes_a_possible, ()) {
  const auto line = *rc::gen::elementOf(lines()), extra = *rc::gen::elementOf(lines());
  const auto words = task_words();
  const auto task = std::string(words[*rc::gen::inRange<std::size_t>(0, words.size())].name);
  auto asked = Asked()
                   .width(*rc::gen::element<std::int64_t>(16, 64, 256))
                   .heads(2)
                   .bits(*rc::gen::element(4, 8, 16))
                   .context(200);
  const TaskSizes sizes = task == "seqcomp" ? TaskSizes{{"L", *rc::gen::inRange(1, 4)}} : TaskSizes{};
  if (asked.outcome(line, task, sizes) != Outcome::possible) return;
  RC_ASSERT(asked.outcome(line + "+" + extra, task, sizes) == Outcome::possible);
  RC_ASSERT(asked.outcome(extra + "+" + line, task, sizes) == Outcome::possible);
}

RC_GTEST_PROP(verdict, more_state_bits_never_lower_a_horizon, ()) {
  const auto words = task_words();
  const auto task = std::string(words[*rc::gen::inRange<std::size_t>(0, words.size())].name);
  const auto pattern = *rc::gen::element<std::string>("{}", "full+{}", "{}+full", "full*2+{}");
  const auto elements = *rc::gen::inRange<std::int64_t>(1, 5000),
             more = *rc::gen::inRange<std::int64_t>(0, 5000);
  const auto ask = [&](std::int64_t size) {
    return Asked().width(8).heads(1).bits(8).context(300).on(
        fmt::format(fmt::runtime(pattern), fmt::format("recurrent(kind=x,elements={})", size)), task);
  };
  const auto a = ask(elements), b = ask(elements + more);
  if (a.theorem == b.theorem && b.horizon) RC_ASSERT(a.horizon.has_value() && *a.horizon <= *b.horizon);
}

TEST(verdict, prompts_fill_the_context_when_no_size_is_given) {
  for (const auto& word : task_words()) {
    if (word.name == "seqcomp") continue;
    const auto question = make_question(word.name, {}, 300, false);
    ASSERT_TRUE(question) << word.name;
    EXPECT_LE(question->prompt, 300);
    EXPECT_GT(question->prompt, 290) << word.name;
  }
}

TEST(verdict, that_is_a_sketch_never_stands_before_a_proof) {
  const auto made = [](Outcome outcome, Status status, const char* name) {
    Verdict v;
    v.outcome = outcome;
    v.status = status;
    v.theorem = name;
    return v;
  };
  std::vector<Verdict> all{made(Outcome::open, Status::proved, "open"),
                           made(Outcome::impossible, Status::sketch, "sketched impossible"),
                           made(Outcome::possible, Status::measured, "measured possible"),
                           made(Outcome::vacuous, Status::proved, "vacuous"),
                           made(Outcome::vacuous, Status::sketch, "vacuous sketch"),
                           made(Outcome::possible, Status::proved, "proved possible"),
                           made(Outcome::possible, Status::sketch, "sketched possible")};
  rank(all);
  std::vector<std::string> names;
  for (const auto& v : all) names.push_back(v.theorem);
  EXPECT_EQ(names, (std::vector<std::string>{"proved possible", "sketched impossible", "sketched possible",
                                             "measured possible", "vacuous", "vacuous sketch", "open"}));
}

// Whatever is asked: what decides at the front is proved if anything proved decides.
TEST(verdict, is_proved_wherever_a_proof_decides) {
  for (const auto& line : lines())
    for (const auto& word : task_words())
      for (const bool thought : {false, true}) {
        auto asked = Asked().width(64).heads(2).bits(16).context(300);
        if (thought) asked.thought();
        const auto question = make_question(word.name, {}, 300, false);
        const auto all = consider(asked.setting(line), *question);
        const bool proof = std::any_of(all.begin(), all.end(), [](const Verdict& v) {
          return is_proved(v.status) && (v.outcome == Outcome::impossible || v.outcome == Outcome::possible);
        });
        if (proof) EXPECT_TRUE(is_proved(all.front().status)) << line << " " << word.name;
      }
}

}  // namespace
}  // namespace rung
