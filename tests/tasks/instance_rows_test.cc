#include "rung/tasks/instance_rows.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "rung/tasks/lm_eval.h"
#include "rung/tasks/user_task.h"

namespace rung {
namespace {

std::string rows_of(const Task& task, Variant variant, RowForm form, std::uint64_t count,
                    bool language = false) {
  std::string text;
  const auto written = InstanceRows(task, variant, 4, form, language)
                           .write(0, count, "\n", [&](std::string_view bytes) -> Result<void> {
                             text += bytes;
                             return {};
                           });
  EXPECT_TRUE(written);
  return text;
}

TEST(InstanceRows, are_json_objects_with_the_instance_in_them) {
  for (const auto& word : task_words()) {
    const auto task = std::move(*make_task(word.name, {}));
    for (const RowForm form : {RowForm::jsonl, RowForm::question}) {
      const std::string text = rows_of(*task, Variant::uniform, form, 3);
      std::uint64_t index = 0;
      for (std::size_t at = 0; at < text.size(); ++index) {
        const auto end = std::min(text.find('\n', at), text.size());
        const auto row = nlohmann::json::parse(text.substr(at, end - at));
        at = end + 1;
        const Instance instance = task->generate(Variant::uniform, 4, index);
        EXPECT_EQ(row["task"], word.name);
        EXPECT_EQ(row["size"], nlohmann::json(task->size()));
        EXPECT_EQ(row["seed"], 4);
        EXPECT_EQ(row["index"], index);
        EXPECT_EQ(row["variant"], "uniform");
        EXPECT_EQ(row.contains("prompt"), form == RowForm::question);
        std::vector<std::vector<std::int64_t>> fields;
        const auto specs = task->fields();
        for (std::size_t f = 0; f < specs.size(); ++f) {
          const auto& list = row.contains("tokens") ? row["tokens"] : row["fields"][specs[f].name];
          ASSERT_EQ(list.size(), static_cast<std::size_t>(task->prompt_length()));
          auto& numbers = fields.emplace_back();
          for (const auto& entry : list)
            if (entry.is_array())
              for (const auto& number : entry) numbers.push_back(number);
            else
              numbers.push_back(entry);
        }
        EXPECT_EQ(fields, instance.prompt.fields) << word.name;
        std::vector<std::int64_t> answer;
        for (const auto& entry :
             row["answer"].is_array() ? row["answer"] : nlohmann::json::array({row["answer"]}))
          if (entry.is_array())
            for (const auto& number : entry) answer.push_back(number);
          else
            answer.push_back(entry);
        EXPECT_EQ(answer, instance.answer) << word.name;
      }
      EXPECT_EQ(index, 3u);
    }
  }
}

TEST(InstanceRows, do_not_depend_on_the_number_of_workers) {
  const auto task = std::move(*make_task("eva", {{"n", 16}}));
  ::setenv("RUNG_THREADS", "1", 1);
  const std::string alone = rows_of(*task, Variant::zipf, RowForm::jsonl, 70'000);
  ::setenv("RUNG_THREADS", "7", 1);
  EXPECT_TRUE(alone == rows_of(*task, Variant::zipf, RowForm::jsonl, 70'000));
  ::unsetenv("RUNG_THREADS");
  EXPECT_EQ(std::count(alone.begin(), alone.end(), '\n'), 69'999);
}

TEST(InstanceRows, stop_at_the_first_failing_write) {
  const auto task = std::move(*make_task("eva", {}));
  int calls = 0;
  const auto written = InstanceRows(*task, Variant::uniform, 1, RowForm::text, false)
                           .write(0, 1'000'000, "\n", [&](std::string_view) -> Result<void> {
                             ++calls;
                             return fail(ErrorCode::io, "full");
                           });
  EXPECT_FALSE(written);
  EXPECT_EQ(calls, 1);
}

TEST(InstanceRows, read_back_as_a_table_are_the_same_task) {
  const auto task = std::move(*make_task("index", {{"n", 3}}));
  const auto table =
      std::move(*read_table_task("again", rows_of(*task, Variant::uniform, RowForm::jsonl, 200)));
  const auto visited = enumerate(*table, [&](const Instance& instance) {
    EXPECT_EQ(instance.answer, task->answer(instance.prompt));
    return true;
  });
  EXPECT_EQ(visited, 8u * 3u);
}

TEST(InstanceRows, carry_plain_language_on_request) {
  const auto task = std::move(*make_task("retrieval", {{"n", 2}}));
  const auto row = nlohmann::json::parse(rows_of(*task, Variant::uniform, RowForm::jsonl, 1, true));
  EXPECT_TRUE(row["prompt"].get<std::string>().starts_with("The home of "));
  EXPECT_TRUE(row.contains("fields"));
}

TEST(LmEval, asks_for_a_choice_where_the_answer_is_yes_or_no_and_for_text_elsewhere) {
  const std::string yes_no =
      lm_eval_config(*std::move(*make_task("two-sum", {})), Variant::uniform, "a b/x.jsonl");
  EXPECT_NE(yes_no.find("output_type: multiple_choice\n"), std::string::npos);
  EXPECT_NE(yes_no.find("test: \"a b/x.jsonl\"\n"), std::string::npos);
  EXPECT_NE(yes_no.find("task: rung_two_sum\n"), std::string::npos);
  const std::string token = lm_eval_config(*std::move(*make_task("eva", {})), Variant::uniform, "x.jsonl");
  EXPECT_NE(token.find("output_type: generate_until\n"), std::string::npos);
  EXPECT_NE(token.find("metric: exact_match\n"), std::string::npos);
}

}  // namespace
}  // namespace rung
