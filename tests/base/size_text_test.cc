// Sizes as people write them.
#include "rung/base/size_text.h"

#include <gtest/gtest.h>

namespace rung {
namespace {

TEST(size_text, refuses_what_is_no_whole_number) {
  for (const char* text :
       {"",      " ",      "k",         "12x",  "1.5",  "0.1k", "1e",   "1e-3",  "1e6k", "1kk",
        "12,34", "1,2345", "1_000,000", ",000", "1..2", "--4",  "0x10", "1e100", "1kb",  "1b"})
    EXPECT_FALSE(parse_size(text)) << text;
  for (const char* text : {"9223372036854775808", "9e18k", "1e19", "9999999T"})
    EXPECT_FALSE(parse_size(text)) << text;
}

TEST(size_text, suffixes_are_powers_of_1024_and_e_one_of_ten) {
  const std::pair<const char*, std::int64_t> cases[] = {{"128k", 131'072},
                                                        {"128K", 131'072},
                                                        {"128Ki", 131'072},
                                                        {"1M", 1'048'576},
                                                        {"1m", 1'048'576},
                                                        {"2G", std::int64_t{1} << 31},
                                                        {"1T", std::int64_t{1} << 40},
                                                        {"1e6", 1'000'000},
                                                        {"1E+6", 1'000'000},
                                                        {"1.5e3", 1'500},
                                                        {"1.5k", 1'536},
                                                        {"0.5M", 524'288},
                                                        {"1.50e1", 15},
                                                        {"131,072", 131'072},
                                                        {"1_048_576", 1'048'576},
                                                        {"0", 0},
                                                        {"-1", -1},
                                                        {"9223372036854775807", INT64_MAX}};
  for (const auto& [text, value] : cases) {
    const auto read = parse_size(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(*read, value) << text;
  }
}

TEST(size_text, what_was_understood_is_said_where_it_is_not_plain) {
  EXPECT_EQ(size_note("128k"), "128k is 131,072");
  EXPECT_EQ(size_note("1e6"), "1e6 is 1,000,000");
  EXPECT_EQ(size_note("4096"), "");
  EXPECT_EQ(size_note("131,072"), "");
  EXPECT_EQ(size_note("four"), "");
  EXPECT_EQ(grouped(-1234567), "-1,234,567");
  EXPECT_EQ(grouped(-123), "-123");
  EXPECT_EQ(grouped(999), "999");
}

}  // namespace
}  // namespace rung
