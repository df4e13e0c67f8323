// The search over layouts against every word there is.
#include "rung/design/layout_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace rung {
namespace {

bool holds_subsequence(const LayoutWord& part, const LayoutWord& whole) {
  std::size_t at = 0;
  for (const int letter : whole)
    if (at < part.size() && part[at] == letter) ++at;
  return at == part.size();
}

// Words that hold, of every group, one of its words as a subsequence.
LayoutOracle upward_closed(std::vector<std::vector<LayoutWord>> groups) {
  return [groups](const LayoutWord& word) {
    return std::all_of(groups.begin(), groups.end(), [&](const auto& group) {
      return std::any_of(group.begin(), group.end(),
                         [&](const LayoutWord& part) { return holds_subsequence(part, word); });
    });
  };
}

template <class Visit>
void every_word(std::size_t mixers, std::int64_t layers, const Visit& visit) {
  LayoutWord word(static_cast<std::size_t>(layers), 0);
  while (true) {
    visit(word);
    std::size_t i = 0;
    while (i < word.size() && ++word[i] == static_cast<int>(mixers)) word[i++] = 0;
    if (i == word.size()) return;
  }
}

// The compositions that the search calls feasible are those of the feasible words, and no others.
void expect_exact(std::size_t mixers, std::int64_t layers, const LayoutOracle& oracle) {
  const auto found = feasible_layouts(mixers, layers, oracle);
  ASSERT_TRUE(found) << found.error().message;
  std::set<Composition> by_words, by_search, all;
  every_word(mixers, layers, [&](const LayoutWord& word) {
    const Composition c = composition_of(word, mixers);
    all.insert(c);
    if (oracle(word)) by_words.insert(c);
  });
  for (const Composition& c : all) {
    for (const LayoutWord& least : found->minimal) {
      const Composition own = composition_of(least, mixers);
      bool large = true;
      for (std::size_t i = 0; i < mixers; ++i) large = large && c[i] >= own[i];
      if (large) by_search.insert(c);
    }
    // What is not feasible lies in a set that was ruled out, and nothing feasible does.
    const bool ruled_out =
        std::any_of(found->ruled_out.begin(), found->ruled_out.end(), [&](const DownSet& set) {
          for (std::size_t i = 0; i < mixers; ++i)
            if (set.most[i] && c[i] > *set.most[i]) return false;
          return true;
        });
    EXPECT_NE(ruled_out, by_search.contains(c));
  }
  EXPECT_EQ(by_search, by_words);
  for (const LayoutWord& least : found->minimal) {
    EXPECT_TRUE(oracle(least));
    for (std::size_t i = 0; i < least.size(); ++i) {
      LayoutWord shorter = least;
      shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_FALSE(oracle(shorter));
    }
  }
}

TEST(layout_search, nothing_is_feasible_where_the_oracle_says_no) {
  const auto found = feasible_layouts(3, 5, [](const LayoutWord&) { return false; });
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->minimal.empty());
  ASSERT_EQ(found->ruled_out.size(), 1u);
  EXPECT_EQ(found->ruled_out[0].most, std::vector<std::optional<std::int64_t>>(3));
  EXPECT_EQ(found->questions, 1);
}

TEST(layout_search, every_layout_is_feasible_where_nothing_is_asked) {
  const auto found = feasible_layouts(2, 4, [](const LayoutWord&) { return true; });
  ASSERT_TRUE(found);
  ASSERT_EQ(found->minimal.size(), 1u);
  EXPECT_TRUE(found->minimal[0].empty());
  EXPECT_TRUE(found->ruled_out.empty());
}

TEST(layout_search, an_order_counts) {
  // R before F: F R is not enough.
  expect_exact(2, 6, upward_closed({{{1, 0}}}));
  // F F F, R F F or F R F.
  expect_exact(2, 7, upward_closed({{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}}));
}

TEST(layout_search, agrees_with_all_words_on_random_sets) {
  std::mt19937 draw(7);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t mixers = 1 + draw() % 3;
    const std::int64_t layers = 1 + static_cast<std::int64_t>(draw() % 6);
    std::vector<std::vector<LayoutWord>> groups(1 + draw() % 3);
    for (auto& group : groups) {
      group.resize(1 + draw() % 3);
      for (auto& word : group) {
        word.resize(draw() % 5);
        for (int& letter : word) letter = static_cast<int>(draw() % mixers);
      }
    }
    expect_exact(mixers, layers, upward_closed(groups));
  }
}

TEST(layout_search, stops_with_an_error_when_it_may_ask_no_more) {
  const LayoutOracle oracle = upward_closed({{{0, 1, 2, 0, 1, 2}}});
  const auto whole = feasible_layouts(3, 24, oracle);
  ASSERT_TRUE(whole);
  for (std::int64_t questions = 1; questions < whole->questions; ++questions) {
    const auto found = feasible_layouts(3, 24, oracle, {.questions = questions});
    ASSERT_FALSE(found) << questions;
    EXPECT_EQ(found.error().code, ErrorCode::resource);
  }
  EXPECT_TRUE(feasible_layouts(3, 24, oracle, {.questions = whole->questions}));
}

TEST(layout_search, asks_few_questions_about_many_layouts) {
  // F^13 or R F^12 among 3^48 words.
  const auto found = feasible_layouts(
      3, 48, upward_closed({{LayoutWord(13, 0), LayoutWord{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->minimal.size(), 2u);
  EXPECT_LT(found->questions, 1500);
}

}  // namespace
}  // namespace rung
