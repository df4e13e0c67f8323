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
