#include "rung/store/body_reader.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "rung/base/random.h"

namespace rung {
namespace {

// What the JSON library says: an object, and not too deep.
bool library_says(const std::string& text) {
  if (text.empty() || text[0] != '{' || !nlohmann::json::accept(text)) return false;
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (in_string && text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      in_string = !in_string;
    else if (!in_string && (text[i] == '{' || text[i] == '['))
      deepest = std::max(deepest, ++depth);
    else if (!in_string && (text[i] == '}' || text[i] == ']'))
      --depth;
  }
  return deepest <= kMaxBodyDepth;
}

TEST(body_reader, refuses_what_is_no_body) {
  for (const char* text : {"",
                           "[]",
                           "1",
                           "{",
                           "{}}",
                           "{} {}",
                           " {}",
                           "{,}",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{\"a\":01}",
                           "{\"a\":-}",
                           "{\"a\":1.}",
                           "{\"a\":.5}",
                           "{\"a\":1e}",
                           "{\"a\":+1}",
                           "{\"a\":NaN}",
                           "{\"a\":1e999}",
                           "{\"a\":tru}",
                           "{\"a\":\"\n\"}",
                           "{\"a\":\"\\x\"}",
                           "{\"a\":\"\\u12\"}",
                           "{\"a\":\"\\ud800\"}",
                           "{\"a\":\"\\udc00\"}",
                           "{\"a\":\"\\ud800\\u0041\"}",
                           "{\"a\":\"\xff\"}",
                           "{\"a\":\"\xc0\x80\"}",
                           "{\"a\":\"\xed\xa0\x80\"}",
                           "{\"a\":\"\xf4\x90\x80\x80\"}",
                           "{\"a\":\"\xe2\x82\"}",
                           "{\"a\":[1,]}",
                           "{\"a\":[1 2]}"}) {
    EXPECT_FALSE(is_sound_body(text)) << text;
    EXPECT_FALSE(library_says(text)) << text;
  }
}

TEST(body_reader, agrees_with_the_library_on_texts_with_changed_bytes) {
  const std::string seeds[] = {
      R"({"a":[1,-2.5e+3,{"b":"x\n\u00e9\ud83d\ude00"}],"c":{"d":null,"e":[true,false,[]]},"f":{}})",
      "{\"é\":\"\xf0\x9f\x98\x80 \xe2\x82\xac\", \"n\" : [ 0 , -0.0 , 1E5, 12345678901234567890123 ] }"};
  const std::string signs = "{}[]\",:\\/u0123456789eE+-.tfn \n\xc3\xa9\xed\xf4\x80";
  Random random(1);
  int sound = 0;
  for (int trial = 0; trial < 100000; ++trial) {
    std::string text = seeds[trial % 2];
    for (std::uint64_t changes = 1 + random.below(3); changes > 0; --changes) {
      const std::size_t place = 1 + random.below(text.size() - 1);
      const char sign = signs[random.below(signs.size())];
      switch (random.below(3)) {
        case 0:
          text[place] = sign;
          break;
        case 1:
          text.insert(place, 1, sign);
          break;
        default:
          text.erase(place, 1);
      }
    }
    ASSERT_EQ(is_sound_body(text), library_says(text)) << text;
    sound += library_says(text);
  }
  EXPECT_GT(sound, 1000);
}

TEST(body_reader, stops_at_the_depth_that_a_line_can_hold) {
  const auto nested = [](int depth) {
    return "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  EXPECT_TRUE(is_sound_body(nested(kMaxBodyDepth)));
  EXPECT_FALSE(is_sound_body(nested(kMaxBodyDepth + 1)));
  EXPECT_FALSE(is_sound_body("{\"a\":" + std::string(1000000, '[')));
}

TEST(body_reader, finds_fields_by_their_paths_only) {
  const std::string body =
      R"({"n":1,"size":{"m":2,"n":3.5,"deep":{"n":4}},"list":[{"n":5}],"word":"a\tb","w\u006frd2":"x","twice":1,"twice":"last","null":null})";
  const auto field = [&](std::string_view path) { return read_fields(body, std::span(&path, 1)).front(); };
  EXPECT_EQ(field("n").number, 1);
  EXPECT_TRUE(field("n").is_integer);
  EXPECT_EQ(field("size.n").number, 3.5);
  EXPECT_FALSE(field("size.n").is_integer);
  EXPECT_EQ(field("size.deep.n").number, 4);
  EXPECT_EQ(field("word").word, "a\tb");
  EXPECT_EQ(field("word2").word, "x");
  EXPECT_EQ(field("twice").word, "last");
  for (const char* path :
       {"size", "list", "list.n", "m", "deep.n", "null", "", "size.", ".n", "n.n", "size.n.n", "nothing"})
    EXPECT_EQ(field(path).kind, BodyField::Kind::absent) << path;
  const std::string_view several[] = {"size.m", "word", "nothing"};
  const auto fields = read_fields(body, several);
  ASSERT_EQ(fields.size(), 3u);
  EXPECT_EQ(fields[0].number, 2);
  EXPECT_EQ(fields[1].word, "a\tb");
}

}  // namespace
}  // namespace rung
