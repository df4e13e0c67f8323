// A model that solves its task is never broken: every method that applies, against every construction in
// every form.
#include "tests/adversary/targets.h"
#include "tests/constructions/forms.h"

namespace rung {
namespace {

class every_construction : public testing::TestWithParam<Form> {};

TEST_P(every_construction, withstands_every_method_that_applies) {
  constexpr std::size_t kSizes = 2;  // the smallest, and one above
  constexpr double kSeconds = 0.03;  // a method
  for (std::size_t i = 0; i < std::min(kSizes, GetParam().lines.size()); ++i) {
    const std::string& line = GetParam().lines[i];
    auto built = build_construction(request_of_line(line));
    ASSERT_TRUE(built) << line;
    auto target = make_target(std::move(built->weights), built->task);
    ASSERT_TRUE(target) << line << ": " << target.error().message;
    for (const auto& method : attack_methods()) {
      if (!method.fitness(*target).applies) continue;
      const auto outcome = method.run(*target, {.seconds = kSeconds});
      ASSERT_TRUE(outcome) << line << " " << method.name << ": " << outcome.error().message;
      EXPECT_NE(outcome->verdict, Evidence::refuted) << line << " " << method.name;
      EXPECT_FALSE(outcome->certificate) << line << " " << method.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, every_construction, testing::ValuesIn(forms()),
                         [](const auto& info) { return info.param.name; });

// The same construction with one weight changed is caught, so the test above could fail.
TEST(soundness, a_construction_with_a_damaged_table_is_caught) {
  auto built = build_construction({.name = "eva", .sizes = {{"n", 8}}});
  ASSERT_TRUE(built);
  auto& table = built->weights.tensors.at("layers.0.v.weight");
  table = integer_tensor(table.shape, std::vector<std::int64_t>(static_cast<std::size_t>(table.size()), 0));
  auto target = make_target(std::move(built->weights), built->task);
  ASSERT_TRUE(target);
  const auto outcome = attack(*target, "flip", {.seconds = 10});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->verdict, Evidence::refuted);
}

}  // namespace
}  // namespace rung
