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

nlohmann::ordered_json gathered(const Sources& sources) {
  const auto document = gather(sources);
  EXPECT_TRUE(document) << document.error().message;
  return document_json(*document);
}

TEST(document, gathers_the_sample_folders) {
  const auto document = gathered(sample());
  EXPECT_EQ(document["schema"], "rung.report/2");
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
      R"({"schema": "rung.results/1", "lab": {"experiment": "capacity", "configurations": [{"id": "a", "ceiling_reason": "1024 bits of state"}, {"id": "b"},
      {"id": "c", "ceiling_reason": "1024 bits of state"}, {"id": "d", "ceiling_reason": "-1 bits of state"}, {"id": "e", "ceiling_reason": "99999999999999999999 bits of state"},
      {"id": "f", "ceiling_reason": "attention"}]}})");
  folder.write(
      "b.json",
      R"({"schema": "rung.results/1", "lab": {"experiment": "depth", "configurations": [{"id": "a", "ceiling_reason": "7 bits of state"}]}})");
  const auto ceilings = gathered({.shipped = {folder.path.string()}})["ceilings"];
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

TEST(document, draws_the_jump_of_a_log_linear_ceiling_where_it_is) {
  const Folder folder;
  folder.write(
      "a.json",
      R"({"schema": "rung.results/1", "lab": {"experiment": "capacity", "configurations": [{"id": "a", "ceiling_reason": "256 bits a level of log-linear state"}]}})");
  const auto curve =
      gathered({.shipped = {folder.path.string()}})["ceilings"]["256 bits a level of log-linear state"];
  std::int64_t before = 0;
  double at_511 = 0, at_512 = 0;
  for (const auto& point : curve) {
    EXPECT_GT(point[0].get<std::int64_t>(), before);
    before = point[0];
    if (before == 511) at_511 = point[1];
    if (before == 512) at_512 = point[1];
  }
  EXPECT_GT(at_511, 2 * at_512);  // nine levels, then one
  EXPECT_GT(at_512, 0);
}

TEST(document, names_the_theorems_that_it_cites) {
  const auto document = gathered(sample());
  ASSERT_TRUE(document["theorems"].contains("one-full-layer-late"));
  EXPECT_EQ(document["theorems"]["one-full-layer-late"]["status"], "checked");
  for (const auto& cell : document["hierarchy"]["cells"])
    if (cell.contains("bound") && !cell["bound"]["theorem"].get<std::string>().empty())
      EXPECT_TRUE(document["theorems"].contains(cell["bound"]["theorem"].get<std::string>()))
          << cell["bound"]["theorem"];
}

TEST(document, leaves_out_what_is_absent_and_says_what_makes_it) {
  const Folder folder;
  const auto document = gathered({.hierarchy = folder / "none",
                                  .labs = folder / "labs",
                                  .shipped = {folder / "nowhere"},
                                  .store = folder / "none.sqlite"});
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

TEST(document, refuses_records_of_another_shape_by_their_place) {
  for (
      const auto& [file, text, said] : std::vector<std::array<std::string, 3>>{
          {"hierarchy.json", R"({"schema": "rung.hierarchy/1", "cells": [7]})",
           "hierarchy.json.cells[0]: an object expected"},
          {"hierarchy.json",
           R"({"schema": "rung.hierarchy/2", "cells": [{"row": "a", "column": "b", "training": {"state": "trained", "curves": 3}}]})",
           "hierarchy.json.cells[0].training.curves: a list expected"},
          {"results/a.json", R"({"schema": "rung.results/1", "lab": 5})", "a.json.lab: an object expected"},
          {"results/a.json", R"({"schema": "rung.results/2", "lab": {"configurations": [{"id": 3}]}})",
           "a.json.lab.configurations[0].id: a text expected"}}) {
    const Folder folder;
    folder.write(file, text);
    const auto document = gather({.hierarchy = folder.path.string(), .shipped = {folder / "results"}});
    ASSERT_FALSE(document) << text;
    EXPECT_NE(document.error().message.find(said), std::string::npos) << document.error().message;
    EXPECT_EQ(document.error().message.find('\n'), std::string::npos);
  }
}

TEST(document, passes_over_files_that_are_no_results) {
  const Folder folder;
  folder.write(
      "results/a.json",
      R"({"schema": "rung.results/2", "lab": {"experiment": "depth", "configurations": [{"id": "x"}]},
      "curves": [{"configuration": "x", "curve": [[0, 0.51234567]]}, {"configuration": "of no configuration"}]})");
  folder.write("results/b.json", R"({"schema": "something/1"})");
  folder.write("results/c.txt", "no JSON");
  const auto document = gathered({.shipped = {folder / "results"}});
  ASSERT_EQ(document["lab"].size(), 1u);
  ASSERT_EQ(document["lab"][0]["curves"].size(), 1u);
  EXPECT_EQ(document["lab"][0]["curves"][0]["curve"].dump(), "[[0,0.5123]]");
}

TEST(document, tells_the_words_and_what_they_mean) {
  const auto words = gathered(sample())["words"];
  std::vector<std::string> bounds;
  for (const auto& [word, meaning] : words["bound"].items()) {
    bounds.push_back(word);
    EXPECT_FALSE(meaning.get<std::string>().empty());
  }
  EXPECT_EQ(bounds, (std::vector<std::string>{"impossible", "possible", "vacuous", "open"}));
  EXPECT_EQ(words["evidence"].size(), 4u);
  EXPECT_EQ(words["prediction"].size(), 3u);
  EXPECT_EQ(words["label"].size(), 3u);
}

TEST(document, shows_own_experiments_beside_shipped_ones) {
  const Folder folder;
  folder.write("labs/depth-small/results.json",
               R"({"schema": "rung.results/1", "lab": {"experiment": "depth"}})");
  folder.write("labs/unfinished/experiment.json", "{}");
  const auto document = gathered({.labs = folder / "labs", .shipped = {kCases + "/results"}});
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
       {{{"row", "a"},
         {"column", "b"},
         {"training", {{"state", "trained"}, {"curve", curve}}},
         {"construction",
          {{"state", "verified"},
           {"attention", {{"tokens", tokens}, {"layers", nlohmann::json::array()}}}}}}}}};
  folder.write("hierarchy.json", hierarchy.dump());
  const auto document = gathered({.hierarchy = folder.path.string()});
  const auto& cell = document["hierarchy"]["cells"][0];
  ASSERT_EQ(cell["training"]["curves"].size(), 1u);
  EXPECT_LE(cell["training"]["curves"][0].size(), 32u);
  EXPECT_EQ(cell["training"]["curves"][0].front().dump(), "[0,0.0]");
  EXPECT_EQ(cell["training"]["curves"][0].back().dump(), "[1000,1.0]");
  EXPECT_TRUE(cell["construction"]["attention"].is_null());
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
  const auto document = gathered(sources);
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
  for (const ModelHorizons& model : models) {
    EXPECT_EQ(model.tasks.size(), 3u) << model.model;
    if (model.model != "falcon-mamba-7b") continue;
    seen = true;
    EXPECT_EQ(model.tasks[0].verdict, Outcome::vacuous);
    EXPECT_EQ(model.tasks[0].horizon, 12456366);
  }
  EXPECT_TRUE(seen);
}

TEST(horizons, skip_what_is_no_configuration) {
  const EmbeddedConfig files[] = {
      {"broken.json", "{"}, {"x-defaults.json", "{}"}, {"unknown.json", R"({"model_type": "none"})"}};
  EXPECT_TRUE(released_horizons(files).empty());
}

TEST(opening, holds_at_its_size_and_its_rival_is_possible) {
  const Opening opening = opening_counts();
  const Verdict& impossible = opening.impossible.verdict;
  EXPECT_EQ(impossible.outcome, Outcome::impossible);
  EXPECT_EQ(impossible.status, Status::checked);
  EXPECT_GT(*impossible.left, *impossible.right);
  EXPECT_EQ(opening.possible.verdict.outcome, Outcome::possible);
  EXPECT_EQ(
      opening.command,
      "rung bound 'full+linear*100' --width 2 --precision 4 --task seqcomp --L 2 --m 60 --n1 32 --explain");
  // The two sides once more, by the formula that the page shows.
  const auto number = [&](const char* name) { return impossible.parameters[name].number().value(); };
  const double T = number("T"), x0 = number("x_0"), y = number("y");
  const double N = static_cast<double>(opening.size.at("m").value * opening.size.at("n1").value);
  EXPECT_NEAR(*impossible.left, T * x0 * y * std::log2(N), 1e-6);
  EXPECT_NEAR(*impossible.right, (x0 + y + 1) * number("M_part") + T * number("s_after"), 1e-6);
}

TEST(opening, proved_precision_never_falls) {
  const auto rows = proved_precision();
  for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_GE(rows[i].p, rows[i - 1].p);
  EXPECT_LE(rows.back().p, 6);
}

}  // namespace
}  // namespace rung::report
