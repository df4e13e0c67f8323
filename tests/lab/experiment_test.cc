// Experiments as files: what is refused, in one line; and that the program carries what experiments/ says.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "rung/base/toml_text.h"
#include "rung/lab/laboratory.h"
#include "rung/spec/architecture.h"

namespace rung::lab {
namespace {

using nlohmann::json;

json good() {
  return json::parse(R"({
    "name": "mine", "tests": "Something.",
    "small": {"seeds": 2, "base": {"arch": "full", "dimensions": {"width": 16}, "tasks": {"name": "eva", "size": {"n": 4}}, "steps": 7},
              "configurations": [{"id": "one"}, {"id": "two", "arch": "linear", "dimensions": {"heads": 2}},
                                 {"id": "three", "construction": {"name": "eva", "size": {"n": 4}, "options": {"by": "linear"}, "below": 1}},
                                 {"id": "four", "attack": {"method": "hierarchical", "seconds": 2}}]},
    "predictions": [{"id": "p", "statement": "It works.", "kind": "reaches", "accuracy": 0.9, "scope": "theorem", "configurations": ["o*"]}]})");
}

TEST(experiment, reads_configurations_over_their_base) {
  const auto read = parse_experiment(good().dump(), "here", "small", 0);
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->configurations.size(), 4u);
  EXPECT_EQ(read->size, "small");
  const auto& one = std::get<TrainingPlan>(read->configurations[0].what);
  const auto& two = std::get<TrainingPlan>(read->configurations[1].what);
  EXPECT_EQ(one.arch, "full");
  EXPECT_EQ(two.arch, "linear");
  EXPECT_EQ(two.dimensions.width, 16);
  EXPECT_EQ(two.dimensions.heads, 2);
  EXPECT_EQ(one.steps, 7);
  EXPECT_EQ(one.seeds, (std::vector<std::uint64_t>{1, 2}));
  const auto& three = std::get<WrittenModel>(read->configurations[2].what);
  EXPECT_EQ(three.below, 1);
  EXPECT_EQ(three.request.options.at("by"), "linear");
  EXPECT_EQ(std::get<AttackSeries>(read->configurations[3].what).seconds, 2);
  const auto more = parse_experiment(good().dump(), "here", "small", 5);
  ASSERT_TRUE(more.ok());
  EXPECT_EQ(std::get<TrainingPlan>(more->configurations[0].what).seeds.size(), 5u);
  EXPECT_NE(more->document, read->document);
}

TEST(experiment, reads_lines_of_an_attack_and_what_a_prediction_explains) {
  json document = good();
  document["small"]["configurations"][3]["attack"]["line"] = {
      {"mixer", "mamba2"}, {"layers", 3}, {"n", 4096}, {"bits", {32, 36}}};
  document["predictions"][0]["explains"] = {"attack/half-a-bit", "mine/p"};
  const auto read = parse_experiment(document.dump(), "here", "small", 0);
  ASSERT_TRUE(read.ok()) << read.error().message;
  const auto& series = std::get<AttackSeries>(read->configurations[3].what);
  ASSERT_TRUE(series.line.has_value());
  EXPECT_EQ(series.line->layers, 3);
  EXPECT_EQ(series.line->bits, (std::vector<std::int64_t>{32, 36}));
  EXPECT_EQ(read->predictions[0].explains, (std::vector<std::string>{"attack/half-a-bit", "mine/p"}));
}

TEST(experiment, refuses_bad_files_in_one_line) {
  const std::vector<std::pair<const char*, const char*>> changes = {
      {R"([{"op":"add","path":"/smal","value":{}}])", "small"},
      {R"([{"op":"remove","path":"/name"}])", "name"},
      {R"([{"op":"replace","path":"/name","value":"../x"}])", "name"},
      {R"([{"op":"remove","path":"/predictions"}])", "predictions"},
      {R"([{"op":"replace","path":"/predictions","value":[]}])", "predictions"},
      {R"([{"op":"replace","path":"/predictions/0/kind","value":"reache"}])", "reaches"},
      {R"([{"op":"replace","path":"/predictions/0/scope","value":"proved"}])", "theorem"},
      {R"([{"op":"replace","path":"/predictions/0/kind","value":"ordered"}])", "empirical"},
      {R"([{"op":"add","path":"/predictions/0/than","value":["two"]}])", "ordered"},
      {R"([{"op":"remove","path":"/predictions/0/accuracy"}])", "accuracy"},
      {R"([{"op":"replace","path":"/predictions/0/accuracy","value":1.5}])", "1.5"},
      {R"([{"op":"add","path":"/predictions/0/margn","value":1}])", "margin"},
      {R"([{"op":"replace","path":"/small/seeds","value":0}])", "seeds"},
      {R"([{"op":"replace","path":"/small/seeds","value":1152921504606846976}])", "seeds"},
      {R"([{"op":"replace","path":"/small/seeds","value":"two"}])", "seeds"},
      {R"([{"op":"replace","path":"/small/base","value":3}])", "base"},
      {R"([{"op":"replace","path":"/small/configurations","value":[]}])", "configurations"},
      {R"([{"op":"replace","path":"/small/configurations/0/id","value":"a/b"}])", "id"},
      {R"([{"op":"replace","path":"/small/configurations/0/id","value":"two"}])", "two configurations"},
      {R"([{"op":"add","path":"/small/configurations/0/stps","value":4}])", "steps"},
      {R"([{"op":"add","path":"/small/configurations/0/steps","value":-4}])", "steps"},
      {R"([{"op":"add","path":"/small/configurations/0/seeds","value":[1]}])", "seeds"},
      {R"([{"op":"add","path":"/small/configurations/2/arch","value":"full"}])", "construction"},
      {R"([{"op":"add","path":"/small/configurations/2/construction/siz","value":{}}])", "size"},
      {R"([{"op":"replace","path":"/small/configurations/2/construction/below","value":-1}])", "below"},
      {R"([{"op":"replace","path":"/small/configurations/3/attack/seconds","value":"long"}])", "seconds"},
      {R"([{"op":"add","path":"/small/configurations/3/attack/line","value":{"mixer":"mamba","bits":[8]}}])",
       "mamba2"},
      {R"([{"op":"add","path":"/small/configurations/3/attack/line","value":{"mixer":"mamba2"}}])", "bits"},
      {R"([{"op":"add","path":"/small/configurations/3/attack/line","value":{"mixer":"mamba2","bits":[8,10]}}])",
       "4"},
      {R"([{"op":"add","path":"/small/configurations/3/attack/line","value":{"mixer":"mamba2","bits":[12,8]}}])",
       "ascending"},
      {R"([{"op":"add","path":"/small/configurations/3/attack/line","value":{"mixer":"mamba2","bits":[8],"layer":2}}])",
       "layers"},
      {R"([{"op":"add","path":"/predictions/0/room","value":"heads"}])", "answers"},
      {R"([{"op":"add","path":"/predictions/0/explains","value":"attack/half-a-bit"}])", "explains"},
      {R"([{"op":"add","path":"/predictions/0/explains","value":["attack/half-a-bid"]}])",
       "attack/half-a-bit"},
  };
  for (const auto& [change, word] : changes) {
    const auto read = parse_experiment(good().patch(json::parse(change)).dump(), "here", "small", 0);
    ASSERT_FALSE(read.ok()) << change;
    EXPECT_NE(read.error().message.find(word), std::string::npos) << change << ": " << read.error().message;
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
    EXPECT_EQ(read.error().message.front(), '[');
  }
  EXPECT_FALSE(parse_experiment("{", "here", "small", 0).ok());
  EXPECT_FALSE(parse_experiment("[]", "here", "small", 0).ok());
  EXPECT_FALSE(parse_experiment(good().dump(), "here", "gpu", 0).ok());
  EXPECT_FALSE(parse_experiment(good().dump(), "here", "huge", 0).ok());
  EXPECT_FALSE(parse_experiment(good().dump(), "here", "small", -1).ok());
  EXPECT_FALSE(find_experiment("dept", "small", 0).ok());
  EXPECT_NE(find_experiment("dept", "small", 0).error().message.find("depth"), std::string::npos);
  EXPECT_EQ(find_experiment("xxxxxxxxxxxx", "small", 0).error().message,
            "[lab] no experiment \"xxxxxxxxxxxx\"; `list` names them");
  EXPECT_FALSE(read_experiment("/nowhere/x.toml", "small", 0).ok());
}

TEST(experiment, carries_what_the_files_say) {
  if (!parse_toml("", "", "test")) GTEST_SKIP() << "no TOML here";
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(RUNG_SOURCE_DIR "/experiments"))
    files += entry.path().extension() == ".toml";
  EXPECT_EQ(files, experiment_words().size());
  for (const ExperimentWord& word : experiment_words())
    for (const char* size : {"small", "gpu"}) {
      const auto own = find_experiment(word.name, size, 0);
      const auto file = read_experiment(RUNG_SOURCE_DIR "/experiments/" + word.name + ".toml", size, 0);
      ASSERT_EQ(own.ok(), file.ok()) << word.name << " " << size << ": run experiments/embed.py";
      if (own) EXPECT_EQ(own->document, file->document) << word.name << ": run experiments/embed.py";
    }
}

// At every size that it declares.
TEST(experiment, names_configurations_in_every_prediction) {
  for (const ExperimentWord& word : experiment_words())
    for (const std::string& size : word.sizes) {
      const auto experiment = find_experiment(word.name, size, 0);
      ASSERT_TRUE(experiment.ok()) << experiment.error().message;
      for (const Prediction& prediction : experiment->predictions)
        for (const auto& list : {prediction.configurations, prediction.than, prediction.given}) {
          bool any = list.empty();
          for (const std::string& pattern : list)
            for (const Configuration& configuration : experiment->configurations)
              any = any || matches(pattern, configuration.id);
          EXPECT_TRUE(any) << word.name << " " << size << " " << prediction.id;
        }
    }
}

// What is shipped belongs to the experiments as they stand, and their outcomes give the verdicts that it
// states.
TEST(experiment, decides_the_shipped_results_as_they_say) {
  std::ifstream readme(RUNG_SOURCE_DIR "/results/README.md");
  const std::string page((std::istreambuf_iterator<char>(readme)), {});
  for (const ExperimentWord& word : experiment_words())
    for (const std::string& size : word.sizes) {
      const std::string name = word.name + "-" + size;
      std::ifstream file(RUNG_SOURCE_DIR "/results/" + name + ".json");
      if (!file) {  // predictions are written before the run that decides them, and the page says which
        EXPECT_NE(page.find(fmt::format("`{}` at size {} has no results", word.name, size)),
                  std::string::npos)
            << name;
        continue;
      }
      json lab = json::parse(file).at("lab");
      const auto experiment = find_experiment(word.name, size, 0);
      ASSERT_TRUE(experiment.ok()) << experiment.error().message;
      const bool stopped = lab.at("stopped").get<bool>();
      EXPECT_EQ(stopped, page.find(fmt::format("`{}` at size {} was stopped with", word.name, size)) !=
                             std::string::npos)
          << name;
      ASSERT_EQ(lab.at("configurations").size(), experiment->configurations.size()) << name;
      std::vector<Outcome> outcomes;
      for (std::size_t i = 0; i < experiment->configurations.size(); ++i) {
        json& row = lab.at("configurations").at(i);
        row["curves"] = json::array();  // they stand apart in that form
        auto outcome = parse_outcome(row.dump(), name);
        ASSERT_TRUE(outcome.ok()) << outcome.error().message;
        const Configuration& configuration = experiment->configurations[i];
        EXPECT_EQ(outcome->id, configuration.id) << name;
        if (const auto* plan = std::get_if<TrainingPlan>(&configuration.what)) {
          EXPECT_EQ(parse_stack(outcome->subject.arch).value(), parse_stack(plan->arch).value())
              << name << " " << outcome->id;
          EXPECT_EQ(outcome->subject.task, plan->tasks.front().task.name) << name << " " << outcome->id;
          EXPECT_EQ(outcome->subject.size, plan->tasks.front().task.sizes) << name << " " << outcome->id;
          if (!stopped || !outcome->scores.empty())
            EXPECT_EQ(outcome->scores.size(), plan->seeds.size()) << name << " " << outcome->id;
        }
        outcomes.push_back(std::move(*outcome));
      }
      ASSERT_EQ(lab.at("verdicts").size(), experiment->predictions.size()) << name;
      for (std::size_t i = 0; i < experiment->predictions.size(); ++i) {
        const Finding finding = judge(experiment->predictions[i], outcomes);
        EXPECT_EQ(lab.at("verdicts").at(i).at("id"), experiment->predictions[i].id) << name;
        EXPECT_EQ(lab.at("verdicts").at(i).at("verdict"), decision_name(finding.decision)) << name;
        EXPECT_EQ(lab.at("verdicts").at(i).at("reason"), finding.reason) << name;
      }
    }
}

}  // namespace
}  // namespace rung::lab
