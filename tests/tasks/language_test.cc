// Plain-language prompts are read back by a reader that knows only English this simple, and answered from the
// facts.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "rung/tasks/proper_names.h"
#include "rung/tasks/task.h"

namespace rung {
namespace {

std::string answer_from(const std::string& text) {
  std::map<std::pair<std::string, std::string>, std::string> facts;
  static const std::regex fact("The (\\w+) of (\\w+) is (\\w+)\\."), question("What is (.*) of (\\w+)\\?"),
      word("the (\\w+)");
  for (std::sregex_iterator at(text.begin(), text.end(), fact), end; at != end; ++at)
    EXPECT_TRUE(facts.emplace(std::pair((*at)[1], (*at)[2]), (*at)[3]).second) << "two facts on " << (*at)[0];
  std::smatch asked;
  EXPECT_TRUE(std::regex_search(text, asked, question));
  const std::string chain = asked[1];
  std::vector<std::string> relations;
  for (std::sregex_iterator at(chain.begin(), chain.end(), word), end; at != end; ++at)
    relations.push_back((*at)[1]);
  std::string current = asked[2];
  for (auto relation = relations.rbegin(); relation != relations.rend(); ++relation)
    current = facts.at({*relation, current});
  return current;
}

TEST(Language, reader_notices_a_changed_fact) {
  EXPECT_EQ(answer_from("The home of Bada is Timiton. What is the home of Bada?"), "Timiton");
  EXPECT_EQ(answer_from("The home of Bada is Lifaton. What is the home of Bada?"), "Lifaton");
}

TEST(Language, of_retrieval_and_seqcomp_is_answered_by_its_facts) {
  const std::vector<std::tuple<std::string, TaskSizes, std::map<std::string, std::string>>> cases = {
      {"retrieval", {{"n", 12}, {"D", 20}}, {}},
      {"seqcomp", {{"L", 1}, {"m", 4}}, {}},
      {"seqcomp", {{"L", 2}, {"m", 3}, {"n1", 40}}, {}},
      {"seqcomp", {{"L", 3}, {"m", 3}, {"n1", 2}, {"n2", 3}}, {}},
      {"seqcomp", {{"L", 3}, {"m", 2}, {"n1", 2}, {"n2", 2}}, {{"order", "easy"}}}};
  for (const auto& [name, sizes, options] : cases) {
    const auto task = std::move(*make_task(name, sizes, options));
    std::set<std::string> different;
    for (const Variant variant : {Variant::uniform, Variant::zipf, Variant::adversarial})
      for (std::uint64_t index = 0; index < 20; ++index) {
        const Instance instance = task->generate(variant, 5, index);
        const auto said = task->language(instance);
        ASSERT_TRUE(said);
        EXPECT_EQ(answer_from(said->prompt), said->answer) << said->prompt;
        different.insert(said->answer);
      }
    EXPECT_GT(different.size(), 1u);
  }
}

int count_of(const std::string& text, const std::string& sentence) {
  int found = 0;
  for (std::size_t at = text.find(sentence); at != std::string::npos; at = text.find(sentence, at + 1))
    ++found;
  return found;
}

// The last number that a pattern finds, or their sum.
std::int64_t numbers_in(const std::string& text, const std::regex& pattern, bool sum, std::int64_t first) {
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
    first = (sum ? first : 0) + std::stoll((*at)[1]);
  return first;
}

TEST(Language, of_a_lamp_a_clock_and_a_slate_is_answered_by_what_happens) {
  const auto told = [](const std::string& name, const TaskSizes& sizes, const auto& answer) {
    const auto task = std::move(*make_task(name, sizes));
    std::set<std::string> different;
    for (const Variant variant : {Variant::uniform, Variant::zipf, Variant::adversarial})
      for (std::uint64_t index = 0; index < 30; ++index) {
        const auto said = task->language(task->generate(variant, 5, index));
        ASSERT_TRUE(said);
        EXPECT_EQ(answer(said->prompt), said->answer) << said->prompt;
        different.insert(said->answer);
      }
    EXPECT_GT(different.size(), 1u) << name;
    // Answers at every place are no one sentence.
    const auto everywhere = std::move(*make_task(name, sizes, {{"read", "all"}}));
    EXPECT_FALSE(everywhere->language(everywhere->generate(Variant::uniform, 1, 0)));
  };
  told("parity", {{"n", 9}}, [](const std::string& text) {
    return std::string(count_of(text, "Somebody presses") % 2 == 1 ? "yes" : "no");
  });
  told("modulo", {{"n", 7}, {"m", 5}}, [](const std::string& text) {
    return std::to_string(numbers_in(text, std::regex("(\\d+) hours pass"), true, 0) % 5);
  });
  told("flipflop", {{"n", 7}, {"k", 4}}, [](const std::string& text) {
    return std::to_string(numbers_in(text, std::regex("writes (\\d+)"), false, 0));
  });
}

TEST(Language, of_tracked_recall_follows_the_ball) {
  const auto task = std::move(*make_task("tracked-recall", {{"n", 4}, {"w", 12}}));
  static const std::regex home("The home of (\\w+) is (\\w+)\\."), exchange("(\\w+) and (\\w+) exchange"),
      first("(\\w+) has the ball\\.");
  std::set<std::string> different;
  for (std::uint64_t index = 0; index < 40; ++index) {
    const auto said = task->language(task->generate(Variant::uniform, 5, index));
    std::map<std::string, std::string> homes;
    for (std::sregex_iterator at(said->prompt.begin(), said->prompt.end(), home), end; at != end; ++at)
      homes[(*at)[1]] = (*at)[2];
    std::smatch holder;
    ASSERT_TRUE(std::regex_search(said->prompt, holder, first));
    std::string holds = holder[1];
    for (std::sregex_iterator at(said->prompt.begin(), said->prompt.end(), exchange), end; at != end; ++at) {
      const std::string one = (*at)[1], other = (*at)[2];
      holds = holds == one ? other : holds == other ? one : holds;
    }
    EXPECT_EQ(homes.at(holds), said->answer) << said->prompt;
    different.insert(said->answer);
  }
  EXPECT_GT(different.size(), 2u);
}

TEST(Language, gives_different_things_different_names) {
  std::set<std::string> names;
  for (std::int64_t kind = 0; kind < kEntityKinds; ++kind)
    for (std::int64_t number = 0; number < 20000; ++number)
      EXPECT_TRUE(names.insert(entity_name(kind, number)).second);
  for (std::int64_t number = 0; number < 1000; ++number)
    EXPECT_TRUE(names.insert(relation_word(number)).second);
  EXPECT_FALSE(names.contains(std::string(kHomeWord)));
}

TEST(Language, is_absent_where_a_task_has_none) {
  const auto task = std::move(*make_task("eva", {}));
  EXPECT_FALSE(task->language(task->generate(Variant::uniform, 1, 0)));
}

}  // namespace
}  // namespace rung
