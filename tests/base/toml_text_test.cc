// Text of a stranger as TOML.
#include "rung/base/toml_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace rung {
namespace {

TEST(toml_text, is_the_tree_that_json_gives) {
  const auto read = parse_toml("a = 1\n[b]\nc = [\"d\", true]", "here", "test");
  if (!read && read.error().code == ErrorCode::unsupported) GTEST_SKIP() << "no TOML here";
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, nlohmann::json::parse(R"({"a": 1, "b": {"c": ["d", true]}})"));
}

// The last two end toml++ with a failed assertion, or, compiled without assertions, with whatever the compiler made of it.
TEST(toml_text, that_is_none_is_refused_in_one_line) {
  for (const std::string text : {"a", "a = ", "[", "[a", "a = 1\na = 2", "[=", "[!{\"name\"\"n]"}) {
    const auto read = parse_toml(text, "here", "test");
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_TRUE(read.error().message.starts_with("[test] \"here\"")) << read.error().message;
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace rung
