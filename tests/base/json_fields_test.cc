// One description of a struct writes and reads it.
#include "rung/base/json_fields.h"

#include <gtest/gtest.h>

namespace rung {

enum class Colour { red, green };
template <>
inline constexpr auto kWords<Colour> = std::to_array<std::string_view>({"red", "green"});

namespace {

struct Leaf {
  int number = 7;
  std::optional<std::string> text;
};
template <class Fields>
void describe(Fields& field, Leaf& leaf) {
  field("number", leaf.number);
  field.some("text", leaf.text);
}

struct Tree {
  std::string name;
  Colour colour = Colour::red;
  std::vector<Leaf> leaves;
  std::map<std::string, double> weights;
  std::vector<std::pair<std::int64_t, bool>> pairs;
};
template <class Fields>
void describe(Fields& field, Tree& tree) {
  field.need("name", tree.name);
  field("colour", tree.colour);
  field("leaves", tree.leaves);
  field("weights", tree.weights);
  field("pairs", tree.pairs);
}

TEST(json_fields, come_back_as_they_were_written) {
  const Tree tree{"oak", Colour::green, {{1, "a"}, {2, {}}}, {{"x", 0.5}}, {{3, true}}};
  const auto json = to_fields(tree);
  EXPECT_EQ(
      json.dump(),
      R"({"name":"oak","colour":"green","leaves":[{"number":1,"text":"a"},{"number":2}],"weights":{"x":0.5},"pairs":[[3,true]]})");
  const auto again = from_fields<Tree>(json, "file");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(to_fields(*again), json);
}

TEST(json_fields, that_are_absent_or_null_keep_their_defaults_and_others_are_ignored) {
  const auto tree =
      from_text<Tree>(R"({"name": "elm", "leaves": [{"number": null}, {}], "more": 1})").value();
  EXPECT_EQ(tree.colour, Colour::red);
  ASSERT_EQ(tree.leaves.size(), 2u);
  EXPECT_EQ(tree.leaves[0].number, 7);
}

TEST(json_fields, of_another_type_are_refused_by_their_place) {
  for (const auto& [text, said] : std::map<std::string, std::string>{
           {R"({})", R"([json]: no field "name")"},
           {R"({"name": 1})", "[json].name: a text expected"},
           {R"({"name": "a", "colour": "blue"})", "[json].colour: one of red, green expected"},
           {R"({"name": "a", "leaves": [{}, {"number": 1.5}]})",
            "[json].leaves[1].number: a whole number expected"},
           {R"({"name": "a", "leaves": [{"number": 9999999999}]})",
            "[json].leaves[0].number: a whole number expected"},
           {R"({"name": "a", "leaves": {}})", "[json].leaves: a list expected"},
           {R"({"name": "a", "weights": {"x": "y"}})", "[json].weights.x: a number expected"},
           {R"({"name": "a", "pairs": [[1]]})", "[json].pairs[0]: a pair expected"},
           {R"([])", "[json]: an object expected"},
           {R"({)", "[json] not JSON at byte 2; expected one complete document"},
           {std::string(100'000, '['), "[json] JSON nested deeper than 64 at byte 65"}}) {
    const auto tree = from_text<Tree>(text);
    ASSERT_FALSE(tree) << text;
    EXPECT_EQ(tree.error().message, said);
  }
}

TEST(words, know_their_names_and_the_nearest) {
  EXPECT_EQ(name_of(Colour::green), "green");
  EXPECT_EQ(find_word<Colour>("red"), Colour::red);
  EXPECT_FALSE(find_word<Colour>("blue"));
  EXPECT_EQ(parse_word<Colour>("gren", "[test] colour").error().message,
            "[test] colour \"gren\"; did you mean \"green\"?");
}

}  // namespace
}  // namespace rung
