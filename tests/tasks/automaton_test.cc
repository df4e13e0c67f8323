// Automata and their algebra against naive definitions: all automata of two states and many of three over two letters,
// and the facts of the named groups.
#include "rung/tasks/automaton.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "rung/tasks/automaton_task.h"
#include "rung/tasks/finite_group.h"
#include "rung/tasks/monoid.h"

namespace rung {
namespace {

using Word = std::vector<std::uint32_t>;
using States = std::vector<std::uint32_t>;

// Number `code` of the automata with so many states and letters: transitions, then answers, as digits.
Automaton automaton_of(std::uint32_t states, std::uint32_t letters, std::uint64_t code) {
  Automaton automaton;
  for (std::uint32_t a = 0; a < letters; ++a)
    automaton.letters.push_back(std::string(1, static_cast<char>('a' + a)));
  for (std::uint32_t q = 0; q < states; ++q) automaton.states.push_back(std::to_string(q));
  for (std::uint32_t i = 0; i < states * letters; ++i, code /= states)
    automaton.next.push_back(static_cast<std::uint32_t>(code % states));
  for (std::uint32_t q = 0; q < states; ++q, code /= 2)
    automaton.out.push_back(static_cast<std::int64_t>(code % 2));
  automaton.accepts = true;
  return automaton;
}

std::uint64_t automata_count(std::uint32_t states, std::uint32_t letters) {
  std::uint64_t count = 1;
  for (std::uint32_t i = 0; i < states * letters; ++i) count *= states;
  return count << states;
}

void for_each_word(std::uint32_t letters, std::size_t longest,
                   const std::function<void(const Word&)>& visit) {
  std::vector<Word> level{{}};
  for (std::size_t length = 0; length <= longest; ++length) {
    std::vector<Word> next;
    for (const auto& word : level) {
      visit(word);
      for (std::uint32_t a = 0; a < letters; ++a) {
        next.push_back(word);
        next.back().push_back(a);
      }
    }
    level = std::move(next);
  }
}

// Myhill-Nerode by tables: two words are equal if no continuation of fewer letters than there are states parts them.
std::size_t nerode_classes(const Automaton& automaton) {
  std::set<std::vector<std::int64_t>> rows;
  const std::size_t most = automaton.states.size() - 1;
  for_each_word(automaton.letter_count(), most, [&](const Word& prefix) {
    std::vector<std::int64_t> row;
    for_each_word(automaton.letter_count(), most, [&](const Word& rest) {
      row.push_back(automaton.out[automaton.run(rest, automaton.run(prefix))]);
    });
    rows.insert(row);
  });
  return rows.size();
}

// The monoid as a set of maps, by closing under composition; and its properties by their definitions.
struct Naive {
  std::vector<States> elements;
  explicit Naive(const Automaton& least) {
    States identity(least.states.size());
    std::iota(identity.begin(), identity.end(), 0);
    std::set<States> seen{identity};
    elements.push_back(identity);
    for (std::uint32_t a = 0; a < least.letter_count(); ++a) {
      States map;
      for (std::uint32_t q = 0; q < least.state_count(); ++q) map.push_back(least.step(q, a));
      if (seen.insert(map).second) elements.push_back(map);
    }
    for (bool grown = true; grown;) {
      grown = false;
      const auto now = elements;
      for (const auto& x : now)
        for (const auto& y : now)
          if (States xy = times(x, y); seen.insert(xy).second) {
            elements.push_back(xy);
            grown = true;
          }
    }
  }
  static States times(const States& x, const States& y) {
    States xy;
    for (const auto q : x) xy.push_back(y[q]);
    return xy;
  }
  // x^k = x^(k+1) for some k below the number of elements.
  bool aperiodic() const {
    for (const auto& x : elements) {
      States power = x;
      bool rests = false;
      for (std::size_t k = 0; k <= elements.size() && !rests; ++k) {
        const States next = times(power, x);
        rests = next == power;
        power = next;
      }
      if (!rests) return false;
    }
    return true;
  }
  bool commutative() const {
    for (const auto& x : elements)
      for (const auto& y : elements)
        if (times(x, y) != times(y, x)) return false;
    return true;
  }
  bool group() const {
    for (const auto& x : elements) {
      bool inverse = false;
      for (const auto& y : elements)
        inverse = inverse || (times(x, y) == elements[0] && times(y, x) == elements[0]);
      if (!inverse) return false;
    }
    return true;
  }
  std::set<States> ideal(const States& x, bool left, bool right) const {
    std::set<States> all;
    for (const auto& y : elements)
      for (const auto& z : elements) {
        if (!left && y != elements[0]) continue;
        if (!right && z != elements[0]) continue;
        all.insert(times(times(y, x), z));
      }
    return all;
  }
  bool trivial(bool left, bool right) const {  // elements with equal ideals are equal
    std::set<std::set<States>> ideals;
    for (const auto& x : elements) ideals.insert(ideal(x, left, right));
    return ideals.size() == elements.size();
  }
};

TEST(Automaton, is_made_least_as_the_theorem_of_myhill_and_nerode_counts) {
  std::uint64_t smaller = 0;
  for (const std::uint32_t states : {2u, 3u})
    for (std::uint64_t code = 0; code < automata_count(states, 2); ++code) {
      const Automaton automaton = automaton_of(states, 2, code);
      const Automaton least = minimised(automaton);
      ASSERT_EQ(least.states.size(), nerode_classes(automaton)) << states << " " << code;
      smaller += least.states.size() < states;
      ASSERT_EQ(minimised(least), least);
      for_each_word(2, 5, [&](const Word& word) {
        ASSERT_EQ(least.out[least.run(word)], automaton.out[automaton.run(word)]) << code;
      });
    }
  EXPECT_GT(smaller, 1000u);
}

TEST(Automaton, of_the_same_answers_has_one_least_form) {
  // A parity written with four states, two of them copies, in another order.
  const Automaton copies{.letters = {"0", "1"},
                         .states = {"odd'", "even", "odd", "even'"},
                         .next = {2, 3, 3, 0, 0, 1, 1, 2},
                         .out = {1, 0, 1, 0},
                         .start = 1};
  const auto task = std::move(*make_task("parity", {}));
  const Automaton& parity = *task->automaton();
  EXPECT_EQ(minimised(copies).next, minimised(parity).next);
  EXPECT_EQ(minimised(copies).out, minimised(parity).out);
}

TEST(Algebra, agrees_with_the_definitions_on_all_small_automata) {
  std::uint64_t aperiodic = 0, groups = 0, r_trivial = 0, j_trivial = 0, changed = 0;
  for (const std::uint32_t states : {2u, 3u})
    for (std::uint64_t code = 0; code < automata_count(states, 2); ++code) {
      const Automaton automaton = automaton_of(states, 2, code);
      const auto algebra = algebra_of(automaton);
      ASSERT_TRUE(algebra);
      const Naive naive(minimised(automaton));
      ASSERT_EQ(algebra->monoid, naive.elements.size()) << code;
      ASSERT_EQ(algebra->aperiodic, naive.aperiodic()) << code;
      ASSERT_EQ(algebra->commutative, naive.commutative()) << code;
      ASSERT_EQ(algebra->group, naive.group()) << code;
      ASSERT_EQ(algebra->r_trivial, naive.trivial(false, true)) << code;
      ASSERT_EQ(algebra->j_trivial, naive.trivial(true, true)) << code;
      ASSERT_TRUE(algebra->solvable);  // no group on three points is not
      aperiodic += algebra->aperiodic;
      groups += algebra->group;
      r_trivial += algebra->r_trivial;
      j_trivial += algebra->j_trivial;
      changed += algebra->aperiodic != Naive(automaton).aperiodic();
    }
  EXPECT_GT(aperiodic, 1000u);
  EXPECT_GT(groups, 100u);
  EXPECT_LT(j_trivial, r_trivial);
  EXPECT_GT(changed, 100u);  // the algebra of an automaton that is not least says something else
}

TEST(Algebra, shows_a_word_whose_powers_the_answers_count) {
  std::uint64_t shown = 0;
  for (std::uint64_t code = 0; code < automata_count(3, 2); ++code) {
    const Automaton automaton = automaton_of(3, 2, code);
    const auto algebra = algebra_of(automaton);
    ASSERT_EQ(algebra->periodic.has_value(), !algebra->aperiodic);
    if (!algebra->periodic) continue;
    ++shown;
    const PeriodicWord& p = *algebra->periodic;
    std::uint32_t state = automaton.run(p.to);
    std::vector<std::int64_t> answers;
    for (int n = 0; n < 40; ++n, state = automaton.run(p.word, state))
      answers.push_back(automaton.out[automaton.run(p.from, state)]);
    bool constant = true, always = true;
    for (std::size_t n = 20; n + 1 < answers.size(); ++n) {
      constant = constant && answers[n] == answers[n + 1];
      always = always && answers[n] != answers[n + 1];
      if (n + p.period < answers.size()) ASSERT_EQ(answers[n], answers[n + p.period]);
    }
    ASSERT_FALSE(constant) << code;
    ASSERT_EQ(p.always, always) << code;
  }
  EXPECT_GT(shown, 500u);
}

// Order, elements of each order, and the derived series of the named groups.
struct GroupFact {
  std::string name;
  std::uint32_t order;
  bool commutative;
  std::optional<std::uint32_t> derived_length;
  std::map<std::uint32_t, std::uint32_t> orders;  // how many elements have which order
};

TEST(FiniteGroup, has_the_facts_of_its_name) {
  const std::vector<GroupFact> facts = {
      {"Z2", 2, true, 1, {{1, 1}, {2, 1}}},
      {"Z5", 5, true, 1, {{1, 1}, {5, 4}}},
      {"Z6", 6, true, 1, {{1, 1}, {2, 1}, {3, 2}, {6, 2}}},
      {"D3", 6, false, 2, {{1, 1}, {2, 3}, {3, 2}}},
      {"D4", 8, false, 2, {{1, 1}, {2, 5}, {4, 2}}},
      {"Q8", 8, false, 2, {{1, 1}, {2, 1}, {4, 6}}},
      {"S3", 6, false, 2, {{1, 1}, {2, 3}, {3, 2}}},
      {"A4", 12, false, 2, {{1, 1}, {2, 3}, {3, 8}}},
      {"S4", 24, false, 3, {{1, 1}, {2, 9}, {3, 8}, {4, 6}}},
      {"A5", 60, false, std::nullopt, {{1, 1}, {2, 15}, {3, 20}, {5, 24}}},
      {"S5", 120, false, std::nullopt, {{1, 1}, {2, 25}, {3, 20}, {4, 30}, {5, 24}, {6, 20}}},
      {"Z2xZ2", 4, true, 1, {{1, 1}, {2, 3}}},
      {"S3xZ2", 12, false, 2, {{1, 1}, {2, 7}, {3, 2}, {6, 2}}},
  };
  for (const auto& fact : facts) {
    const auto group = named_group(fact.name);
    ASSERT_TRUE(group) << fact.name;
    EXPECT_EQ(group->order(), fact.order) << fact.name;
    std::map<std::uint32_t, std::uint32_t> orders;
    for (std::uint32_t a = 0; a < group->order(); ++a) {
      std::uint32_t order = 1;
      for (std::uint32_t power = a; power != 0; power = group->product(power, a)) ++order;
      ++orders[order];
    }
    EXPECT_EQ(orders, fact.orders) << fact.name;
    for (const char* letters : {"all", "generators"}) {
      const auto task = make_task("group", {}, {{"name", fact.name}, {"letters", letters}});
      ASSERT_TRUE(task) << task.error().message;
      const auto algebra = algebra_of(*(*task)->automaton());
      EXPECT_EQ(algebra->classes, fact.order) << fact.name;
      EXPECT_EQ(algebra->monoid, fact.order) << fact.name << " " << letters;
      EXPECT_TRUE(algebra->group && !algebra->aperiodic && algebra->neutral_letter) << fact.name;
      EXPECT_EQ(algebra->commutative, fact.commutative) << fact.name;
      EXPECT_EQ(algebra->derived_length, fact.derived_length) << fact.name;
      EXPECT_EQ(algebra->solvable, fact.derived_length.has_value()) << fact.name;
    }
  }
}

TEST(FiniteGroup, is_associative_with_inverses) {
  for (const char* name : {"Z7", "D5", "Q8", "S4", "A4", "Z3xD3"}) {
    const FiniteGroup group = *named_group(name);
    for (std::uint32_t a = 0; a < group.order(); ++a) {
      ASSERT_EQ(group.product(a, group.identity), a);
      ASSERT_EQ(group.product(group.identity, a), a);
      bool inverse = false;
      for (std::uint32_t b = 0; b < group.order(); ++b) {
        inverse = inverse || group.product(a, b) == group.identity;
        for (std::uint32_t c = 0; c < group.order(); ++c)
          ASSERT_EQ(group.product(group.product(a, b), c), group.product(a, group.product(b, c))) << name;
      }
      ASSERT_TRUE(inverse);
    }
  }
}

TEST(FiniteGroup, refuses_what_is_no_name) {
  for (const char* name : {"", "S", "3", "S0", "Z1", "S1", "A2", "Q4", "Q16", "E8", "s3", "Z2x", "xZ2",
                           "Z2xx", "Z02", "Z1025", "S7", "S5xS5", "Z99999999999999999999"}) {
    const auto group = named_group(name);
    ASSERT_FALSE(group) << name;
    EXPECT_EQ(group.error().message.find('\n'), std::string::npos);
  }
}

TEST(CayleyTable, is_a_group_or_names_what_is_wrong) {
  const auto message = [](std::string_view text) {
    const auto group = parse_cayley_table(text);
    return group ? "" : group.error().message;
  };
  const auto klein = parse_cayley_table(
      R"({"elements":["e","a","b","c"],"table":[[0,1,2,3],[1,0,3,2],[2,3,0,1],[3,2,1,0]],"generators":["a","b"]})");
  ASSERT_TRUE(klein) << klein.error().message;
  EXPECT_EQ(klein->generators, (std::vector<std::uint32_t>{1, 2}));
  // The identity may stand anywhere.
  EXPECT_EQ(parse_cayley_table(R"({"table":[[1,0],[0,1]]})")->identity, 1u);
  EXPECT_EQ(message(R"({"table":[[0,1],[1,2]]})"),
            "[task] entry [1][1] of a Cayley table; expected a number from 0 to 1");
  EXPECT_EQ(message(R"({"table":[[0,1],[1]]})"), "[task] row 1 of a Cayley table; expected 2 numbers");
  EXPECT_EQ(message(R"({"table":[[0,0],[1,1]]})"),
            "[task] a Cayley table without an identity is not a group");
  EXPECT_EQ(message(R"({"table":[[0,1],[1,1]]})"), "[task] \"1\" of a Cayley table has no inverse: no group");
  // A loop of five elements: identity and inverses, and not associative.
  EXPECT_EQ(message(R"({"table":[[0,1,2,3,4],[1,0,3,4,2],[2,4,0,1,3],[3,2,4,0,1],[4,3,1,2,0]]})"),
            "[task] (\"1\" \"1\") \"2\" is not \"1\" (\"1\" \"2\") in a Cayley table: no group");
  EXPECT_EQ(message(R"({"table":[[0,1,2,3],[1,0,3,2],[2,3,0,1],[3,2,1,0]],"generators":["1"]})"),
            "[task] \"2\" is not a product of the \"generators\" of a Cayley table");
  for (const char* text :
       {"", "[]", "{}", R"({"table":[[0]]})", R"({"table":[[0,1],[1,0]],"elements":["e"]})",
        R"({"table":[[0,1],[1,0]],"elements":["e","e"]})", R"({"table":[[0,1],[1,-1]]})",
        R"({"table":[[0,1],[1,0]],"generators":[1]})", R"({"table":[[0,1],[1,0]],"generators":["0"]})",
        R"({"tabel":[[0,1],[1,0]]})"})
    EXPECT_NE(message(text), "") << text;
}

TEST(TransitionMonoid, refuses_more_elements_than_its_limit) {
  // All maps of five states: a cycle, an exchange, and a collapse.
  const Automaton all{.letters = {"c", "t", "m"},
                      .states = {"0", "1", "2", "3", "4"},
                      .next = {1, 1, 0, 2, 0, 0, 3, 2, 2, 4, 3, 3, 0, 4, 4},
                      .out = {0, 1, 2, 3, 4},
                      .answers = 5};
  EXPECT_EQ(TransitionMonoid::of(all)->size(), 3125u);
  const auto refused = TransitionMonoid::of(all, 3124);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "[class] the transition monoid has more than 3124 elements; expected an automaton with fewer");
  // Its groups are S_1 to S_5: the last is not solvable.
  const auto algebra = algebra_of(all);
  EXPECT_FALSE(algebra->solvable || algebra->group || algebra->aperiodic || algebra->derived_length);
}

TEST(TransitionMonoid, spells_its_elements) {
  const Automaton automaton = automaton_of(3, 2, 4711);
  const auto monoid = TransitionMonoid::of(automaton);
  for (std::uint32_t e = 0; e < monoid->size(); ++e) {
    const auto word = monoid->word(e);
    for (std::uint32_t q = 0; q < 3; ++q) EXPECT_EQ(automaton.run(word, q), monoid->map(e)[q]);
  }
}

TEST(TaskAutomaton, answers_as_its_task_does) {
  struct Case {
    std::string name;
    TaskSizes sizes;
    std::map<std::string, std::string> options = {};
  };
  for (const auto& [name, sizes, options] : std::vector<Case>{{"parity", {{"n", 6}}},
                                                              {"modulo", {{"n", 4}, {"m", 4}}},
                                                              {"group", {{"n", 3}}, {{"name", "D4"}}},
                                                              {"flipflop", {{"n", 4}, {"k", 3}}},
                                                              {"dyck", {{"n", 6}, {"k", 2}, {"depth", 2}}},
                                                              {"dyck", {{"n", 6}, {"k", 1}, {"depth", 3}}},
                                                              {"dyck", {{"n", 5}, {"k", 3}, {"depth", 1}}}}) {
    const auto task = std::move(*make_task(name, sizes, options));
    const auto automaton = task_automaton(*task);
    ASSERT_TRUE(automaton) << automaton.error().message;
    const bool starts = task->automaton() != nullptr;
    enumerate(*task, [&](const Instance& instance) {
      const Word word(instance.prompt.fields[0].begin() + (starts ? 1 : 0), instance.prompt.fields[0].end());
      EXPECT_EQ(automaton->out[automaton->run(word)], instance.answer.front()) << task->text(instance.prompt);
      return !testing::Test::HasFailure();
    });
  }
  // Counting asks for a symbol and a number at its end: here those of symbol 0 and k.
  const auto counting = std::move(*make_task("counting", {{"n", 5}, {"sigma", 2}, {"k", 3}}));
  const auto automaton = *task_automaton(*counting);
  for_each_word(2, 5, [&](const Word& word) {
    if (word.size() != 5) return;
    Prompt prompt{7, {{word.begin(), word.end()}}};
    prompt.fields[0].insert(prompt.fields[0].end(), {0, 2 + 3 - 1});
    EXPECT_EQ(automaton.out[automaton.run(word)], counting->answer(prompt).front());
  });
  EXPECT_FALSE(task_automaton(**make_task("counting", {})));
  EXPECT_FALSE(task_automaton(**make_task("eva", {})));
  EXPECT_FALSE(task_automaton(**make_task("dyck", {{"k", 1000}, {"depth", 1000}})));
  EXPECT_FALSE(task_automaton(**make_task("dyck", {{"k", std::int64_t{1} << 59}, {"depth", 1}})));
}

TEST(AutomatonTask, has_words_of_one_letter_and_of_millions) {
  for (const std::int64_t n : {1, 3'000'000}) {
    const auto task = std::move(*make_task("parity", {{"n", n}}, {{"read", "all"}}));
    const Instance instance = task->generate(Variant::uniform, 1, 0);
    EXPECT_EQ(instance.prompt.positions, n + 1);
    std::int64_t ones = 0;
    for (std::int64_t t = 1; t <= n; ++t) {
      ones += instance.prompt.token(t);
      ASSERT_EQ(instance.answer[static_cast<std::size_t>(t - 1)], ones % 2);
    }
  }
}

TEST(AutomatonTask, of_a_cayley_table_is_read_from_its_path) {
  const std::string path = testing::TempDir() + "/klein.json";
  std::ofstream(path) << R"({"table":[[0,1,2,3],[1,0,3,2],[2,3,0,1],[3,2,1,0]]})";
  const auto task = make_task("group", {{"n", 4}}, {{"name", path}});
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_FALSE((*task)->built_in());
  EXPECT_EQ((*task)->answer({5, {{4, 1, 2, 3, 1}}}), std::vector<std::int64_t>{1});
  EXPECT_EQ((*make_task("group", {}, {{"name", path}, {"letters", "generators"}}))->fields()[0].size,
            4);  // e, 1, 2, ^
  EXPECT_FALSE(make_task("group", {}, {{"name", path + ".json"}}));
}

}  // namespace
}  // namespace rung
