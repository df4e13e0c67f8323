// An experiment of seconds from its file to its verdicts: labels first, records once, and on after a stop.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "rung/base/json_text.h"
#include "rung/lab/laboratory.h"
#include "rung/lab/results.h"
#include "rung/lab/state_capacity.h"
#include "rung/theory/ceiling.h"

namespace rung::lab {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder()
      : path_(fs::temp_directory_path() /
              ("rung-lab-" + std::to_string(::getpid()) + "-" + std::to_string(next_++))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
  static inline int next_ = 0;
};

Experiment tiny(std::int64_t seeds = 2) {
  const auto read = parse_experiment(R"json({
    "name": "tiny", "tests": "Everything at once.",
    "small": {"base": {"arch": "full", "dimensions": {"width": 16, "norm": "none"}, "tasks": {"name": "eva", "size": {"n": 4}}, "steps": 20, "batch": 4, "warmup": 2, "rates": [0.001, 0.01],
                       "evaluate_every": 10, "evaluate_count": 16, "final_count": 50, "checkpoint_every": 10, "device": "cpu"},
              "configurations": [{"id": "written", "construction": {"name": "eva", "size": {"n": 4}}},
                                 {"id": "full"},
                                 {"id": "small-state", "arch": "linear(dim=1)", "tasks": {"name": "eva", "size": {"n": 64}}},
                                 {"id": "rounded", "arch": "linear(dim=1)", "tasks": {"name": "eva", "size": {"n": 16}}, "round_bits": 4}]},
    "predictions": [{"id": "no-error", "statement": "a", "kind": "reaches", "accuracy": 1, "scope": "theorem", "configurations": ["written"]},
                    {"id": "ceiling", "statement": "b", "kind": "stays-below", "scope": "theorem", "configurations": ["small-state", "rounded"]},
                    {"id": "full", "statement": "c", "kind": "reaches", "accuracy": 0.999, "scope": "theorem", "configurations": ["full"]}]})json",
                                     "tiny", "small", seeds);
  RUNG_REQUIRE(read.ok(), "{}", read.error().message);
  return *read;
}

TEST(laboratory, runs_from_labels_to_verdicts_and_writes_records_once) {
  Folder folder;
  auto store = Store::open(folder / "runs.jsonl");
  ASSERT_TRUE(store.ok());
  LabOptions options{.folder = folder / "run", .store = store->get(), .workers = 2};
  const auto result = run_experiment(tiny(), options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_FALSE(result->stopped);
  ASSERT_EQ(result->outcomes.size(), 4u);
  EXPECT_EQ(result->outcomes[0].label.letter, LabelClass::K);
  EXPECT_EQ(result->outcomes[1].label.letter, LabelClass::K) << result->outcomes[1].label.reason;
  EXPECT_EQ(result->outcomes[2].label.letter, LabelClass::C) << result->outcomes[2].label.reason;
  EXPECT_LT(result->outcomes[2].label.ceiling, 1);
  EXPECT_EQ(result->outcomes[3].label.letter, LabelClass::C) << result->outcomes[3].label.reason;
  EXPECT_EQ(result->outcomes[2].scores.size(), 2u);
  ASSERT_TRUE(result->outcomes[2].capacity);
  EXPECT_EQ(result->outcomes[2].capacity->elements, 2);  // one value and its normaliser
  EXPECT_EQ(result->findings[0].decision, Decision::held) << result->findings[0].reason;
  EXPECT_EQ(result->findings[1].decision, Decision::held) << result->findings[1].reason;
  EXPECT_EQ(result->findings[2].decision, Decision::undecided) << result->findings[2].reason;

  const auto count = [&](const char* kind) {
    Filter filter;
    filter.kind = kind;
    return (*store)->query(filter)->size();
  };
  EXPECT_EQ(count("verdict"), 3u);
  EXPECT_EQ(count("member"), 3u * 4u);
  EXPECT_EQ(count("run"), 4u);
  EXPECT_EQ(count("evaluation"), 1u);

  // The file that is kept: the verdicts, the curves, and where they come from.
  std::ifstream file(folder / "run/results.json");
  const auto kept = nlohmann::json::parse(file);
  EXPECT_EQ(kept.at("schema"), "rung.results/2");
  EXPECT_EQ(kept.at("lab"), nlohmann::json(lab_json(lab_document(tiny(), *result))));
  EXPECT_EQ(kept.at("lab").at("configurations").at(1).at("arch"), "full");
  EXPECT_EQ(kept.at("lab").at("configurations").at(2).at("size").at("n"), 64);
  EXPECT_EQ(kept.at("lab").at("configurations").at(0).at("precision").at("proved"),
            result->outcomes[0].precision->used);
  ASSERT_EQ(kept.at("curves").size(), 3u * 4u);
  int chosen = 0;
  for (const auto& curve : kept.at("curves")) {
    ASSERT_EQ(curve.at("curve").size(), 2u);
    EXPECT_EQ(curve.at("curve").at(1).at(0), 20);
    chosen += curve.at("chosen").get<bool>() ? 1 : 0;
  }
  EXPECT_EQ(chosen, 3 * 2) << "one learning rate for each seed";
  EXPECT_FALSE(kept.at("provenance").at("version").get<std::string>().empty());

  // Once more: nothing is run, nothing is written twice, the same verdicts.
  EXPECT_FALSE(run_experiment(tiny(), options).ok());
  options.resume = true;
  EXPECT_FALSE(run_experiment(tiny(3), options).ok());
  const auto again = run_experiment(tiny(), options);
  ASSERT_TRUE(again.ok()) << again.error().message;
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(outcome_text(again->outcomes[i]), outcome_text(result->outcomes[i]));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(again->findings[i].reason, result->findings[i].reason);
  EXPECT_EQ(count("verdict"), 3u);
  EXPECT_EQ(count("member"), 12u);
  EXPECT_EQ(count("run"), 4u);
}

// A search that does not fit is an error of its configuration; one that does has a point for each number of bits.
TEST(laboratory, runs_the_line_of_an_attack_that_a_file_chooses) {
  const auto experiment = [](const char* line) {
    return *parse_experiment(
        fmt::format(R"({{"name": "line", "tests": "A line.", "small": {{"configurations": [
          {{"id": "search", "attack": {{"method": "hierarchical", "seconds": 20, "line": {{{}}}}}}}]}},
          "predictions": [{{"id": "p", "statement": "Flat.", "kind": "slope", "scope": "empirical", "configurations": ["search"],
                            "low": -1, "high": 0.2}}]}})",
                    line),
        "here", "small", 0);
  };
  Folder folder;
  const auto short_prompt =
      run_experiment(experiment(R"("mixer": "mamba2", "layers": 2, "n": 8, "bits": [8, 12, 16])"),
                     {.folder = folder / "short", .workers = 2});
  EXPECT_FALSE(short_prompt.ok() && short_prompt->outcomes[0].trouble.empty());
  const auto result =
      run_experiment(experiment(R"("mixer": "mamba2", "layers": 2, "n": 1024, "bits": [8, 12, 16])"),
                     {.folder = folder / "line", .workers = 2});
  ASSERT_TRUE(result.ok()) << result.error().message;
  const auto& costs = result->outcomes[0].costs;
  ASSERT_EQ(costs.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(costs[i].layers, 2);
    EXPECT_EQ(costs[i].bits, static_cast<std::int64_t>(8 + 4 * i));
    EXPECT_TRUE(costs[i].found);
  }
  EXPECT_EQ(result->findings[0].decision, Decision::held) << result->findings[0].reason;
}

TEST(laboratory, goes_on_after_a_stop_to_the_same_scores) {
  Folder folder;
  const auto whole = run_experiment(tiny(), {.folder = folder / "whole", .workers = 2});
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  std::atomic<int> asked = 0;
  LabOptions options{.folder = folder / "stopped", .workers = 1, .stop = [&] { return ++asked > 120; }};
  const auto part = run_experiment(tiny(), options);
  ASSERT_TRUE(part.ok()) << part.error().message;
  ASSERT_TRUE(part->stopped);
  EXPECT_FALSE(fs::exists(folder / "stopped/verdicts.json"));
  EXPECT_TRUE(part->outcomes.back().scores.empty());
  options.stop = {};
  options.resume = true;
  const auto rest = run_experiment(tiny(), options);
  ASSERT_TRUE(rest.ok()) << rest.error().message;
  EXPECT_FALSE(rest->stopped);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(rest->outcomes[i].scores, whole->outcomes[i].scores) << rest->outcomes[i].id;
}

TEST(laboratory, runs_the_configurations_that_are_named_and_leaves_the_others) {
  Folder folder;
  const auto whole = run_experiment(tiny(), {.folder = folder / "whole", .workers = 2});
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  LabOptions options{.folder = folder / "part", .only = {"wri*", "rounded"}, .workers = 2};
  const auto part = run_experiment(tiny(), options);
  ASSERT_TRUE(part.ok()) << part.error().message;
  EXPECT_FALSE(part->stopped);
  EXPECT_EQ(part->left, 2u);
  EXPECT_FALSE(fs::exists(folder / "part/verdicts.json"));
  EXPECT_EQ(part->outcomes[3].scores, whole->outcomes[3].scores);
  EXPECT_TRUE(part->outcomes[1].scores.empty() && part->outcomes[2].scores.empty());
  options.only = {};
  options.resume = true;
  const auto rest = run_experiment(tiny(), options);
  ASSERT_TRUE(rest.ok()) << rest.error().message;
  EXPECT_EQ(rest->left, 0u);
  EXPECT_TRUE(fs::exists(folder / "part/verdicts.json"));
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(rest->outcomes[i].scores, whole->outcomes[i].scores) << rest->outcomes[i].id;
  options.only = {"mystery"};
  const auto refused = run_experiment(tiny(), options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "[lab] tiny of size small has no configuration \"mystery\"");
}

TEST(laboratory, leaves_nothing_behind_for_a_configuration_that_cannot_be_made) {
  Folder folder;
  Experiment broken = tiny();
  std::get<TrainingPlan>(broken.configurations[2].what).arch = "fool";
  EXPECT_FALSE(run_experiment(broken, {.folder = folder / "run"}).ok());
  EXPECT_FALSE(fs::exists(folder / "run"));
}

TEST(state_capacity, inverts_the_ceiling) {
  for (const std::int64_t n : {4, 8, 31, 64, 100})
    for (const std::int64_t bits : {1, 7, 20, 64, 150}) {
      const double limit = static_cast<double>(n) * std::log2(static_cast<double>(n));
      for (const bool one_level : {false, true}) {
        const double ceiling =
            one_level ? log_linear_ceiling(n, n, Integer(bits)).average : accuracy_ceiling(n, Integer(bits));
        const double kept = kept_bits(n, n, ceiling, one_level);
        if (ceiling < 1)
          EXPECT_NEAR(kept, static_cast<double>(bits), one_level ? 1.01 : 0.05) << n << " " << bits;
        EXPECT_LE(kept, limit + 1.01);
      }
    }
  for (const bool one_level : {false, true}) {
    EXPECT_EQ(kept_bits(16, 16, 0, one_level), 0);
    EXPECT_EQ(kept_bits(16, 16, 1.0 / 16, one_level), 0);
    EXPECT_NEAR(kept_bits(16, 16, 1, one_level), 64, 0.01);
    for (double a = 0.1; a < 0.95; a += 0.1)
      EXPECT_LE(kept_bits(16, 16, a, one_level), kept_bits(16, 16, a + 0.05, one_level));
  }
}

TEST(state_capacity, is_a_bound_over_the_seeds_and_nothing_at_chance) {
  for (const bool one_level : {false, true}) {
    StateCapacity capacity{.n = 16, .alphabet = 16, .elements = 8, .one_level = one_level};
    const auto kept = [&](std::vector<std::uint64_t> right) {
      std::vector<SeedScore> scores;
      for (const std::uint64_t each : right) scores.push_back({.right = each, .of = 1000});
      measure_capacity(capacity, scores);
      return capacity.kept_bits;
    };
    EXPECT_EQ(kept({66, 61, 70}), 0) << "above chance, 62.5, by no more than chance";
    EXPECT_GT(capacity.mean_bits, one_level ? -1 : 0);
    kept({490, 500, 510});
    EXPECT_LT(capacity.kept_bits, capacity.mean_bits);
    EXPECT_GT(capacity.kept_bits, 10);
    EXPECT_DOUBLE_EQ(capacity.kept_bits, kept_bits(16, 16, capacity.accuracy_bound, one_level));
    EXPECT_LT(kept({1000, 1000, 1000}), 64) << "a sample without an error is no proof";
    EXPECT_GT(capacity.kept_bits, 62);
  }
}

// The shipped figures are what their own scores give.
TEST(state_capacity, of_the_shipped_results_follows_from_their_scores) {
  int seen = 0;
  for (const char* size : {"gpu", "small"}) {
    const std::string path = std::string(RUNG_SOURCE_DIR) + "/results/capacity-" + size + ".json";
    const auto text = read_text_file(path, "test");
    ASSERT_TRUE(text.ok());
    const auto results = parse_results(*text, path);
    ASSERT_TRUE(results.ok() && results->has_value());
    for (const Outcome& outcome : (*results)->lab.configurations) {
      if (!outcome.capacity) continue;
      StateCapacity again = *outcome.capacity;
      measure_capacity(again, outcome.scores);
      EXPECT_NEAR(again.kept_bits, outcome.capacity->kept_bits, 1e-6) << outcome.id;
      EXPECT_NEAR(again.mean_bits, outcome.capacity->mean_bits, 1e-6) << outcome.id;
      EXPECT_NEAR(again.accuracy_bound, outcome.capacity->accuracy_bound, 1e-9) << outcome.id;
      ++seen;
    }
  }
  EXPECT_GT(seen, 20);
}

}  // namespace
}  // namespace rung::lab
