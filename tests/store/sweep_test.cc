// Sweeps drawn from records: seeds are one point, and nothing else is ever put together.
#include "rung/store/sweep.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace rung {
namespace {

Record sweep_record(nlohmann::json body, std::int64_t seed = 0, std::string kind = "member") {
  Record record;
  record.kind = std::move(kind);
  record.seed = seed;
  record.body = body.dump();
  return record;
}

nlohmann::json sweep_body(const std::string& arch, int n, double accuracy) {
  return {
      {"task", "eva"}, {"arch", arch}, {"size", {{"n", n}}}, {"variant", "uniform"}, {"accuracy", accuracy}};
}

TEST(sweep, records_of_another_option_are_never_in_a_point) {
  std::vector<Record> records;
  for (const char* order : {"hard", "easy"})
    for (const int n : {8, 16}) {
      auto body = sweep_body("full", n, order[0] == 'h' ? 0.25 : 1);
      body["options"] = {{"order", order}};
      records.push_back(sweep_record(body));
    }
  const auto refused = sweep_figure(records, {.x = "size.n", .series = std::vector<std::string>{"arch"}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("options.order"), std::string::npos) << refused.error().message;
  const auto figure = sweep_figure(records, {});
  ASSERT_TRUE(figure);
  EXPECT_EQ(figure->x, "size.n");
  EXPECT_EQ(figure->series, std::vector<std::string>{"options.order"});
  ASSERT_EQ(figure->panels.front().lines.size(), 2U);
  for (const SweepLine& line : figure->panels.front().lines)
    for (const SweepPoint& point : line.points) EXPECT_EQ(point.low, point.high);
  const auto panels = sweep_figure(records, {.panel = "options.order"});
  ASSERT_TRUE(panels);
  EXPECT_EQ(panels->panels.size(), 2U);
  // The same inside a plan's list of tasks.
  for (Record& record : records) {
    auto body = nlohmann::json::parse(record.body);
    body["tasks"] = {{{"name", "eva"}, {"size", body["size"]}, {"options", body["options"]}}};
    body.erase("options");
    record.body = body.dump();
  }
  EXPECT_EQ(sweep_figure(records, {})->series, std::vector<std::string>{"options.order"});
}

TEST(sweep, variants_kinds_and_architectures_are_lines_of_their_own) {
  auto zipf = sweep_body("full", 8, 0.5);
  zipf["variant"] = "zipf";
  const std::vector<Record> records = {sweep_record(sweep_body("full", 8, 1)), sweep_record(zipf),
                                       sweep_record(sweep_body("full", 16, 1)),
                                       sweep_record(sweep_body("linear", 8, 0.75)),
                                       sweep_record(sweep_body("full", 8, 0.125), 0, "evaluation")};
  const auto figure = sweep_figure(records, {});
  ASSERT_TRUE(figure);
  EXPECT_EQ(figure->panels.front().lines.size(), 4U);
  for (const SweepLine& line : figure->panels.front().lines)
    for (const SweepPoint& point : line.points) EXPECT_EQ(point.count, 1U);
}

TEST(sweep, seeds_are_one_point_with_their_spread) {
  std::vector<Record> records;
  for (std::int64_t seed = 0; seed < 4; ++seed) {
    auto body = sweep_body("linear", 8, 0.25 * static_cast<double>(seed + 1));
    body["rate"] = 0.001 * static_cast<double>(seed + 1);
    body["ceiling"] = 0.9;
    body["label"] = seed == 3 ? "G" : "C";
    records.push_back(sweep_record(body, seed));
  }
  records.push_back(sweep_record(sweep_body("linear", 32, 0.5)));
  const auto figure = sweep_figure(records, {});
  ASSERT_TRUE(figure);
  ASSERT_EQ(figure->panels.size(), 1U);
  ASSERT_EQ(figure->panels.front().lines.size(), 1U);
  const auto& points = figure->panels.front().lines.front().points;
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].count, 4U);
  EXPECT_EQ(points[0].mean, 0.625);
  EXPECT_EQ(points[0].low, 0.25);
  EXPECT_EQ(points[0].high, 1);
  EXPECT_EQ(points[0].ceiling, 0.9);
  EXPECT_EQ(points[0].label, "");  // they differ
  EXPECT_EQ(points[1].ceiling, std::nullopt);
  // Against what varies within a setting.
  records.pop_back();
  const auto rates = sweep_figure(records, {.x = "rate"});
  ASSERT_TRUE(rates);
  EXPECT_EQ(rates->panels.front().lines.front().points.size(), 4U);
}

TEST(sweep, a_width_bits_and_layers_can_be_x) {
  std::vector<Record> records;
  for (const int width : {16, 64}) {
    auto body = sweep_body("full", 8, 0.5);
    body["dimensions"] = {{"width", width}};
    body["round_bits"] = width / 4;
    records.push_back(sweep_record(body));
  }
  EXPECT_FALSE(sweep_figure(records, {.x = "dimensions.width", .series = std::vector<std::string>{}}));
  const auto width =
      sweep_figure(records, {.x = "dimensions.width", .series = std::vector<std::string>{"round_bits"}});
  ASSERT_TRUE(width);
  EXPECT_EQ(width->panels.front().lines.size(), 2U);
  const std::vector<Record> deep = {
      sweep_record(sweep_body("full*2", 8, 0.5)), sweep_record(sweep_body("full*4", 8, 1)),
      sweep_record(sweep_body("linear*2", 8, 0.1)), sweep_record(sweep_body("linear*4", 8, 0.2))};
  const auto layers = sweep_figure(deep, {.x = "layers"});
  ASSERT_TRUE(layers);
  EXPECT_EQ(layers->series, std::vector<std::string>{"mixers"});
  ASSERT_EQ(layers->panels.front().lines.size(), 2U);
  EXPECT_EQ(layers->panels.front().lines[0].points.size(), 2U);
  // Two architectures of one depth and one kind of layers are not put together.
  const std::vector<Record> same = {sweep_record(sweep_body("full+linear*2", 8, 0.5)),
                                    sweep_record(sweep_body("full*2+linear", 8, 1))};
  const auto apart = sweep_figure(same, {.x = "layers"});
  ASSERT_TRUE(apart);
  EXPECT_EQ(apart->panels.front().lines.size(), 2U);
}

TEST(sweep, names_that_only_repeat_the_size_make_no_lines) {
  std::vector<Record> records;
  for (const int n : {8, 16, 32}) {
    auto body = sweep_body("linear", n, 0.5);
    body["configuration"] = "linear-" + std::to_string(n);
    records.push_back(sweep_record(body));
  }
  EXPECT_EQ(sweep_figure(records, {})->panels.front().lines.size(), 1U);
  auto other = sweep_body("linear", 8, 0.75);
  other["configuration"] = "another";
  records.push_back(sweep_record(other));
  const auto figure = sweep_figure(records, {});
  EXPECT_EQ(figure->series, std::vector<std::string>{"configuration"});
  for (const SweepLine& line : figure->panels.front().lines)
    for (const SweepPoint& point : line.points) EXPECT_EQ(point.count, 1U);
}

TEST(sweep, what_no_record_has_is_refused_with_the_nearest_name) {
  const std::vector<Record> records = {sweep_record(sweep_body("full", 8, 1)),
                                       sweep_record(sweep_body("full", 16, 1))};
  const auto message = [&](const SweepQuestion& question) {
    const auto figure = sweep_figure(records, question);
    return figure ? std::string() : figure.error().message;
  };
  EXPECT_NE(message({.y = "accurracy"}).find("accuracy"), std::string::npos);
  EXPECT_NE(message({.x = "sise.n"}).find("size.n"), std::string::npos);
  EXPECT_NE(message({.x = "arch"}), "");
  EXPECT_NE(message({.panel = "options.order"}), "");
  EXPECT_NE(message({.series = std::vector<std::string>{"nothing"}}), "");
  EXPECT_FALSE(sweep_figure({}, {}));
  EXPECT_FALSE(sweep_figure({records.front()}, {}));  // nothing differs
  EXPECT_TRUE(sweep_figure({records.front()}, {.x = "size.n"}));
}

TEST(sweep, fields_that_only_some_have_differ) {
  const std::vector<SweepFields> fields = {
      record_fields(sweep_record(sweep_body("full", 8, 1))).asked,
      record_fields(sweep_record({{"arch", "full"}, {"accuracy", 1}})).asked};
  EXPECT_EQ(differing_fields(fields), (std::vector<std::string>{"size.n", "task", "variant"}));
}

}  // namespace
}  // namespace rung
