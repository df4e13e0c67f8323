#include "rung/tasks/user_task.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

namespace rung {
namespace {

constexpr std::string_view kParity = R"({
  "alphabet": ["a", "b"], "states": ["even", "odd"], "start": "even", "length": 4,
  "transitions": {"even": {"a": "even", "b": "odd"}, "odd": {"a": "odd", "b": "even"}}, "accepting": ["odd"]})";

TEST(TableTask, holds_its_rows_and_nothing_else) {
  const auto task = std::move(*read_table_task("mine",
                                               "{\"tokens\":[2,0],\"answer\":5}\n\n{\"answer\":1,\"tokens\":["
                                               "0,1],\"note\":\"x\"}\n{\"tokens\":[2,1],\"answer\":0}\n"));
  EXPECT_EQ(task->name(), "mine");
  EXPECT_EQ(task->prompt_length(), 2);
  EXPECT_EQ(task->fields()[0].size, 3);
  EXPECT_EQ(task->answer_spec().size, 6);
  EXPECT_EQ(task->answer({2, {{2, 0}}}), std::vector<std::int64_t>{5});
  EXPECT_TRUE(task->validate({2, {{0, 1}}}));
  EXPECT_FALSE(task->validate({2, {{0, 0}}}));
  std::vector<std::vector<std::int64_t>> all;
  enumerate(*task, [&](const Instance& i) { return all.push_back(i.prompt.fields[0]), true; });
  EXPECT_EQ(all, (std::vector<std::vector<std::int64_t>>{{0, 1}, {2, 0}, {2, 1}}));
  std::set<std::vector<std::int64_t>> drawn;
  for (std::uint64_t i = 0; i < 50; ++i)
    drawn.insert(task->generate(Variant::uniform, 1, i).prompt.fields[0]);
  EXPECT_EQ(drawn.size(), 3u);
  EXPECT_FALSE(task->supports(Variant::adversarial));
}

TEST(TableTask, reads_yes_and_no) {
  const auto task = std::move(
      *read_table_task("mine", "{\"tokens\":[2],\"answer\":true}\n{\"tokens\":[1],\"answer\":false}"));
  EXPECT_EQ(task->answer_spec().kind, AnswerSpec::Kind::boolean);
  EXPECT_EQ(task->answer({1, {{2}}}), std::vector<std::int64_t>{1});
}

TEST(TableTask, refuses_what_is_no_table) {
  for (const std::string_view text : {"",
                                      "\n\n",
                                      "[]",
                                      "{",
                                      "{}",
                                      "null",
                                      "{\"tokens\":[1]}",
                                      "{\"tokens\":[],\"answer\":1}",
                                      "{\"tokens\":1,\"answer\":1}",
                                      "{\"tokens\":[-1],\"answer\":1}",
                                      "{\"tokens\":[1.5],\"answer\":1}",
                                      "{\"tokens\":[\"1\"],\"answer\":1}",
                                      "{\"tokens\":[18446744073709551615],\"answer\":1}",
                                      "{\"tokens\":[1],\"answer\":-1}",
                                      "{\"tokens\":[1],\"answer\":1e400}",
                                      "{\"tokens\":[1],\"answer\":2305843009213693952}",
                                      "{\"tokens\":[1],\"answer\":1}\n{\"tokens\":[1,2],\"answer\":1}",
                                      "{\"tokens\":[1],\"answer\":1}\n{\"tokens\":[1],\"answer\":2}",
                                      "{\"tokens\":[1],\"answer\":1}\n{\"tokens\":[2],\"answer\":true}",
                                      "{\"tokens\":[1],\"answer\":null}",
                                      "\xff\xfe",
                                      "{\"tokens\":[[1]],\"answer\":1}"}) {
    const auto task = read_table_task("mine", text);
    ASSERT_FALSE(task) << text;
    EXPECT_EQ(task.error().message.find('\n'), std::string::npos);
  }
  EXPECT_EQ(
      read_table_task("mine", "{\"tokens\":[1],\"answer\":1}\n{\"tokens\":[1],\"answer\":2}").error().message,
      "[task] lines 1 and 2 answer the same prompt differently");
}

TEST(TableTask, survives_deep_nesting) {
  EXPECT_FALSE(read_table_task("mine", std::string(1'000'000, '[')));
  EXPECT_FALSE(read_automaton_task("mine", "{\"a\":" + std::string(1'000'000, '['), {}));
  EXPECT_FALSE(read_automaton_task("mine", std::string(200'000, '[') + std::string(200'000, ']'), {}));
}

TEST(AutomatonTask, runs_the_automaton) {
  const auto task = std::move(*read_automaton_task("parity", kParity, {}));
  EXPECT_EQ(task->prompt_length(), 5);
  std::uint64_t odd = 0;
  const auto visited = enumerate(*task, [&](const Instance& i) {
    const auto& t = i.prompt.fields[0];
    EXPECT_EQ(t[0], 2);  // ^
    EXPECT_EQ(i.answer[0], (t[1] + t[2] + t[3] + t[4]) % 2);
    odd += static_cast<std::uint64_t>(i.answer[0]);
    return true;
  });
  EXPECT_EQ(visited, 16u);
  EXPECT_EQ(odd, 8u);
  EXPECT_EQ(task->text({5, {{2, 0, 1, 1, 0}}}), "^ a b b a");
  EXPECT_EQ((*read_automaton_task("parity", kParity, {{"n", 9}}))->prompt_length(), 10);
  const auto everywhere = std::move(*read_automaton_task("parity", kParity, {}, {{"read", "all"}}));
  EXPECT_EQ(everywhere->query_positions(), (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(everywhere->answer({5, {{2, 0, 1, 1, 1}}}), (std::vector<std::int64_t>{0, 1, 0, 1}));
  EXPECT_FALSE(read_automaton_task("parity", kParity, {}, {{"read", "first"}}));
  EXPECT_FALSE(read_automaton_task("parity", kParity, {}, {{"order", "easy"}}));
}

TEST(AutomatonTask, gives_the_output_of_the_last_state) {
  const auto task =
      std::move(*read_automaton_task("two", R"({"alphabet":["x"],"states":["p","q"],"start":"p","length":3,
      "transitions":{"p":{"x":"q"},"q":{"x":"p"}},"outputs":{"p":7,"q":4}})",
                                     {}));
  EXPECT_EQ(task->answer_spec().kind, AnswerSpec::Kind::token);
  EXPECT_EQ(task->answer_spec().size, 8);
  EXPECT_EQ(task->answer({4, {{1, 0, 0, 0}}}), std::vector<std::int64_t>{4});
}

TEST(AutomatonTask, refuses_what_is_no_automaton) {
  const auto with = [](std::string_view from, std::string_view to) {
    std::string text(kParity);
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  ASSERT_TRUE(read_automaton_task("parity", kParity, {}));
  for (const auto& text :
       {std::string("[]"),
        std::string("{}"),
        with("\"start\": \"even\"", "\"start\": \"neither\""),
        with("\"start\": \"even\", ", ""),
        with("[\"a\", \"b\"]", "[\"a\", \"a\"]"),
        with("[\"a\", \"b\"]", "[\"a\"]"),
        with("[\"a\", \"b\"]", "[]"),
        with("[\"a\", \"b\"]", "[\"a\", 2]"),
        with("[\"a\", \"b\"]", "[\"a\", \"b c\"]"),
        with("\"a\": \"even\", \"b\": \"odd\"", "\"a\": \"even\""),
        with("\"a\": \"even\", \"b\": \"odd\"", "\"a\": \"even\", \"a\": \"odd\""),
        with("\"a\": \"odd\"", "\"a\": \"gone\""),
        with("[\"odd\"]", "[\"gone\"]"),
        with("[\"odd\"]", "\"odd\""),
        with("\"accepting\": [\"odd\"]", "\"outputs\": {\"odd\": 1}"),
        with("\"accepting\": [\"odd\"]", "\"outputs\": {\"odd\": 1, \"even\": -1}"),
        with("\"accepting\": [\"odd\"]", "\"outputs\": {\"odd\": 1, \"even\": 0}, \"accepting\": []"),
        with(", \"accepting\": [\"odd\"]", ""),
        with("\"length\": 4", "\"length\": 0"),
        with("\"length\": 4", "\"length\": 1e3"),
        with("\"length\": 4", "\"length\": 1152921504606846976"),
        with("\"length\": 4", "\"lenght\": 4")}) {
    const auto task = read_automaton_task("parity", text, {});
    ASSERT_FALSE(task) << text;
    EXPECT_EQ(task.error().message.find('\n'), std::string::npos);
  }
  EXPECT_EQ(read_automaton_task("parity", with("\"length\"", "\"lenght\""), {}).error().message,
            "[task] unknown field \"lenght\" of an automaton; did you mean \"length\"?");
  // The entry is named.
  const auto message = [&](std::string_view from, std::string_view to) {
    return read_automaton_task("parity", with(from, to), {}).error().message;
  };
  EXPECT_EQ(message("\"a\": \"even\", \"b\": \"odd\"", "\"a\": \"even\""),
            "[task] state \"even\" has no transition for \"b\"");
  EXPECT_EQ(message("\"b\": \"even\"}", "\"b\": \"even\", \"c\": \"odd\"}"),
            "[task] state \"odd\" has a transition for \"c\", which is not in \"alphabet\"");
  EXPECT_EQ(message("[\"even\", \"odd\"]", "[\"even\", \"odd\", \"even\"]"),
            "[task] \"even\" stands twice in \"states\"");
  EXPECT_EQ(message("\"accepting\": [\"odd\"]", "\"accepting\": [\"odd\", \"odd\"]"),
            "[task] \"odd\" stands twice in \"accepting\"");
  EXPECT_EQ(message("\"b\": \"odd\"", "\"b\": \"strange\""),
            "[task] \"strange\" names no state in the transition of \"even\" for \"b\"; expected one of "
            "\"states\"");
  EXPECT_EQ(
      message("\"b\": \"odd\"", "\"b\": \"even\""),
      "[task] no word leads from the start \"even\" to the state \"odd\"; expected states that are reached");
  EXPECT_EQ(message("\"accepting\": [\"odd\"]", "\"outputs\": {\"odd\": 1}"),
            "[task] state \"even\" has no output");
  EXPECT_EQ((*read_automaton_task("parity", with("\"length\": 4,", ""), {}))->prompt_length(),
            9);  // the default
  EXPECT_FALSE(read_automaton_task("parity", kParity, {{"n", -1}}));
  EXPECT_FALSE(read_automaton_task("parity", kParity, {{"m", 1}}));
}

TEST(UserTask, is_read_from_a_path) {
  const std::string path = testing::TempDir() + "/parity.json";
  std::ofstream(path) << kParity;
  const auto task = make_task(path, {{"n", 6}});
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ((*task)->name(), "parity");
  EXPECT_EQ((*task)->prompt_length(), 7);
  EXPECT_FALSE(make_task(path, {}, {{"order", "easy"}}));
  EXPECT_EQ((*make_task(path, {}, {{"read", "all"}}))->query_positions().size(), 4u);
}

TEST(UserTask, refuses_paths_that_are_no_task_files) {
  EXPECT_EQ(make_task("missing.jsonl", {}).error().message,
            "[task] missing.jsonl: No such file or directory");
  EXPECT_FALSE(make_task("/", {}));
  EXPECT_FALSE(make_task("/dev/zero", {}));
  EXPECT_FALSE(make_task("/tmp", {}));
  EXPECT_FALSE(make_task(std::string(5000, 'a') + "/x.json", {}));
}

}  // namespace
}  // namespace rung
