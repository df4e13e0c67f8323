// Valid certificates of every kind are verified. The shipped examples are these very files:
//   rung_check_tests --gtest_also_run_disabled_tests --gtest_filter=*writes_the_examples
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/check/issued.h"
#include "tests/check/verdict_of.h"

namespace rung {
namespace {

TEST(certificate_check, verifies_every_kind_and_label) {
  for (const auto& issued : issued_certificates()) {
    std::string reason;
    EXPECT_EQ(verdict_of(issued.certificate, issued.model, &reason), CheckVerdict::verified) << issued.name << ": " << reason << "\n" << issued.certificate.substr(0, 3000);
  }
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
  auto sealed = document;
  sealed.erase("seal");
  sealed.erase("notes");
  document["seal"] = sha256(sealed.dump());
  return document.dump(1) + "\n";
}

TEST(certificate_check, rejects_every_kind_off_by_one) {
  for (const auto& issued : issued_certificates()) EXPECT_EQ(verdict_of(twin(issued), issued.model), CheckVerdict::rejected) << issued.name;
}

TEST(certificate_check, DISABLED_writes_the_examples) {
  const std::filesystem::path folder = std::filesystem::path(RUNG_SOURCE_DIR) / "tests/certificates";
  std::filesystem::create_directories(folder / "valid");
  std::filesystem::create_directories(folder / "invalid");
  for (const auto& issued : issued_certificates()) {
    std::ofstream(folder / "valid" / (issued.name + ".json")) << issued.certificate;
    if (!issued.model.empty()) std::ofstream(folder / "valid" / (issued.name + ".safetensors"), std::ios::binary) << issued.model;
    std::ofstream(folder / "invalid" / (issued.name + ".rejected.json")) << twin(issued);
    if (issued.name != "eva-wrong-answer") continue;
    auto document = nlohmann::json::parse(issued.certificate);
    document["schema"] = "rung.certificate/2";
    std::ofstream(folder / "invalid" / (issued.name + ".malformed.json")) << document.dump(1) << "\n";
    document = nlohmann::json::parse(issued.certificate);
    document["task"]["size"]["n"] = std::int64_t{1} << 31;
    std::ofstream(folder / "invalid" / (issued.name + ".exhausted.json")) << document.dump(1) << "\n";
  }
}

}  // namespace
}  // namespace rung
