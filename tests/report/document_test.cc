// The report's document: what is there is gathered, what is absent is named, what cannot be read is refused.
#include "rung/report/document.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "rung/report/horizons.h"
#include "rung/report/opening.h"
#include "rung/report/page.h"
#include "rung/report/report_file.h"
#include "rung/store/store.h"

namespace rung::report {
namespace {

namespace fs = std::filesystem;

const std::string kCases = std::string(RUNG_SOURCE_DIR) + "/tests/cases/report";

// A folder of one test.
struct Folder {
  Folder()
      : path(fs::temp_directory_path() /
             fs::path("rung-report-" + std::to_string(::getpid()) + "-" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const std::string& name) const { return (path / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name) << text;
  }
  fs::path path;
};

Sources sample() {
  return {.hierarchy = kCases + "/hierarchy", .labs = "", .shipped = {kCases + "/results"}, .store = ""};
}

TEST(document, gathers_the_sample_folders) {
  const auto document = gather(sample()).value();
  EXPECT_EQ(document["schema"], "rung.report/1");
  EXPECT_EQ(document["live"], false);
  EXPECT_EQ(document["hierarchy"]["cells"].size(), 24u);
  EXPECT_EQ(document["hierarchy"]["highlights"].size(), 2u);
  EXPECT_EQ(document["lab"].size(), 3u);
  EXPECT_EQ(document["sweeps"].size(), 1u);
  EXPECT_EQ(document["lab"][0]["origin"], "shipped");
  EXPECT_EQ(document["protocols"].size(), 2u);
  EXPECT_EQ(document["protocols"][0]["kind"], "built");
  EXPECT_TRUE(document["runs"].is_null());
}

TEST(document, draws_the_ceiling_of_every_state_among_the_records) {
  const Folder folder;
  folder.write(
      "a.json",
      R"({"schema": "rung.results/1", "lab": {"experiment": "capacity", "configurations": [{"ceiling_reason": "1024 bits of state"}, {"ceiling_reason": 3}, 4,
      {"ceiling_reason": "1024 bits of state"}, {"ceiling_reason": "-1 bits of state"}, {"ceiling_reason": "99999999999999999999 bits of state"}, {"ceiling_reason": "attention"}]}})");
  folder.write(
      "b.json",
      R"({"schema": "rung.results/1", "lab": {"experiment": "depth", "configurations": [{"ceiling_reason": "7 bits of state"}]}})");
  folder.write("c.json", R"({"schema": "rung.results/1", "lab": 5})");
  const auto ceilings = gather({.shipped = {folder.path.string()}}).value()["ceilings"];
  ASSERT_EQ(ceilings.size(), 1u);
  double before = 1;
  bool seen = false;
  for (const auto& point : ceilings["1024 bits of state"]) {
    EXPECT_LE(point[1].get<double>(), before);
    before = point[1].get<double>();
    if (point[0] == 256) seen = std::abs(before - 0.620) < 0.001;  // the value of docs/counting.md
  }
  EXPECT_TRUE(seen);
}

TEST(document, names_the_theorems_that_it_cites) {
  const auto document = gather(sample()).value();
  ASSERT_TRUE(document["theorems"].contains("one-full-layer-late"));
  EXPECT_EQ(document["theorems"]["one-full-layer-late"]["status"], "checked");
  for (const auto& cell : document["hierarchy"]["cells"])
    if (cell.contains("bound") && !cell["bound"]["theorem"].get<std::string>().empty())
      EXPECT_TRUE(document["theorems"].contains(cell["bound"]["theorem"].get<std::string>()))
          << cell["bound"]["theorem"];
}

TEST(document, leaves_out_what_is_absent_and_says_what_makes_it) {
  const Folder folder;
  const auto document = gather({.hierarchy = folder / "none",
                                .labs = folder / "labs",
                                .shipped = {folder / "nowhere"},
                                .store = folder / "none.sqlite"})
                            .value();
  EXPECT_TRUE(document["hierarchy"].is_null());
  EXPECT_TRUE(document["runs"].is_null());
  EXPECT_TRUE(document["lab"].empty());
  EXPECT_TRUE(document["protocols"].empty());
  ASSERT_EQ(document["absent"].size(), 3u);
  EXPECT_EQ(document["absent"][0]["command"], "rung hierarchy");
  EXPECT_FALSE(fs::exists(folder / "none.sqlite"));  // reading makes no store
}

TEST(document, refuses_a_hierarchy_of_another_schema_by_its_path) {
  const Folder folder;
  folder.write("hierarchy.json", R"({"schema": "rung.hierarchy/9"})");
  const auto document = gather({.hierarchy = folder.path.string()});
  ASSERT_FALSE(document.ok());
  EXPECT_NE(document.error().message.find("hierarchy.json"), std::string::npos) << document.error().message;
  EXPECT_EQ(document.error().message.find('\n'), std::string::npos);
}

TEST(document, refuses_torn_files_in_one_line) {
  const Folder folder;
  for (const char* text : {"", "{", "[1]", "null", "{\"schema\": \"rung.hierarchy/1\"", "\xff\xfe"}) {
    folder.write("hierarchy.json", text);
    const auto document = gather({.hierarchy = folder.path.string()});
    ASSERT_FALSE(document.ok()) << text;
    EXPECT_EQ(document.error().message.find('\n'), std::string::npos);
  }
}

TEST(document, takes_records_of_unexpected_shapes_as_they_are) {
  const Folder folder;
  folder.write(
      "hierarchy.json",
      R"({"schema": "rung.hierarchy/1", "cells": [7, {"training": {"curve": 3}}, {"construction": {"attention": []}}, {"construction": 4}],
                                     "highlights": [null, {"cells": 5}]})");
  folder.write(
      "results/a.json",
      R"({"schema": "rung.results/1", "curves": [1, {"curve": [[1], "x", [0, 0.5], {"step": 3}]}]})");
  folder.write("results/b.json", R"({"schema": "something/1"})");
  folder.write("results/c.txt", "no JSON");
  const auto document = gather({.hierarchy = folder.path.string(), .shipped = {folder / "results"}}).value();
  EXPECT_EQ(document["hierarchy"]["cells"].size(), 4u);
  ASSERT_EQ(document["lab"].size(), 1u);
  EXPECT_EQ(document["lab"][0]["curves"][1]["curve"].dump(), "[[0,0.5]]");
}

TEST(document, shows_own_experiments_beside_shipped_ones) {
  const Folder folder;
  folder.write("labs/depth-small/results.json",
               R"({"schema": "rung.results/1", "lab": {"experiment": "depth"}})");
  folder.write("labs/unfinished/experiment.json", "{}");
  const auto document = gather({.labs = folder / "labs", .shipped = {kCases + "/results"}}).value();
  ASSERT_EQ(document["lab"].size(), 4u);
  EXPECT_EQ(document["lab"][3]["origin"], "own");
  EXPECT_EQ(document["lab"][3]["file"], "results.json");
}

TEST(document, thins_curves_and_leaves_out_attention_that_nobody_can_read) {
  const Folder folder;
  nlohmann::json curve = nlohmann::json::array(), tokens = nlohmann::json::array();
  for (int i = 0; i <= 1000; ++i) curve.push_back({i, i / 1000.0});
  for (int i = 0; i < 200; ++i) tokens.push_back("0");
  const nlohmann::json hierarchy = {
      {"schema", "rung.hierarchy/1"},
      {"cells",
       {{{"training", {{"curve", curve}}},
         {"construction", {{"attention", {{"tokens", tokens}, {"layers", nlohmann::json::array()}}}}}}}}};
  folder.write("hierarchy.json", hierarchy.dump());
  const auto document = gather({.hierarchy = folder.path.string()}).value();
  const auto& cell = document["hierarchy"]["cells"][0];
  EXPECT_LE(cell["training"]["curve"].size(), 32u);
  EXPECT_EQ(cell["training"]["curve"].front().dump(), "[0,0.0]");
  EXPECT_EQ(cell["training"]["curve"].back().dump(), "[1000,1.0]");
  EXPECT_FALSE(cell["construction"].contains("attention"));
}

TEST(document, a_thousand_members_make_a_page_below_five_megabytes) {
  const Folder folder;
  const std::string path = folder / "runs.jsonl";
  {
    auto opened = Store::open(path);
    const auto store = std::move(*opened);
    std::vector<Record> records;
    for (int i = 0; i < 1000; ++i) {
      nlohmann::json curve = nlohmann::json::array();
      for (int step = 0; step <= 60; ++step)
        curve.push_back({{"step", step * 25},
                         {"stage", 0},
                         {"loss", 2.3456789 / (step + 1)},
                         {"accuracy", {0.123456789 * step / 25}}});
      const nlohmann::json body = {{"task", "eva"},
                                   {"arch", "linear(dim=8)"},
                                   {"size", {{"n", 16 << (i % 4)}}},
                                   {"accuracy", 0.987654321},
                                   {"loss", 0.1234},
                                   {"curve", curve},
                                   {"plan", std::string(500, 'x')}};
      records.push_back(
          {.kind = "member", .parent = "run", .state = RecordState::done, .seed = i, .body = body.dump()});
    }
    ASSERT_TRUE(store->append(std::move(records)).ok());
  }
  Sources sources = sample();
  sources.store = path;
  const auto document = gather(sources).value();
  EXPECT_EQ(document["runs"]["total"], 1000);
  ASSERT_EQ(document["runs"]["members"].size(), 1000u);
  EXPECT_EQ(document["runs"]["members"][0]["curve"].size(), 20u);
  EXPECT_FALSE(document["runs"]["members"][0].contains("plan"));
  const auto page = page_with(document.dump(), {});
  if (!page.ok()) GTEST_SKIP() << page.error().message;
  EXPECT_LT(page->size(), std::size_t{5} << 20);
}

TEST(report_file, is_written_whole_into_a_new_folder_and_replaced) {
  const Folder folder;
  const std::string path = folder / "below/report.html";
  if (!kPageShell.missing.empty()) GTEST_SKIP() << kPageShell.missing;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(write_report(sample(), path, true).ok());
    std::ifstream file(path);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    EXPECT_TRUE(text.starts_with("<!doctype html>"));
    EXPECT_TRUE(text.ends_with("</html>\n"));
  }
  EXPECT_FALSE(write_report(sample(), path, false).ok());
  EXPECT_FALSE(
      write_report(sample(), folder / "below/report.html/x.html", true).ok());  // a file is no folder
}

TEST(horizons, are_those_of_the_bounds) {
  const auto models = released_horizons(kReleasedConfigs);
  ASSERT_GT(models.size(), 30u);
  bool seen = false;
  for (const auto& model : models) {
    EXPECT_EQ(model["tasks"].size(), 3u) << model["model"];
    if (model["model"] != "falcon-mamba-7b") continue;
    seen = true;
    EXPECT_EQ(model["tasks"][0]["verdict"], "vacuous here");
    EXPECT_EQ(model["tasks"][0]["horizon"], 12456366);
  }
  EXPECT_TRUE(seen);
}

TEST(horizons, skip_what_is_no_configuration) {
  const EmbeddedConfig files[] = {
      {"broken.json", "{"}, {"x-defaults.json", "{}"}, {"unknown.json", R"({"model_type": "none"})"}};
  EXPECT_TRUE(released_horizons(files).empty());
}

TEST(opening, holds_at_its_size_and_its_rival_is_possible) {
  const auto counts = opening_counts();
  EXPECT_EQ(counts["impossible"]["verdict"], "impossible");
  EXPECT_EQ(counts["impossible"]["status"], "checked");
  EXPECT_GT(counts["impossible"]["left"].get<double>(), counts["impossible"]["right"].get<double>());
  EXPECT_EQ(counts["possible"]["verdict"], "possible");
  // The two sides once more, by the formula that the page shows.
  const auto& p = counts["impossible"]["parameters"];
  const double T = p["T"], x0 = p["x_0"], y = p["y"], part = p["M_part"], s = p["s_after"];
  const double N = counts["size"]["m"].get<double>() * counts["size"]["n1"].get<double>();
  EXPECT_NEAR(counts["impossible"]["left"].get<double>(), T * x0 * y * std::log2(N), 1e-6);
  EXPECT_NEAR(counts["impossible"]["right"].get<double>(), (x0 + y + 1) * part + T * s, 1e-6);
}

TEST(opening, proved_precision_never_falls) {
  const auto rows = proved_precision()["rows"];
  for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_GE(rows[i]["p"], rows[i - 1]["p"]);
  EXPECT_LE(rows.back()["p"], 6);
}

}  // namespace
}  // namespace rung::report
