// Sweeps from a store: absent, broken, changed, long.
#include "rung/serve/running_sweeps.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "rung/store/store.h"

namespace rung::serve {
namespace {

using nlohmann::json;

class Sweeps : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "rung-sweeps-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name = "runs.jsonl") const { return folder_ + "/" + name; }
  static json document(RunningSweeps& sweeps, const std::string& seen = "") {
    const auto text = sweeps.document(seen);
    EXPECT_TRUE(text) << text.error().message;
    return json::parse(*text);
  }
  // A run with one member whose curve has `points` points.
  static std::string add_run(Store& store, RecordState state, int points) {
    const auto run = store.append(
        Record{.kind = "run", .state = state, .body = R"({"task": "eva", "arch": "full", "steps": 1000})"});
    EXPECT_TRUE(run);
    json curve = json::array();
    for (int k = 1; k <= points; ++k)
      curve.push_back({{"step", 10 * k}, {"stage", 0}, {"loss", 1.0}, {"accuracy", {0.9, k * 0.001}}});
    EXPECT_TRUE(store.append(Record{.kind = "member",
                                    .parent = *run,
                                    .state = state,
                                    .seed = 3,
                                    .body = json{{"member", 0}, {"curve", curve}, {"steps", 1000}}.dump()}));
    return *run;
  }
  std::string folder_;
};

TEST_F(Sweeps, a_store_that_is_not_there_has_none_and_a_broken_one_is_an_error) {
  RunningSweeps none(path());
  EXPECT_EQ(document(none)["runs"], json::array());
  std::ofstream(path()) << "this is no record\nnor this\n";
  const auto broken = none.document("");
  ASSERT_FALSE(broken);
  EXPECT_TRUE(broken.error().message.starts_with("[store]")) << broken.error().message;
}

TEST_F(Sweeps, what_was_seen_is_not_sent_again_until_somebody_writes) {
  for (const std::string& name : {path("runs.jsonl"), path("runs.sqlite")}) {
    auto store = Store::open(name);
    if (!store) continue;  // a build without SQLite
    const std::string run = add_run(**store, RecordState::running, 5);
    RunningSweeps sweeps(name);
    const json first = document(sweeps);
    ASSERT_EQ(first["runs"].size(), 1u);
    EXPECT_EQ(first["runs"][0]["id"], run);
    EXPECT_EQ(document(sweeps, first["version"]),
              (json{{"schema", "rung.live/1"}, {"version", first["version"]}, {"unchanged", true}}));
    EXPECT_EQ(document(sweeps, "other")["runs"], first["runs"]);
    ASSERT_TRUE((*store)->finish(run, RecordState::done));
    const json second = document(sweeps, first["version"]);
    ASSERT_TRUE(second.contains("runs")) << name;
    EXPECT_EQ(second["runs"][0]["state"], "done");
  }
}

TEST_F(Sweeps, long_curves_are_thinned_and_keep_their_end_and_the_lowest_task_counts) {
  auto store = Store::open(path());
  ASSERT_TRUE(store);
  add_run(**store, RecordState::running, 500);
  RunningSweeps sweeps(path());
  const json member = document(sweeps)["runs"][0]["members"][0];
  EXPECT_LE(member["curve"].size(), 65u);
  EXPECT_GE(member["curve"].size(), 32u);
  EXPECT_EQ(member["curve"].back(), json::parse("[5000, 0.5]"));
  EXPECT_EQ(member["step"], 5000);
  EXPECT_EQ(member["accuracy"], 0.5);
  EXPECT_EQ(member["seed"], 3);
}

TEST_F(Sweeps, all_that_run_and_the_latest_that_do_not) {
  auto store = Store::open(path());
  ASSERT_TRUE(store);
  add_run(**store, RecordState::running, 1);
  for (int k = 0; k < 20; ++k) add_run(**store, RecordState::done, 1);
  RunningSweeps sweeps(path());
  const json runs = document(sweeps)["runs"];
  EXPECT_EQ(runs.size(), 9u);
  EXPECT_EQ(
      std::count_if(runs.begin(), runs.end(), [](const json& run) { return run["state"] == "running"; }), 1);
}

}  // namespace
}  // namespace rung::serve
