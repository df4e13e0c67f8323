#include <gtest/gtest.h>

#include "rung/base/toml_text.h"
#include "rung/spec/accounting.h"
#include "rung/spec/architecture.h"
#include "rung/spec/dimensions_file.h"
#include "rung/spec/number_words.h"

namespace rung {
namespace {

std::string message(const std::string& text, bool is_toml = false) {
  auto file = read_architecture_text(text, is_toml ? "d.toml" : "d.json", is_toml);
  return file ? "accepted" : file.error().message;
}

TEST(DimensionsFile, refuses_unknown_fields_and_wrong_values_in_one_line) {
  EXPECT_EQ(message(R"({"widht": 8})"),
            "[dimensions] d.json: unknown field \"widht\"; did you mean \"width\"?");
  EXPECT_EQ(
      message(R"({"width": "eight"})"),
      "[dimensions] size = \"eight\" is not a whole number in 1..2147483648 (field \"width\" of d.json)");
  EXPECT_EQ(message(R"({"width": 8.5})"),
            "[dimensions] size = 8.5 is not a whole number in 1..2147483648 (field \"width\" of d.json)");
  EXPECT_EQ(message(R"({"width": -1})"),
            "[dimensions] size = -1 is outside 1..2147483648 (field \"width\" of d.json)");
  EXPECT_EQ(message(R"({"heads": 18446744073709551615})"),
            "[dimensions] size = 18446744073709551615 is outside 1..2147483648 (field \"heads\" of d.json)");
  EXPECT_EQ(message(R"({"mlp": [4, 0]})"),
            "[dimensions] mlp = 0 is outside 1..2147483648 (field \"mlp\" of d.json)");
  EXPECT_EQ(message(R"({"norm": "rm"})"),
            "[dimensions] unknown norm \"rm\"; did you mean \"rms\"? (field \"norm\" of d.json)");
  EXPECT_EQ(message(R"({"precision": 8.10})").substr(0, 45), "[dimensions] precision is number; expected a ");
  EXPECT_EQ(message(R"({"precision": "bf61"})").find("did you mean \"bf16\""), 43u);
  EXPECT_EQ(message(R"({"causal": 1})"),
            "[dimensions] causal is number; expected true or false (field \"causal\" of d.json)");
  EXPECT_EQ(message(R"({"heads": 4, "kv_heads": 3})"), "[dimensions] kv_heads = 3 does not divide heads = 4");
  EXPECT_EQ(message("[1]"), "[dimensions] d.json holds array; expected an object of sizes");
  EXPECT_EQ(message("{"), "[dimensions] not JSON at byte 2; expected one complete document");
  EXPECT_FALSE(read_dimensions("/nowhere/d.json"));
}

TEST(DimensionsFile, reads_every_field_from_json) {
  auto file = read_architecture_text(
      R"({"arch":"full*2","width":48,"heads":4,"kv_heads":2,"head_dim":8,"value_dim":6,"state":5,"mlp":[7,9],
          "activation":"gelu","norm":"rms","position":"binary","vocabulary":11,"outputs":3,"context":100,"causal":false,
          "precision":"8.3","accumulator_bits":20})",
      "d.json", false);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->arch, "full*2");
  Dimensions expected{.width = 48, .heads = 4, .kv_heads = 2, .head_dim = 8, .value_dim = 6, .state = 5};
  expected.mlp = {7, 9};
  expected.mlp_given = true;
  expected.activation = MlpActivation::gelu;
  expected.norm = Norm::rms;
  expected.position = PositionCode::binary;
  expected.vocabulary = 11;
  expected.outputs = 3;
  expected.context = 100;
  expected.causal = false;
  expected.precision = {NumberFormat::fixed, 8, 3};
  expected.accumulator_bits = 20;
  EXPECT_EQ(file->dimensions, expected);
}

TEST(DimensionsFile, reads_toml_or_names_json_instead) {
  const std::string text = "arch = \"rnn\"\nwidth = 8\nmlp = \"none\"\nprecision = 6\n";
  auto file = read_architecture_text(text, "d.toml", true);
  if (!parse_toml("", "", "test")) {
    ASSERT_FALSE(file);
    EXPECT_NE(file.error().message.find("JSON"), std::string::npos);
    return;
  }
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->arch, "rnn");
  EXPECT_EQ(file->dimensions.width, 8);
  EXPECT_TRUE(file->dimensions.mlp.empty());
  EXPECT_EQ(file->dimensions.precision.bits, 6);
  EXPECT_EQ(message("width = = 3", true).find("[dimensions] \"d.toml\" line 1 column"), 0u);
  EXPECT_EQ(message("width = 1979-05-27", true).substr(0, 12), "[dimensions]");
}

TEST(Dimensions, defaults_give_an_mlp_of_four_widths) {
  EXPECT_EQ(mlp_widths({.width = 5}), std::vector<std::int64_t>{20});
  EXPECT_EQ(format_mlp(*parse_mlp("256,128")), "256,128");
  EXPECT_EQ(format_mlp(*parse_mlp("none")), "none");
  for (const char* bad : {"", "0", "-4", "4,", "x", "4,4x", "99999999999999999999"})
    EXPECT_FALSE(parse_mlp(bad)) << bad;
}

TEST(Precision, parses_what_it_prints_and_refuses_the_rest) {
  for (const char* text : {"2", "8", "48", "8.3", "8.8", "bf16", "fp16", "e4m3", "e5m2", "fp32"}) {
    auto precision = parse_precision(text);
    ASSERT_TRUE(precision) << text;
    EXPECT_EQ(format_precision(*precision), text);
  }
  EXPECT_EQ(parse_precision("e4m3")->bits, 8);
  for (const char* bad :
       {"", "1", "49", "8.9", "8.", ".3", "8.-1", "-8", "8.3.1", "floot", "8,3", "999999999999999999999"})
    EXPECT_FALSE(parse_precision(bad)) << bad;
}

TEST(Dtype, knows_names_and_bits) {
  EXPECT_EQ(*parse_dtype("float32"), 32);
  EXPECT_EQ(*parse_dtype("bfloat16"), 16);
  EXPECT_EQ(*parse_dtype("e5m2"), 8);
  EXPECT_EQ(*parse_dtype("20"), 20);
  EXPECT_EQ(*parse_dtype("FP4"), 4);
  EXPECT_EQ(*parse_dtype("torch.bfloat16"), 16);
  EXPECT_EQ(parse_precision("bfloat16")->format, NumberFormat::bf16);
  EXPECT_EQ(parse_precision("torch.float32")->format, NumberFormat::fp32);
  EXPECT_EQ(*parse_precision("int8"), (Precision{NumberFormat::fixed, 8, 0}));
  EXPECT_EQ(parse_precision("fp8")->format, NumberFormat::fp8_e4m3);
  EXPECT_EQ(number_note("fp8"), "fp8 is e4m3; the other 8-bit float is e5m2");
  EXPECT_EQ(number_note("bf16"), "");
  EXPECT_EQ(parse_precision("fp4").error().message,
            "[precision] \"fp4\" is a type of stored numbers alone: nothing is evaluated in it; expected p "
            "or p.f (fixed "
            "point), bf16, fp16, e4m3, e5m2 or fp32, and 4 bits as p = 4");
  for (const NumberFormat format : {NumberFormat::bf16, NumberFormat::fp16, NumberFormat::fp8_e4m3,
                                    NumberFormat::fp8_e5m2, NumberFormat::fp32})
    EXPECT_EQ(parse_precision(format_precision({format, 0, 0}))->format, format);
  for (const char* bad : {"", "0", "65", "-3", "floot32", "12x"}) EXPECT_FALSE(parse_dtype(bad)) << bad;
}

}  // namespace
}  // namespace rung
