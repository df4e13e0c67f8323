// Questions for a language model: what counts as right, what is refused, and what answers show about a table.
#include "rung/evaluation/probe.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "rung/evaluation/label.h"
#include "rung/theory/ceiling.h"

namespace rung {
namespace {

std::string probe_questions(const std::string& name, const TaskSizes& sizes, ProbeOptions options,
                            std::uint64_t first = 0) {
  return *probe_prompts(**make_task(name, sizes), options, first);
}

// Every question answered with what `say` makes of its target.
template <typename Say>
std::string probe_answers(const std::string& prompts, Say say) {
  std::string out;
  for (std::size_t begin = 0; begin < prompts.size();) {
    const std::size_t end = prompts.find('\n', begin);
    const auto row = nlohmann::json::parse(prompts.substr(begin, end - begin));
    out += nlohmann::json{{"id", row["id"]}, {"answer", say(row["target"].get<std::string>())}}.dump() + "\n";
    begin = end + 1;
  }
  return out;
}

TEST(probe, a_wrong_answer_counts_as_wrong) {
  const std::string prompts = probe_questions("retrieval", {{"n", 8}}, {.count = 20});
  const auto judged = [&](auto say) {
    return judge_answers(prompts, probe_answers(prompts, say))->front().right;
  };
  EXPECT_EQ(judged([](const std::string&) { return "Nowhere"; }), 0U);
  EXPECT_EQ(judged([](const std::string&) { return ""; }), 0U);
  EXPECT_EQ(judged([](const std::string& target) { return target + "x"; }), 0U);
  EXPECT_EQ(judged([](const std::string& target) { return "It is not " + target; }), 0U);
  EXPECT_EQ(judged([](const std::string& target) { return target.substr(0, target.size() - 1); }), 0U);
}

TEST(probe, case_punctuation_and_what_follows_do_not_count) {
  const std::string prompts = probe_questions("retrieval", {{"n", 8}}, {.count = 20});
  const auto judged = [&](auto say) {
    return judge_answers(prompts, probe_answers(prompts, say))->front().right;
  };
  EXPECT_EQ(judged([](const std::string& target) { return target; }), 20U);
  EXPECT_EQ(judged([](const std::string& target) { return " " + target + ".\n\nThe home of"; }), 20U);
  EXPECT_EQ(judged([](std::string target) {
              for (char& c : target) c = static_cast<char>(std::toupper(c));
              return "\"" + target + "\"";
            }),
            20U);
}

TEST(probe, sizes_variants_and_options_are_groups_of_their_own) {
  const std::string prompts = probe_questions("index", {{"n", 4}}, {.count = 3}) +
                              probe_questions("index", {{"n", 8}}, {.count = 3}, 3) +
                              probe_questions("index", {{"n", 8}}, {.variant = Variant::zipf, .count = 3}, 6);
  const auto groups = judge_answers(prompts, R"({"id":"7","answer":"2"})");
  ASSERT_TRUE(groups);
  ASSERT_EQ(groups->size(), 3U);
  EXPECT_EQ((*groups)[0].missing, 3U);
  EXPECT_EQ((*groups)[2].answered, 1U);
  EXPECT_EQ((*groups)[2].right, 0U);
  EXPECT_EQ((*groups)[2].variant, Variant::zipf);
}

TEST(probe, files_that_do_not_belong_together_are_refused) {
  const std::string prompts = probe_questions("eva", {{"n", 4}}, {.count = 2});
  const auto message = [&](const std::string& asked, const std::string& answers) {
    const auto judged = judge_answers(asked, answers);
    return judged ? std::string() : judged.error().message;
  };
  EXPECT_EQ(message(prompts, R"({"id":"9","answer":"1"})"), "[answers] id \"9\" is not among the prompts");
  EXPECT_EQ(message(prompts, "{\"id\":\"1\",\"answer\":\"1\"}\n{\"id\":\"1\",\"answer\":\"2\"}\n"),
            "[answers] id \"1\" is answered twice");
  EXPECT_EQ(message(prompts + prompts, ""), "[prompts] id \"0\" stands twice");
  EXPECT_EQ(message(prompts, R"({"id":"1"})"), "[answers] id \"1\" has no \"answer\", a string");
  EXPECT_NE(message(prompts, "[1,2]"), "");
  EXPECT_NE(message(prompts, "{"), "");
  EXPECT_NE(message(R"({"id":"1","task":"eva","variant":"uniform","target":"1","size":{"n":"four"}})", ""),
            "");
  EXPECT_NE(
      message(R"({"id":"1","task":"eva","variant":"uniform","target":"1","size":{"n":4},"options":{"a":1}})",
              ""),
      "");
  EXPECT_EQ(message(prompts, ""), "");
}

TEST(probe, solved_examples_are_other_instances_and_stand_in_front) {
  const std::string with = probe_questions("eva", {{"n", 16}}, {.count = 4, .shots = 2});
  const std::string without = probe_questions("eva", {{"n", 16}}, {.count = 4});
  for (std::size_t begin = 0, plain = 0; begin < with.size();) {
    const auto long_row = nlohmann::json::parse(with.substr(begin, with.find('\n', begin) - begin));
    const auto short_row = nlohmann::json::parse(without.substr(plain, without.find('\n', plain) - plain));
    const std::string text = long_row["prompt"], question = short_row["prompt"];
    EXPECT_TRUE(text.ends_with("\n\n" + question));
    EXPECT_EQ(text.find(question), text.size() - question.size());
    begin = with.find('\n', begin) + 1;
    plain = without.find('\n', plain) + 1;
  }
}

TEST(probe, several_answers_are_refused) {
  EXPECT_FALSE(probe_prompts(**make_task("mqar", {{"n", 4}}), {}, 0));
  EXPECT_FALSE(
      probe_prompts(**make_task("two-sum", {{"n", 6}, {"M", 4}}), {.variant = Variant::permutation}, 0));
}

TEST(probe, table_bits_are_the_ceiling_inverted) {
  const auto task = *make_task("retrieval", {{"n", 64}});
  EXPECT_EQ(table_bits(*task, Variant::zipf, 0.5), std::nullopt);
  EXPECT_EQ(table_bits(**make_task("parity", {{"n", 8}}), Variant::uniform, 0.5), std::nullopt);
  const double bits = *table_bits(*task, Variant::uniform, 0.5);
  EXPECT_GT(bits, 0);
  // A model with fewer bits cannot have this accuracy; with as many it may.
  EXPECT_LT(accuracy_ceiling(64, 64, Integer(static_cast<std::int64_t>(bits) - 2)), 0.5);
  EXPECT_GE(accuracy_ceiling(64, 64, Integer(static_cast<std::int64_t>(bits) + 1)), 0.5);
}

// All functions of the table's memory, at the smallest size: no map from tables to states answers better than the ceiling.
TEST(probe, the_ceiling_of_retrieval_holds_for_every_memory_of_one_bit) {
  // Two keys of one bit, two values: 4 tables for each of the 2 orders of the keys, 2 states, 2 queries.
  const double ceiling = accuracy_ceiling(2, 2, Integer(1));
  double best = 0;
  for (int memory = 0; memory < 16; ++memory) {  // table -> state, for one order of the keys
    int right = 0;
    for (int state = 0; state < 2; ++state)
      for (int query = 0; query < 2; ++query) {
        int ones = 0, all = 0;
        for (int table = 0; table < 4; ++table)
          if ((memory >> table & 1) == state) {
            ++all;
            ones += table >> query & 1;
          }
        right += std::max(ones, all - ones);
      }
    best = std::max(best, right / 8.0);
  }
  EXPECT_EQ(best, 0.75);
  EXPECT_GE(ceiling, best);
  EXPECT_LT(ceiling, 1);
  EXPECT_EQ(table_alphabet(**make_task("retrieval", {{"n", 2}})), 2);
}

}  // namespace
}  // namespace rung
