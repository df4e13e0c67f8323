// The page: data cannot become markup, and only the page's own script may run.
#include "rung/report/page.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <nlohmann/json.hpp>

namespace rung::report {
namespace {

std::size_t count(std::string_view text, std::string_view word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

// What the page's script reads back.
nlohmann::json embedded(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"rung-data\">";
  const std::size_t begin = page.find(open) + open.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

class Page : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!kPageShell.missing.empty()) GTEST_SKIP() << "built without the page: " << kPageShell.missing;
  }
};

TEST_F(Page, a_record_that_ends_the_script_stays_text) {
  const nlohmann::json hostile = {{"schema", "rung.report/2"},
                                  {"name", "</script><script>alert(1)</script><!--<script>"},
                                  {"other", "]]>&\u2028\u2029RUNG_SCRIPT RUNG_DATA"}};
  const std::string page = page_with(hostile.dump(), {}).value();
  EXPECT_EQ(count(page, "<script"), count(page_with("{}", {}).value(), "<script"));
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(embedded(page), hostile);
}

TEST_F(Page, the_policy_lets_its_own_script_run_and_nothing_be_fetched) {
  const std::string page = page_with("{}", {}).value();
  EXPECT_NE(page.find("default-src 'none'; script-src " + script_hash(kPageShell.script)), std::string::npos);
  EXPECT_EQ(page.find("connect-src"), std::string::npos);
  EXPECT_NE(page_with("{}", {.live = true}).value().find("connect-src 'self'"), std::string::npos);
  // The element's text is exactly what was hashed.
  const std::size_t begin = page.rfind("<script>") + 8;
  EXPECT_EQ(page.substr(begin, page.rfind("</script>") - begin), kPageShell.script);
}

TEST_F(Page, loads_nothing_from_anywhere) {
  const std::string page = page_with("{}", {}).value();
  for (const char* word : {"src=\"http", "href=\"http", "@import", "url(http", "url(//", "url(fonts"})
    EXPECT_EQ(page.find(word), std::string::npos) << word;
  EXPECT_NE(page.find("MIT"), std::string::npos);  // licences of what is bundled
}

TEST(script_hash, is_the_digest_in_base64) {
  EXPECT_EQ(script_hash(""), "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
  EXPECT_EQ(script_hash("abc"), "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='");
}

RC_GTEST_PROP(as_script_data, keeps_the_value_and_holds_no_angle, (const std::string& text)) {
  const std::string json = nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  const std::string data = as_script_data(json);
  RC_ASSERT(data.find('<') == std::string::npos);
  RC_ASSERT(nlohmann::json::parse(data) == nlohmann::json::parse(json));
}

}  // namespace
}  // namespace rung::report
