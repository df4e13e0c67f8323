// docs/theorems.md is the list of theorems: the program reads it, and refuses a page that lacks a part.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "rung/tasks/task.h"
#include "rung/theory/theorem_page.h"

namespace rung {
namespace {

const std::string kEntry =
    "\n### `recurrent-eva`\n\nStacks store the function. It takes n lg n bits. No fewer do.\n\nMore of "
    "it.\n\n"
    "- source: paper 2602.01763; status: checked\n- reference: one-way communication\n"
    "- checked by Coq: theorem `recurrent_eva` of [proofs](x)\n"
    "- implemented in: `rung/theory/recurrent_eva.cc`; tested in: `tests/theory/recurrent_test.cc`\n";

std::string without(std::string text, const std::string& part) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, text.npos) << part;
  return text.erase(at, part.size());
}

TEST(theorem_page, refuses_an_entry_that_lacks_a_part_or_has_an_unknown_word) {
  EXPECT_TRUE(read_theorem_page(kEntry));
  for (const char* part :
       {"recurrent-eva", ". It takes n lg n bits. No fewer do.", "- reference: one-way communication\n",
        "; status: checked", "paper 2602.01763", "theorem `recurrent_eva` of ",
        "`rung/theory/recurrent_eva.cc`", "; tested in: `tests/theory/recurrent_test.cc`"})
    EXPECT_FALSE(read_theorem_page("# Page\n" + kEntry + without(kEntry, part))) << part;
  for (const auto& [word, other] : {std::pair{"paper", "rumour"}, std::pair{"checked\n", "certain\n"},
                                    std::pair{"checked\n", "proved\n"}}) {
    std::string changed = kEntry;
    EXPECT_FALSE(read_theorem_page(changed.replace(changed.find(word), std::string(word).size(), other)))
        << other;
  }
}

TEST(theorem_page, reads_every_part_of_an_entry) {
  const std::string page = "# Page\n" + kEntry + without(kEntry, "recurrent-");
  const auto read = read_theorem_page(page);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 2u);
  const Theorem& t = read->front();
  EXPECT_EQ(t.id, "recurrent-eva");
  EXPECT_EQ(t.title, "Stacks store the function");
  EXPECT_EQ(t.statement, "It takes n lg n bits. No fewer do.");
  EXPECT_EQ(t.source, Source::paper);
  EXPECT_EQ(t.status, Status::checked);
  EXPECT_EQ(t.reference, "one-way communication");
  EXPECT_EQ(t.formal, "recurrent_eva");
  EXPECT_EQ(t.file, "rung/theory/recurrent_eva.cc");
  EXPECT_EQ(t.test, "tests/theory/recurrent_test.cc");
  EXPECT_EQ(read->back().id, "eva");
}

TEST(theorem_list, has_unique_ids_known_tasks_and_existing_files) {
  std::set<std::string_view> ids;
  for (const auto& t : theorems()) {
    EXPECT_TRUE(ids.insert(t.id).second) << t.id;
    for (const auto path : {t.file, t.test})
      EXPECT_TRUE(std::filesystem::exists(std::string(RUNG_SOURCE_DIR) + "/" + std::string(path)))
          << t.id << " " << path;
    EXPECT_EQ(t.tasks.empty(), t.evaluate == nullptr) << t.id;
    for (const auto task : t.tasks) EXPECT_TRUE(find_task_word(task)) << task;
  }
}

TEST(theorem_list, puts_functions_beside_what_the_page_says) {
  const Theorem& evaluated = theorem("recurrent-eva");
  EXPECT_NE(evaluated.evaluate, nullptr);
  EXPECT_EQ(evaluated.status, Status::checked);
  EXPECT_EQ(evaluated.variants, kEveryPrompt);
  EXPECT_NE(evaluated.statement.find("n lg n"), std::string_view::npos);
  EXPECT_EQ(theorem("cited-composition").evaluate, nullptr);
  const auto page = read_theorem_page(kTheoremPage);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->size(), theorems().size());
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
