// State tracking: what recurrent stacks must remember, against exhaustion.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <set>

#include "rung/tasks/automaton_task.h"
#include "rung/theory/automaton_classes.h"
#include "rung/theory/followers.h"
#include "tests/theory/asked.h"

namespace rung {
namespace {

// One recurrence with so many state bits: what is said, and what the count of states says.
Verdict asked_of(int bits, const std::string& task, const TaskSizes& sizes,
                 const std::map<std::string, std::string>& options = {}) {
  Asked asked;
  asked.options.storage.state = bits;
  asked.form.options = options;
  return asked.on("recurrent(kind=any,elements=1)", task, sizes);
}
Verdict counted_of(int bits, const std::string& task, const TaskSizes& sizes,
                   const std::map<std::string, std::string>& options = {}) {
  Asked asked;
  asked.options.storage.state = bits;
  asked.form.options = options;
  const Setting setting = asked.setting("recurrent(kind=any,elements=1)");
  const auto question = make_question(task, sizes, setting.context, false, asked.form);
  return *apply(theorem("automaton-states"), setting, *question);
}

TEST(tracking, needs_as_many_states_as_the_group_has_elements) {
  EXPECT_EQ(counted_of(2, "group", {{"n", 8}}, {{"name", "S3"}}).outcome, Outcome::impossible);
  EXPECT_EQ(counted_of(3, "group", {{"n", 8}}, {{"name", "S3"}}).outcome, Outcome::vacuous);
  EXPECT_EQ(counted_of(6, "group", {{"n", 8}}, {{"name", "S5"}}).outcome, Outcome::impossible);
  EXPECT_EQ(counted_of(7, "group", {{"n", 8}}, {{"name", "S5"}}).outcome, Outcome::vacuous);
  // One letter needs no state, and generators reach few elements in few steps.
  EXPECT_EQ(counted_of(1, "group", {{"n", 1}}, {{"name", "S5"}}).outcome, Outcome::vacuous);
  EXPECT_EQ(counted_of(2, "group", {{"n", 2}}, {{"name", "S5"}, {"letters", "generators"}}).outcome,
            Outcome::impossible);
  EXPECT_EQ(counted_of(3, "group", {{"n", 2}}, {{"name", "S5"}, {"letters", "generators"}}).outcome,
            Outcome::vacuous);
  EXPECT_NEAR(*counted_of(8, "group", {{"n", 9}}, {{"name", "D4"}}).left, 3.0, 1e-12);
  // Without a length, one model answers words of every length that fits.
  EXPECT_NEAR(*counted_of(8, "modulo", {{"m", 100}}).left, std::log2(100.0), 1e-12);
}

// A count that would bite at more letters is vacuous; room for all classes is room for ever, and leaves what
// other theorems leave open.
TEST(tracking, is_vacuous_only_where_more_letters_would_tell) {
  const std::map<std::string, std::string> few{{"name", "S5"}, {"letters", "generators"}};
  EXPECT_EQ(asked_of(3, "group", {{"n", 2}}, few).outcome, Outcome::vacuous);
  EXPECT_EQ(asked_of(3, "group", {{"n", 2}}, few).theorem, "automaton-states");
  EXPECT_EQ(asked_of(7, "group", {{"n", 2}}, few).outcome, Outcome::open);
  EXPECT_EQ(asked_of(6, "group", {{"n", 8}}, {{"name", "S5"}}).outcome, Outcome::impossible);
}

// What no weights do up to one length, none do at every length.
TEST(tracking, too_few_states_are_too_few_at_every_length) {
  const auto s5 = asked_of(6, "group", {}, {{"name", "S5"}});
  ASSERT_TRUE(s5.every_length);
  EXPECT_EQ(s5.every_length->outcome, Outcome::impossible);
  EXPECT_EQ(s5.every_length->theorem, "automaton-states");
  EXPECT_EQ(asked_of(7, "group", {}, {{"name", "S5"}}).every_length->outcome, Outcome::open);
  EXPECT_EQ(asked_of(23, "tracked-recall", {{"n", 8}, {"w", 7}}).every_length->outcome, Outcome::impossible);
  EXPECT_FALSE(asked_of(31, "copy", {{"n", 16}}).every_length);  // of one length
}

TEST(tracking, asks_nothing_of_what_the_last_letter_decides) {
  // Words that end in b: no state at all.
  const Automaton last{.letters = {"a", "b"}, .states = {"no", "yes"}, .next = {0, 1, 0, 1}, .out = {0, 1}};
  for (const std::int64_t n : {1, 2, 7}) {
    EXPECT_EQ(AutomatonClasses(last, WordLengths::exactly).at(n), 1);
    EXPECT_EQ(AutomatonClasses(last, WordLengths::up_to).at(n), 1);
  }
}

// The classes at the best cut, by listing all words.
std::int64_t classes_by_words(const Automaton& automaton, std::int64_t n, WordLengths lengths) {
  const auto letters = static_cast<std::int64_t>(automaton.letter_count());
  const auto words_of = [&](std::int64_t length) {
    std::vector<std::vector<std::uint32_t>> words{{}};
    for (std::int64_t i = 0; i < length; ++i) {
      std::vector<std::vector<std::uint32_t>> longer;
      for (const auto& word : words)
        for (std::int64_t a = 0; a < letters; ++a) {
          longer.push_back(word);
          longer.back().push_back(static_cast<std::uint32_t>(a));
        }
      words = std::move(longer);
    }
    return words;
  };
  std::int64_t most = 1;
  for (std::int64_t t = 0; t < n; ++t) {
    std::set<std::vector<std::int64_t>> rows;
    for (std::int64_t before = lengths == WordLengths::up_to ? 0 : t; before <= t; ++before)
      for (const auto& prefix : words_of(before)) {
        std::vector<std::int64_t> row;
        for (std::int64_t after = lengths == WordLengths::exactly ? n - t : 1; after <= n - t; ++after)
          for (const auto& rest : words_of(after))
            row.push_back(automaton.out[automaton.run(rest, automaton.run(prefix))]);
        rows.insert(row);
      }
    most = std::max(most, static_cast<std::int64_t>(rows.size()));
  }
  return most;
}

TEST(tracking, counts_the_classes_that_a_list_of_all_words_has) {
  Random random(11);
  std::set<std::int64_t> seen;
  for (int trial = 0; trial < 400; ++trial) {
    const auto states = static_cast<std::uint32_t>(random.between(1, 6));
    Automaton automaton{.letters = {"a", "b"}};
    for (std::uint32_t q = 0; q < states; ++q) {
      automaton.states.push_back(std::to_string(q));
      automaton.out.push_back(random.between(0, 1));
      for (int a = 0; a < 2; ++a) automaton.next.push_back(static_cast<std::uint32_t>(random.below(states)));
    }
    for (const auto lengths : {WordLengths::exactly, WordLengths::everywhere, WordLengths::up_to}) {
      const AutomatonClasses classes(automaton, lengths);
      for (const std::int64_t n : {1, 2, 3, 4, 6}) {
        ASSERT_EQ(classes.at(n), classes_by_words(automaton, n, lengths)) << trial << " " << n;
        seen.insert(classes.at(n));
      }
    }
  }
  EXPECT_GE(seen.size(), 5u);
}

TEST(tracking, counts_classes_at_lengths_that_no_list_holds) {
  const auto task = std::move(*make_task("modulo", {{"m", 7}}));
  for (const auto lengths : {WordLengths::exactly, WordLengths::up_to})
    EXPECT_EQ(AutomatonClasses(*task->automaton(), lengths).at(std::int64_t{1} << 60), 7);
}

TEST(tracking, copying_stores_the_word) {
  EXPECT_EQ(asked_of(31, "copy", {{"n", 16}}).outcome, Outcome::impossible);  // 16 symbols of 4: 32 bits
  EXPECT_EQ(asked_of(32, "copy", {{"n", 16}}).outcome, Outcome::vacuous);
  EXPECT_EQ(asked_of(31, "selective-copy", {{"n", 16}, {"m", 40}}).outcome, Outcome::impossible);
  EXPECT_EQ(asked_of(32, "selective-copy", {{"n", 16}, {"m", 40}}).outcome, Outcome::vacuous);
}

TEST(tracking, tracked_recall_stores_what_the_mark_can_come_to) {
  // Eight pairs of eight values: 24 bits, if every place can be asked for.
  EXPECT_EQ(asked_of(23, "tracked-recall", {{"n", 8}, {"w", 7}}).outcome, Outcome::impossible);
  EXPECT_EQ(asked_of(24, "tracked-recall", {{"n", 8}, {"w", 7}}).outcome, Outcome::vacuous);
  EXPECT_EQ(asked_of(20, "tracked-recall", {{"n", 8}, {"w", 6}}).outcome, Outcome::impossible);
  EXPECT_EQ(asked_of(21, "tracked-recall", {{"n", 8}, {"w", 6}}).outcome, Outcome::vacuous);
  // Three bits turned one by one: 1 + 3 places after one letter, 7 after two, 8 after three.
  EXPECT_EQ(asked_of(11, "tracked-recall", {{"n", 8}, {"w", 1}}, {{"group", "xor"}}).outcome,
            Outcome::impossible);
  EXPECT_EQ(asked_of(12, "tracked-recall", {{"n", 8}, {"w", 1}}, {{"group", "xor"}}).outcome,
            Outcome::vacuous);
  EXPECT_NEAR(*asked_of(9, "tracked-recall", {{"n", 8}, {"w", 2}}, {{"group", "xor"}}).left, 21.0, 1e-12);
  EXPECT_NEAR(*asked_of(9, "tracked-recall", {{"n", 8}, {"w", 9}}, {{"group", "xor"}}).left, 24.0, 1e-12);
}

std::map<std::string, Outcome> followers_by_name(const std::string& task,
                                                 const std::map<std::string, std::string>& options = {}) {
  std::map<std::string, Outcome> rows;
  const auto made = std::move(*make_task(task, {}, options));
  for (const auto& row : followers_of(followed_automaton(*task_automaton(*made)))) {
    rows[row.mixer] = row.outcome;
    if (row.theorem.empty()) EXPECT_FALSE(row.note.empty());
    if (row.theorem.empty()) continue;
    // Exact sums, the default of linear attention, are beyond the checked statement.
    EXPECT_EQ(row.status, row.mixer == "linear" ? Status::proved : theorem(row.theorem).status) << row.mixer;
  }
  return rows;
}

TEST(followers, are_those_that_the_algebra_allows) {
  const auto parity = followers_by_name("parity");
  for (const char* mixer : {"rnn", "gru", "delta(form=plain)"})
    EXPECT_EQ(parity.at(mixer), Outcome::possible) << mixer;
  for (const char* mixer :
       {"mamba2", "mamba", "linear", "full", "full(window=8)", "topk(k=8,form=plain)", "conv(width=4)"})
    EXPECT_EQ(parity.at(mixer), Outcome::impossible) << mixer;
  EXPECT_EQ(parity.at("loglinear"), Outcome::open);
  EXPECT_FALSE(parity.contains("full, mamba2 with positions"));
  const auto flipflop = followers_by_name("flipflop");
  EXPECT_EQ(flipflop.at("mamba2(form=plain)"), Outcome::possible);
  EXPECT_EQ(flipflop.at("full"), Outcome::open);
  EXPECT_EQ(flipflop.at("delta"), Outcome::open);
  const auto s5 = followers_by_name("group", {{"name", "S5"}});
  EXPECT_EQ(s5.at("full, mamba2 with positions"), Outcome::impossible);
  EXPECT_TRUE(s5.contains("delta(steps=4,form=plain)"));  // on five points, not on 120 elements
  EXPECT_EQ(followers_by_name("group", {{"name", "Z3"}}).at("delta(steps=2,form=plain)"), Outcome::possible);
}

// The network of automaton-rnn, run: one unit a state and letter.
TEST(followers, rnn_units_follow_random_automata) {
  Random random(3);
  for (int trial = 0; trial < 50; ++trial) {
    const auto states = static_cast<std::uint32_t>(random.between(1, 5));
    Automaton automaton{.letters = {"a", "b"}};
    for (std::uint32_t q = 0; q < states; ++q) {
      automaton.states.push_back(std::to_string(q));
      automaton.out.push_back(q);
      for (int a = 0; a < 2; ++a) automaton.next.push_back(static_cast<std::uint32_t>(random.below(states)));
    }
    // h[q][a]; `start` is the unit of ^, which leads to the start state.
    std::vector<std::array<int, 2>> h(states, {0, 0});
    int start = 1;
    std::uint32_t state = automaton.start;
    for (int t = 0; t < 60; ++t) {
      const auto letter = static_cast<std::uint32_t>(random.below(2));
      std::vector<std::array<int, 2>> next(states, {0, 0});
      for (std::uint32_t q = 0; q < states; ++q)
        for (std::uint32_t a = 0; a < 2; ++a) {
          int sum = (a == letter ? 1 : 0) - 1 + (q == automaton.start ? start : 0);
          for (std::uint32_t p = 0; p < states; ++p)
            for (std::uint32_t b = 0; b < 2; ++b) sum += automaton.step(p, b) == q ? h[p][b] : 0;
          next[q][a] = std::max(0, sum);
        }
      start = 0;
      h = next;
      state = automaton.step(state, letter);
      int on = 0;
      for (std::uint32_t q = 0; q < states; ++q)
        for (std::uint32_t a = 0; a < 2; ++a) {
          ASSERT_LE(h[q][a], 1);
          on += h[q][a];
          if (h[q][a] == 1) ASSERT_EQ(automaton.step(q, a), state);
        }
      ASSERT_EQ(on, 1);
    }
  }
}

// What `rung build --by delta` writes: rows of the points that the group moves, not of its elements.
TEST(followers, name_the_exchanges_that_the_construction_has) {
  struct Case {
    const char *name, *letters, *mixer, *note;
  };
  for (const auto& [name, letters, mixer, note] :
       {Case{"S5", "all", "delta(steps=4,form=plain)", "one layer, a row of 5"},
        {"S3", "generators", "delta(form=plain)", "one layer, a row of 3"},
        {"Z5", "all", "delta(steps=4,form=plain)", "one layer, a row of 5"}}) {
    const auto task = std::move(*make_task("group", {}, {{"name", name}, {"letters", letters}}));
    const auto rows = followers_of(followed_automaton(*task->automaton()));
    const auto delta = std::find_if(rows.begin(), rows.end(),
                                    [](const Follower& row) { return row.theorem == "permutations-delta"; });
    ASSERT_NE(delta, rows.end()) << name;
    EXPECT_EQ(delta->mixer, mixer) << name;
    EXPECT_EQ(delta->note, note) << name;
  }
}

}  // namespace
}  // namespace rung
