// The horizon of the aperiodicity theorem: where the library says that one letter more changes nothing, the
// extracted predicates say so, and not one letter earlier; and `checked` is said only where their theorems are
// about the verdict.
#include <gtest/gtest.h>

#include <set>

#include "rung/base/random.h"
#include "rung/theory/settling.h"
#include "tests/proofs/extracted.h"
#include "tests/theory/asked.h"

namespace rung {
namespace {

enum Kind { kRecurrence, kWindow, kSelection, kFull };  // of proofs/driver.ml

// A group of heads as the language writes it, and as the predicate reads it: kind and three numbers.
struct DrawnHeads {
  std::string word;
  std::vector<Integer> kind;

  bool parallel() const { return !word.starts_with("conv(") && !word.starts_with("mamba("); }
};
DrawnHeads drawn_heads(Random& random, int p, int entries, bool sums) {
  const std::int64_t size = random.between(1, 9), conv = random.between(1, 4);
  const std::string behind = conv > 1 ? ",conv=" + std::to_string(conv) : "";
  switch (random.below(sums ? 7 : 6)) {
    case 0:
      return {"mamba2(conv=" + std::to_string(size) + ",form=plain)", {kRecurrence, entries, size, 0}};
    case 1:
      return {"mamba(conv=" + std::to_string(size) + ",form=plain)", {kRecurrence, entries, size, 0}};
    case 2:
      return {"linear(acc=round" + behind + ")", {kRecurrence, entries, conv, 0}};
    case 3:
      return {"full(window=" + std::to_string(size) + behind + ")", {kWindow, size + conv - 1, 0, 0}};
    case 4:
      return {"conv(width=" + std::to_string(size) + ")", {kWindow, size, 0, 0}};
    case 5:
      return {"topk(k=" + std::to_string(size) + ",form=plain)", {kSelection, size, 0, 0}};
    default:
      return {"full", {kFull, largest_softmax_weight(), p, kLargestValueScale}};
  }
}

struct DrawnStack {
  Asked asked;
  std::string line;
  std::vector<Integer> numbers;  // for each layer the number of heads, then these
};
DrawnStack drawn_stack(Random& random, bool sums) {
  DrawnStack stack;
  const int p = static_cast<int>(random.between(2, 12)), entries = static_cast<int>(random.between(2, 12));
  stack.asked.width(8).bits(p).entries(entries).nowhere().context(std::int64_t{1} << 30);
  for (std::int64_t layer = random.between(1, 4); layer > 0; --layer) {
    stack.line += stack.line.empty() ? "" : "+";
    const DrawnHeads first = drawn_heads(random, p, entries, sums);
    if (random.below(8) == 0) {
      stack.line += "identity";
      stack.numbers.push_back(0);
    } else if (!first.parallel() || random.below(3) > 0) {
      stack.line += first.word;
      stack.numbers.push_back(1);
      stack.numbers.insert(stack.numbers.end(), first.kind.begin(), first.kind.end());
    } else {
      DrawnHeads second = drawn_heads(random, p, entries, sums);
      while (!second.parallel()) second = drawn_heads(random, p, entries, sums);
      stack.line += "heads(" + first.word + ":1," + second.word + ":1)";
      stack.numbers.push_back(2);
      for (const auto& kind : {first.kind, second.kind})
        stack.numbers.insert(stack.numbers.end(), kind.begin(), kind.end());
    }
  }
  return stack;
}

// Few states and letters; one in two has a letter that changes nothing.
Automaton drawn_automaton(Random& random) {
  Automaton a;
  const auto states = static_cast<std::uint32_t>(random.between(2, 5)),
             letters = static_cast<std::uint32_t>(random.between(1, 3));
  const bool idle = random.below(2) == 1;
  for (std::uint32_t l = 0; l < letters + idle; ++l) a.letters.push_back(std::to_string(l));
  for (std::uint32_t q = 0; q < states; ++q) {
    a.states.push_back(std::to_string(q));
    a.out.push_back(static_cast<std::int64_t>(random.below(2)));
    for (std::uint32_t l = 0; l < letters + idle; ++l)
      a.next.push_back(l < letters ? static_cast<std::uint32_t>(random.below(states)) : q);
  }
  return a;
}

// turns_within of proofs/Rest.v, over one cycle and a half.
bool turns_within(const Automaton& least, const PeriodicWord& p, std::uint32_t turns) {
  std::vector<std::int64_t> answers;
  std::uint32_t state = least.run(p.to);
  for (std::uint32_t n = 0; n <= 3 * p.period; ++n) {
    answers.push_back(least.out[least.run(p.from, state)]);
    state = least.run(p.word, state);
  }
  for (std::size_t n = 0; n + turns < answers.size(); ++n) {
    bool differ = false;
    for (std::size_t i = n; i < n + turns; ++i) differ = differ || answers[i] != answers[i + 1];
    if (!differ) return false;
  }
  return true;
}

// The last number of letters that the predicate has to leave open, the first that it has to refute, and what
// is asked.
void expect_at_the_horizon(CountSetting setting, std::size_t letters, const Verdict& v, std::int64_t asked,
                           std::vector<CountSetting>& settings) {
  ASSERT_TRUE(v.horizon);
  for (const Integer& n : {*v.horizon, Integer(*v.horizon + 1), Integer(asked)}) {
    setting.numbers[letters] = n;
    setting.library = n == asked ? v.outcome == Outcome::impossible : n > *v.horizon;
    settings.push_back(setting);
  }
}
TEST(tracking_counts, agree_on_words_of_automata) {
  Random random(33);
  std::vector<CountSetting> settings;
  std::size_t exactly = 0, between = 0, refuted = 0, full = 0;
  while (settings.size() < 2 * settings_a_theorem()) {  // two predicates
    const auto followed = std::make_shared<FollowedAutomaton>(followed_automaton(drawn_automaton(random)));
    if (!followed->algebra || !followed->algebra->periodic) continue;
    const PeriodicWord& p = *followed->algebra->periodic;
    const bool fixed = random.below(2) == 1;
    const DrawnStack stack = drawn_stack(random, !fixed && p.from.empty());
    const std::int64_t n = random.below(2) == 1 ? random.between(1, 40'000) : random.between(1, 200);
    Asked asked = stack.asked;
    if (!fixed) asked.context(n + 1);
    const Setting setting = asked.setting(stack.line);
    auto question =
        make_question("parity", fixed ? TaskSizes{{"n", n}} : TaskSizes{}, setting.context, false);
    ASSERT_TRUE(question);
    question->followed = followed;
    const auto v = apply(theorem("aperiodicity"), setting, *question);
    ASSERT_TRUE(v && v->every_length) << stack.line;
    EXPECT_EQ(v->status, p.word.size() == 1 ? Status::checked : Status::proved) << stack.line;
    EXPECT_EQ(v->every_length->status, v->status);
    if (p.word.size() > 1 || (fixed && !followed->algebra->neutral_letter)) continue;
    const std::uint32_t turns = p.always ? 1 : p.period;
    EXPECT_TRUE(turns_within(followed->least, p, turns));
    CountSetting asked_count{fixed ? "tracking-at" : "tracking", {p.to.size(), p.from.size(), turns, 0}};
    asked_count.numbers.insert(asked_count.numbers.end(), stack.numbers.begin(), stack.numbers.end());
    ASSERT_EQ(question->size("n"), n);
    expect_at_the_horizon(asked_count, 3, *v, n, settings);
    exactly += fixed;
    between += !p.to.empty() || !p.from.empty();
    refuted += v->outcome == Outcome::impossible;
    full += *v->horizon > Integer(1) << 40;
  }
  for (const std::size_t seen : {exactly, between, refuted, full}) EXPECT_GT(seen, settings.size() / 100);
  expect_agreement_of_each(settings);
}

TEST(tracking_counts, agree_on_tracked_recall) {
  Random random(34);
  std::vector<CountSetting> settings;
  std::set<bool> seen;
  while (settings.size() < settings_a_theorem()) {
    const DrawnStack stack = drawn_stack(random, false);
    const char* groups[] = {"symmetric", "cyclic", "xor"};
    const std::string group = groups[random.below(3)];
    const std::int64_t n = group == "xor" ? std::int64_t{1} << random.between(1, 6) : random.between(2, 60),
                       sigma = random.between(2, 5), w = random.between(1, 30'000);
    Asked asked = stack.asked;
    asked.with("group", group);
    const Setting setting = asked.setting(stack.line);
    const auto question = make_question("tracked-recall", {{"n", n}, {"sigma", sigma}, {"w", w}},
                                        setting.context, false, asked.form);
    ASSERT_TRUE(question) << question.error().message;
    const auto v = apply(theorem("aperiodicity-tracked"), setting, *question);
    ASSERT_TRUE(v);
    EXPECT_EQ(v->status, Status::checked) << stack.line;
    const std::int64_t turns = group == "cyclic" && sigma < 3 && n % 2 == 1 ? n : 1;
    CountSetting asked_count{"tracked-recall", {n, turns, 0}};
    asked_count.numbers.insert(asked_count.numbers.end(), stack.numbers.begin(), stack.numbers.end());
    expect_at_the_horizon(asked_count, 2, *v, w, settings);
    seen.insert(v->outcome == Outcome::impossible);
  }
  EXPECT_EQ(seen.size(), 2u);
  expect_agreement_of_each(settings);
}

// What the statements do not cover stays `proved`, and what was asked is impossible all the same.
TEST(tracking, is_called_checked_where_the_statements_cover_it) {
  const auto status = [](const Asked& asked, const std::string& line, const char* task = "parity") {
    const Verdict v = asked.on(line, task);
    EXPECT_TRUE(v.every_length && v.every_length->outcome == Outcome::impossible) << line;
    return v.every_length ? v.every_length->status : Status::conjecture;
  };
  const auto plain = [] { return Asked().nowhere(); };
  for (const char* line : {"mamba2(form=plain)*4", "mamba(conv=4,form=plain)", "linear(acc=round)",
                           "full*3+mamba2(form=plain)", "topk(k=4,form=plain)", "identity", "conv(width=4)",
                           "full(window=8,conv=3)", "heads(full:1,mamba2(form=plain):1)"})
    EXPECT_EQ(status(plain(), line), Status::checked) << line;
  for (const char* line : {"linear", "full(chunk=8)", "sparse(B=4,k=2,form=plain)", "full(conv=4)",
                           "mamba2(form=plain)+linear", "heads(full(conv=2):1,mamba2(form=plain):1)"})
    EXPECT_EQ(status(plain(), line), Status::proved) << line;
  EXPECT_EQ(status(plain().bf16(), "mamba2(form=plain)"), Status::proved);
  EXPECT_EQ(status(plain().bf16().exact(), "full"), Status::proved);
  EXPECT_EQ(status(plain().thought(), "mamba2(form=plain)"), Status::proved);
  EXPECT_EQ(status(plain(), "mamba2(form=plain)", "tracked-recall"), Status::checked);
  EXPECT_EQ(status(plain(), "full", "tracked-recall"), Status::proved);
}

}  // namespace
}  // namespace rung
