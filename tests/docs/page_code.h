// Code that a page shows is that of a file which is compiled, word for word.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace rung {

// The block of `page` that begins with `opening` stands in `file`. Both are paths from the root of the
// repository. REQUIRES RUNG_SOURCE_DIR, a macro.
inline void expect_shown(const std::string& page, const std::string& file, const std::string& opening) {
  const auto text_of = [](const std::string& path) {
    std::ifstream from(std::string(RUNG_SOURCE_DIR) + "/" + path);
    std::ostringstream text;
    text << from.rdbuf();
    return text.str();
  };
  const std::string shown = text_of(page), fence = "```cpp\n";
  const std::size_t start = shown.find(fence + opening), end = shown.find("```\n", start + fence.size());
  ASSERT_NE(start, std::string::npos) << page;
  ASSERT_NE(end, std::string::npos) << page;
  const std::string code = shown.substr(start + fence.size(), end - start - fence.size());
  EXPECT_GT(code.size(), 1000u) << page;
  EXPECT_NE(text_of(file).find(code), std::string::npos) << code;
}

}  // namespace rung
