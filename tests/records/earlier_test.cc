// Files that rung 0.1.0 wrote (tests/cases/earlier, and the shipped results): they are read, with the words of today.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "rung/base/json_text.h"
#include "rung/records/earlier_words.h"
#include "rung/records/experiment_results.h"
#include "rung/records/hierarchy_document.h"
#include "rung/records/training_plan.h"
#include "rung/records/training_run.h"
#include "rung/spec/mixers.h"
#include "rung/spec/weights.h"

namespace rung {
namespace {

const std::string kEarlier = RUNG_SOURCE_DIR "/tests/cases/earlier/";

std::string text_of(const std::string& path) { return read_text_file(path, "test").value(); }

// A line of a document, and how it is read: as what it meant, with forms that are plain unless it says released, which
// no version up to 0.2 left out.
void expect_the_plain_form(const std::string& earlier, const std::string& now) {
  const auto meant = parse_stack(earlier, UnsaidForm::plain), read = parse_stack(now);
  ASSERT_EQ(meant.ok(), read.ok()) << earlier << " " << now;
  if (!meant) return;
  EXPECT_EQ(*read, *meant) << now;
  if (earlier.find("form=released") != std::string::npos) return;
  for (const Mixer& mixer : read->layers) EXPECT_FALSE(is_released(mixer)) << now;
}

TEST(earlier_weights, hold_plain_forms) {
  int files = 0, gated = 0;
  for (const char* folder : {"/tests/certificates", "/tests/cases/models"})
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(RUNG_SOURCE_DIR + std::string(folder))) {
      if (entry.path().extension() != ".safetensors") continue;
      auto tensors = read_safetensors(entry.path().string());
      if (!tensors || tensors->metadata["format"] != kFirstWeightsFormat) continue;
      const std::string line = tensors->metadata["architecture"];
      const auto weights = weights_from_tensors(std::move(*tensors), entry.path().string());
      if (!weights) continue;  // one of the files that have to be refused
      ++files;
      gated += line.find("delta") != std::string::npos || line.find("mamba2") != std::string::npos ||
               line.find("sparse") != std::string::npos;
      expect_the_plain_form(line, format_stack(weights->architecture.stack));
      const auto layers = resolve(weights->architecture);
      ASSERT_TRUE(layers) << layers.error().message;
      EXPECT_EQ(first_released(*layers), nullptr) << entry.path();
      // Written again, the line says so.
      const auto again = tensors_from_weights(*weights);
      EXPECT_EQ(again.metadata.at("format"), kWeightsFormat);
      EXPECT_EQ(parse_stack(again.metadata.at("architecture"), UnsaidForm::refused).value(),
                weights->architecture.stack);
    }
  EXPECT_GT(files, 60);
  EXPECT_GT(gated, 8);
}

TEST(earlier_plans, are_plain_where_they_say_no_form) {
  const std::string rest = R"("tasks": [{"name": "eva", "size": {"n": 8}}]})";
  const auto arch = [&](const std::string& beginning) {
    const auto plan = parse_plan(beginning + rest, "plan");
    return plan ? plan->arch : plan.error().message;
  };
  EXPECT_EQ(arch(R"({"schema": "rung.plan/1", "arch": "delta*2+full", )"), "delta(form=plain)*2+full");
  EXPECT_EQ(arch(R"({"arch": "delta*2+full", )"), "delta(form=released)*2+full");
  EXPECT_EQ(arch(R"({"arch": "plain(delta*2)+full", )"), "plain(delta*2)+full");  // says it
  // A checkpoint or member of 0.2 is one of the same plan.
  const std::string now =
      plan_text(parse_plan(R"({"arch": "delta(form=plain)+full", )" + rest, "plan").value());
  std::string then = now;
  const std::string said = "(form=plain)";
  then.erase(then.find(said), said.size());
  EXPECT_EQ(translate_plan(then), now);
  // What rung writes is read as what it was, by this version and by 0.2.
  TrainingPlan plan = parse_plan(R"({"arch": "gdelta", )" + rest, "plan").value();
  EXPECT_EQ(parse_plan(plan_text(plan), "again").value().arch, "gdelta(form=released)");
}

TEST(earlier_hierarchy, is_read_with_the_words_of_today) {
  const std::string text = text_of(kEarlier + "hierarchy.json");
  EXPECT_NE(text.find("\"silent\""), std::string::npos);  // else it would test nothing
  EXPECT_NE(text.find("\"VERIFIED\""), std::string::npos);
  const auto document = parse_hierarchy(text, "hierarchy.json");
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->cells.size(), 24u);
  ASSERT_EQ(document->highlights.size(), 2u);
  std::map<Outcome, int> bounds;
  std::map<Evidence, int> built, broken;
  std::map<TrainingState, int> trained;
  for (const HierarchyCell& cell : document->cells) {
    ++bounds[cell.bound.state];
    ++built[cell.construction.state];
    ++broken[cell.certificate.state];
    ++trained[cell.training.state];
    ASSERT_TRUE(cell.bound.status && cell.bound.source) << cell.row;
    EXPECT_FALSE(cell.bound.reference.starts_with("literature")) << cell.bound.reference;
    for (const auto& piece : cell.construction.coordinates) EXPECT_FALSE(piece.content.empty());
    for (const std::string* line : {&cell.bound.arch, &cell.construction.arch, &cell.certificate.arch})
      if (const auto stack = parse_stack(*line); stack)
        for (const Mixer& mixer : stack->layers) EXPECT_FALSE(is_released(mixer)) << *line;
  }
  EXPECT_EQ(bounds, (std::map<Outcome, int>{
                        {Outcome::impossible, 13}, {Outcome::possible, 10}, {Outcome::vacuous, 1}}));
  EXPECT_EQ(built, (std::map<Evidence, int>{{Evidence::verified, 15}, {Evidence::none, 9}}));
  EXPECT_EQ(broken, (std::map<Evidence, int>{{Evidence::verified, 17}, {Evidence::none, 7}}));
  EXPECT_EQ(trained[TrainingState::trained], 8);
  const BoundEvidence& bound = document->cells.front().bound;
  EXPECT_EQ(bound.source, Source::paper);
  EXPECT_EQ(bound.status, Status::proved);
  EXPECT_EQ(document->cells[1].bound.numbers.find("certified_from"), 11);
  EXPECT_EQ(document->cells[1].certificate.label, ClaimLabel::forced);
  EXPECT_EQ(document->cells.front().training.curves.size(), 2u);
  // Written again, no old word is left but in what rung-check said.
  nlohmann::ordered_json again = hierarchy_json(*document);
  for (auto& cell : again["cells"]) cell["certificate"].erase("checker");
  for (auto& highlight : again["highlights"])
    for (auto& cell : highlight["cells"]) cell["certificate"].erase("checker");
  for (const char* word :
       {"silent", "inapplicable", "VERIFIED", "bites", "\"tag\"", "vacuous here", "paper 2602"})
    EXPECT_EQ(again.dump().find(word), std::string::npos) << word;
  const auto twice = parse_hierarchy(hierarchy_json(*document).dump(), "again");
  ASSERT_TRUE(twice) << twice.error().message;
  EXPECT_EQ(nlohmann::json(hierarchy_json(*twice)), nlohmann::json(hierarchy_json(*document)));
}

TEST(earlier_hierarchy, says_open_where_a_hypothesis_failed_and_refuted_where_the_checker_rejected) {
  const auto cell_of = [](const char* bound, const char* certificate) {
    return parse_hierarchy(
               fmt::format(R"({{"schema": "rung.hierarchy/1", "cells": [{{"row": "a", "column": "b",
        "bound": {}, "certificate": {}}}]}})",
                           bound, certificate),
               "x")
        .value()
        .cells.front();
  };
  const char* fails =
      R"({"state": "silent", "tag": "", "source": "", "hypotheses": [{"text": "x", "holds": false}]})";
  const HierarchyCell first = cell_of(fails, R"({"state": "unverified", "checker": {"exit": 1}})");
  EXPECT_EQ(first.bound.state, Outcome::open);
  EXPECT_FALSE(first.bound.status || first.bound.source);
  EXPECT_EQ(first.certificate.state, Evidence::refuted);
  const HierarchyCell second =
      cell_of(R"({"state": "inapplicable"})", R"({"state": "unverified", "checker": null})");
  EXPECT_EQ(second.bound.state, Outcome::open);
  EXPECT_EQ(second.certificate.state, Evidence::unverified);
}

TEST(hierarchy_document, refuses_other_schemas_and_shapes_by_their_place) {
  for (
      const auto& [text, said] : std::map<std::string, std::string>{
          {R"({"schema": "rung.hierarchy/9"})", "schema \"rung.hierarchy/9\""},
          {R"({"schema": "rung.hierarchy/2", "cells": [{"row": "a", "column": "b", "bound": {"state": "silent"}}]})",
           "file.cells[0].bound.state: one of impossible, possible, vacuous, open expected"},
          {R"({"schema": "rung.hierarchy/2", "cells": [{"row": "a"}]})",
           "file.cells[0]: no field \"column\""},
          {R"({"schema": "rung.hierarchy/2", "cells": 7})", "file.cells: a list expected"},
          {R"({"schema": "rung.hierarchy/2", "cells": [7]})", "file.cells[0]: an object expected"},
          {R"([1])", "expected a JSON object"},
          {R"({"schema")", "file"}}) {
    const auto document = parse_hierarchy(text, "file");
    ASSERT_FALSE(document) << text;
    EXPECT_NE(document.error().message.find(said), std::string::npos) << document.error().message;
    EXPECT_EQ(document.error().message.find('\n'), std::string::npos);
  }
}

TEST(earlier_results, are_read_with_the_words_of_today) {
  const auto attack = parse_results(text_of(kEarlier + "attack-small.json"), "attack").value().value();
  for (const ConfigurationOutcome& outcome : attack.lab.configurations) {
    EXPECT_EQ(outcome.origin, Origin::attack);
    EXPECT_TRUE(outcome_json(outcome).at("label").is_null());
    EXPECT_FALSE(outcome.costs.empty());
  }
  const std::string text = text_of(kEarlier + "order-small.json");
  EXPECT_NE(text.find("vacuous here"), std::string::npos);
  const auto order = parse_results(text, "order").value().value();
  EXPECT_EQ(results_json(order).dump().find("vacuous here"), std::string::npos);
  EXPECT_NE(results_json(order).dump().find("vacuous ("), std::string::npos);
}

// All that the program ships, whatever version wrote it: nothing is lost on the way through the structs.
TEST(shipped_results, come_back_as_they_were) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(RUNG_SOURCE_DIR "/results")) {
    if (entry.path().extension() != ".json") continue;
    const std::string text = text_of(entry.path().string());
    const auto results = parse_results(text, entry.path().string());
    ASSERT_TRUE(results) << results.error().message;
    if (!*results) continue;
    ++files;
    nlohmann::json before = nlohmann::json::parse(text), after = nlohmann::json(results_json(**results));
    const auto& now = (*results)->lab.configurations;
    for (std::size_t i = 0; i < now.size(); ++i)
      expect_the_plain_form(before.at("lab").at("configurations").at(i).at("arch"), now[i].subject.arch);
    for (nlohmann::json* document : {&before, &after}) {
      document->erase("schema");
      document->at("lab").erase("schema");
      for (auto& configuration : document->at("lab").at("configurations"))
        for (const char* field : {"label", "label_reason", "arch"}) configuration.erase(field);
    }
    EXPECT_EQ(nlohmann::json::diff(before, after).dump(), "[]") << entry.path();
  }
  EXPECT_GT(files, 30);
}

TEST(earlier_store, has_searches_with_the_words_of_today) {
  for (const char* name : {"runs.jsonl", "runs.sqlite"}) {
    const std::string copy = std::string(RUNG_BINARY_DIR) + "/earlier-" + name;
    std::filesystem::copy_file(kEarlier + name, copy, std::filesystem::copy_options::overwrite_existing);
    auto store = Store::open(copy, Store::Access::read);
    if (!store && store.error().code == ErrorCode::unsupported) continue;  // a build without SQLite
    ASSERT_TRUE(store) << store.error().message;
    std::multiset<std::string> verdicts;
    const auto records = (*store)->query({});
    ASSERT_TRUE(records);
    for (const Record& record : *records) verdicts.insert(nlohmann::json::parse(record.body).at("verdict"));
    EXPECT_EQ(verdicts, std::string(name) == "runs.jsonl"
                            ? (std::multiset<std::string>{"refuted", "unverified", "verified"})
                            : (std::multiset<std::string>{"verified"}));
  }
}

}  // namespace
}  // namespace rung
