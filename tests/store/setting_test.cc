#include "rung/store/setting.h"

#include <gtest/gtest.h>

#include "rung/store/table.h"

namespace rung {
namespace {

TEST(run_setting, tells_records_apart_that_were_asked_different_things) {
  const std::string hard =
      R"({"task":"seqcomp","arch":"full*2","size":{"m":4},"tasks":[{"name":"seqcomp","size":{"m":4}}],"variant":"uniform"})";
  for (
      const char* other :
      {R"({"task":"seqcomp","arch":"full*2","size":{"m":4},"tasks":[{"name":"seqcomp","options":{"order":"easy"},"size":{"m":4}}],"variant":"uniform"})",
       R"({"task":"seqcomp","arch":"full*2","size":{"m":4},"tasks":[{"name":"seqcomp","size":{"m":4}}],"variant":"zipf"})",
       R"({"task":"seqcomp","arch":"full*2","size":{"m":5},"tasks":[{"name":"seqcomp","size":{"m":4}}],"variant":"uniform"})",
       R"({"task":"seqcomp","arch":"full*2","size":{"m":4},"tasks":[{"name":"seqcomp","size":{"m":4}}],"variant":"uniform","dimensions":{"width":8}})",
       R"({"task":"seqcomp","arch":"full*2","size":{"m":4},"tasks":[{"name":"seqcomp","size":{"m":4}}],"variant":"uniform","parts":true})"})
    EXPECT_NE(run_setting(hard).key, run_setting(other).key) << other;
}

TEST(run_setting, is_one_for_what_a_sweep_varies_and_for_how_it_went) {
  EXPECT_EQ(
      run_setting(R"({"task":"eva","arch":"full","rate":0.1,"scale":1,"decay":0,"member":1,"accuracy":0.5})")
          .key,
      run_setting(R"({"arch":"full","task":"eva","rate":0.3,"scale":2,"decay":1,"member":2,"loss":3})").key);
}

TEST(run_setting, says_options_and_variant) {
  EXPECT_EQ(run_setting(R"({"task":"seqcomp","options":{"order":"easy"},"variant":"zipf"})").asked,
            "order=easy, zipf");
  EXPECT_EQ(
      run_setting(R"({"tasks":[{"name":"seqcomp","options":{"order":"easy"}}],"variant":"uniform"})").asked,
      "order=easy");
  EXPECT_EQ(run_setting(R"({"task":"eva","variant":"uniform"})").asked, "");
  EXPECT_EQ(run_setting("no body").key, "");
}

TEST(csv_table, holds_no_formula_and_no_control_byte) {
  Record record;
  record.id = "a-1";
  record.kind = "note";
  record.host = "=cmd()";
  record.command = "rung \x1b[31mred\x7f";
  record.body =
      R"({"at":"@x","minus":"-1+2","number":-3.5,"plus":"+1","tab":"\tx","two":"one\ntwo","list":["\u001b"],"=name":1})";
  const std::string table = csv_table({record});
  for (const char c : table) EXPECT_TRUE(c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 0x20);
  EXPECT_EQ(table.find('\x7f'), std::string::npos);
  for (const char* cell : {",'=cmd(),", ",rung \\x1b[31mred\\x7f,", ",'@x,", ",'-1+2,", ",-3.5,", ",'+1,",
                           ",'\tx,", "\"one\ntwo\"", ",'=name,"})
    EXPECT_NE(table.find(cell), std::string::npos) << cell << "\n" << table;
}

}  // namespace
}  // namespace rung
