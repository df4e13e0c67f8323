// docs/theorems.md and the list in the code name the same theorems, with the same sources and statuses.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "rung/tasks/task.h"
#include "rung/theory/theorem.h"

namespace rung {
namespace {

std::string page() {
  std::ifstream file(std::string(RUNG_SOURCE_DIR) + "/docs/theorems.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(theorem_list, has_unique_ids_known_tasks_and_existing_files) {
  std::set<std::string_view> ids;
  for (const auto& t : theorems()) {
    EXPECT_TRUE(ids.insert(t.id).second) << t.id;
    EXPECT_FALSE(t.statement.empty() || t.title.empty() || t.reference.empty()) << t.id;
    for (const auto path : {t.file, t.test})
      EXPECT_TRUE(std::filesystem::exists(std::string(RUNG_SOURCE_DIR) + "/" + std::string(path)))
          << t.id << " " << path;
    EXPECT_EQ(t.tasks.empty(), t.evaluate == nullptr) << t.id;
    for (const auto task : t.tasks) EXPECT_TRUE(find_task_word(task)) << task;
  }
}

TEST(theorem_list, is_exactly_what_the_page_lists) {
  const std::string text = page();
  std::set<std::string> listed, known;
  for (std::size_t at = 0; (at = text.find("\n### `", at)) != std::string::npos;) {
    at += 6;
    listed.insert(text.substr(at, text.find('`', at) - at));
  }
  for (const auto& t : theorems()) known.insert(std::string(t.id));
  EXPECT_EQ(listed, known);
}

TEST(theorem_list, agrees_with_the_page_on_statement_source_status_file_and_test) {
  const std::string text = page();
  for (const auto& t : theorems()) {
    const std::size_t from = text.find("\n### `" + std::string(t.id) + "`");
    ASSERT_NE(from, std::string::npos) << t.id;
    const std::string entry = text.substr(from, text.find("\n### ", from + 1) - from);
    for (const std::string& part :
         {std::string(t.statement), std::string(source_text(t.source)), std::string(t.file),
          std::string(t.test), "status: " + std::string(status_name(t.status)),
          t.formal.empty() ? std::string() : "theorem `" + std::string(t.formal) + "`"})
      EXPECT_NE(entry.find(part), std::string::npos) << t.id << ": " << part;
  }
}

TEST(theorem_list, speaks_about_every_task) {
  for (const auto& word : task_words()) {
    bool spoken = false;
    for (const auto& t : theorems())
      for (const auto task : t.tasks) spoken = spoken || task == word.name;
    EXPECT_TRUE(spoken) << word.name;
  }
}

}  // namespace
}  // namespace rung
