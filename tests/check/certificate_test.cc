// Valid certificates of every kind are verified. The shipped examples are these very files:
//   rung_check_tests --gtest_also_run_disabled_tests --gtest_filter=*writes_the_examples
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/check/forced_cases.h"
#include "tests/check/issued.h"
#include "tests/check/verdict_of.h"

namespace rung {
namespace {

TEST(certificate_check, verifies_every_kind_and_label) {
  for (const auto& issued : issued_certificates()) {
    std::string reason;
    EXPECT_EQ(verdict_of(issued.certificate, issued.model, &reason), CheckVerdict::verified)
        << issued.name << ": " << reason << "\n"
        << issued.certificate.substr(0, 3000);
  }
}

// Chains of thought, encoders, vector answers, several answer positions, every mechanism that a construction
// uses.
TEST(certificate_check, verifies_constructions_of_every_kind) {
  struct Built {
    std::string name;
    TaskSizes sizes;
    std::map<std::string, std::string> options = {};
  };
  for (const auto& [name, sizes, options] :
       std::vector<Built>{{"eva", {{"n", 6}}, {{"by", "loglinear"}}},
                          {"eva", {{"n", 8}}, {{"by", "sparse"}}},
                          {"eva", {{"n", 5}}, {{"by", "linear"}}},
                          {"index", {{"n", 5}, {"sigma", 3}}, {{"by", "cot"}}},
                          {"retrieval", {{"n", 4}, {"D", 3}, {"sigma", 4}}},
                          {"mqar", {{"n", 3}}},
                          {"two-sum", {{"n", 4}, {"M", 9}}},
                          {"two-sum", {{"n", 4}, {"M", 9}}, {{"by", "sparse"}}},
                          {"two-sum-exists", {{"n", 4}, {"M", 9}}},
                          {"seqcomp", {{"L", 2}, {"m", 2}, {"n1", 2}}, {{"cot", "yes"}}},
                          {"seqcomp", {{"L", 2}, {"m", 2}, {"n1", 2}}, {{"encoder", "yes"}}},
                          {"seqcomp", {{"L", 2}, {"m", 2}, {"n1", 2}}, {{"pattern", "RFF"}}},
                          {"sparse-average", {{"n", 4}, {"q", 2}, {"d", 1}, {"f", 2}}},
                          {"equality", {{"n", 3}}},
                          {"disjointness", {{"n", 3}}},
                          {"nearest", {{"n", 4}, {"d", 3}}},
                          {"dyck", {{"n", 6}, {"k", 2}, {"depth", 2}}},
                          {"cgram", {{"n", 6}, {"c", 3}, {"sigma", 3}}},
                          {"counting", {{"n", 5}}}}) {
    const Issued issued = certified_construction(name, sizes, options, false);
    std::string reason;
    EXPECT_EQ(verdict_of(issued.certificate, issued.model, &reason, 1'000'000'000), CheckVerdict::verified)
        << issued.name << ": " << reason;
    auto document = nlohmann::json::parse(issued.certificate);
    document["claim"]["instances"] = document["claim"]["instances"].get<int>() + 1;
    EXPECT_EQ(verdict_of(document.dump(), issued.model, nullptr, 1'000'000'000), CheckVerdict::rejected)
        << issued.name;
  }
}

std::string sealed(nlohmann::json document) {
  auto rest = document;
  rest.erase("seal");
  rest.erase("notes");
  document["seal"] = sha256(rest.dump());
  return document.dump(1) + "\n";
}

TEST(certificate_check, counts_an_instance_that_comes_often_once) {
  const Issued issued = certified_construction("eva", {{"n", 3}}, {}, false);
  auto document = nlohmann::json::parse(issued.certificate);
  const auto prompt = document["claim"]["checked"].back()["prompts"][0];
  const auto task = make_task("eva", {{"n", 3}});
  ASSERT_TRUE(task);
  const Prompt tokens{4, {prompt["token"].get<std::vector<std::int64_t>>()}};
  const std::string line = instance_line(tokens, (*task)->answer(tokens));
  const auto listing =
      nlohmann::json{{"mode", "listed"}, {"prompts", std::vector<nlohmann::json>(1000, prompt)}};
  document["claim"]["checked"] = {listing, listing};
  std::string often, reason;
  for (int i = 0; i < 2000; ++i) often += line;
  document["claim"]["instances"] = 2000;
  document["claim"]["digest"] = sha256(often);
  EXPECT_EQ(verdict_of(sealed(document), issued.model, &reason), CheckVerdict::rejected);
  EXPECT_NE(reason.find("there are 1 different ones"), std::string::npos) << reason;
  document["claim"]["instances"] = 1;
  EXPECT_EQ(verdict_of(sealed(document), issued.model), CheckVerdict::rejected);  // the digest is of one, too
  document["claim"]["digest"] = sha256(line);
  EXPECT_EQ(verdict_of(sealed(document), issued.model, &reason), CheckVerdict::verified) << reason;
}

// A claim that is off by one, properly sealed.
std::string twin(const Issued& issued) {
  auto document = nlohmann::json::parse(issued.certificate);
  for (const char* member : {"activation", "answer", "instances", "digest"}) {
    if (!document["claim"].contains(member)) continue;
    auto& value = document["claim"][member];
    if (value.is_array()) value[0] = value[0].get<std::int64_t>() + 1;
    if (value.is_number()) value = value.get<std::int64_t>() + 1;
    if (value.is_string()) value = sha256(value.get<std::string>());
    break;
  }
  return sealed(document);
}

TEST(certificate_check, rejects_every_kind_off_by_one) {
  for (const auto& issued : issued_certificates())
    EXPECT_EQ(verdict_of(twin(issued), issued.model), CheckVerdict::rejected) << issued.name;
}

TEST(certificate_check, DISABLED_writes_the_examples) {
  const std::filesystem::path folder = std::filesystem::path(RUNG_SOURCE_DIR) / "tests/certificates";
  std::filesystem::create_directories(folder / "valid");
  std::filesystem::create_directories(folder / "invalid");
  for (const auto& issued : issued_certificates()) {
    std::ofstream(folder / "valid" / (issued.name + ".json")) << issued.certificate;
    if (!issued.model.empty())
      std::ofstream(folder / "valid" / (issued.name + ".safetensors"), std::ios::binary) << issued.model;
    std::ofstream(folder / "invalid" / (issued.name + ".rejected.json")) << twin(issued);
    if (issued.name != "eva-wrong-answer") continue;
    auto document = nlohmann::json::parse(issued.certificate);
    document["schema"] = "rung.certificate/2";
    std::ofstream(folder / "invalid" / (issued.name + ".malformed.json")) << document.dump(1) << "\n";
    document = nlohmann::json::parse(issued.certificate);
    document["task"]["size"]["n"] = std::int64_t{1} << 31;
    std::ofstream(folder / "invalid" / (issued.name + ".exhausted.json")) << document.dump(1) << "\n";
  }
  for (const auto& [certifies, below] : forced_cases()) {  // one step below where the count reaches
    std::ofstream(folder / "valid" / (certifies.name + ".json")) << certifies.certificate;
    std::ofstream(folder / "valid" / (certifies.name + ".safetensors"), std::ios::binary) << certifies.model;
    std::ofstream(folder / "invalid" / (certifies.name + ".rejected.json")) << twin(certifies);
    std::ofstream(folder / "invalid" / (below.name + ".rejected.json")) << below.certificate;
    std::ofstream(folder / "invalid" / (below.name + ".rejected.safetensors"), std::ios::binary)
        << below.model;
  }
}

}  // namespace
}  // namespace rung
