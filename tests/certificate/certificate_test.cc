#include "rung/certificate/certificate.h"

#include <gtest/gtest.h>

#include <fstream>

namespace rung {
namespace {

TEST(certificate, hashes_as_the_standard_says) {
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(certificate, hashes_a_file_as_its_bytes) {
  const std::string path = testing::TempDir() + "/hashed";
  const std::string bytes(3'000'001, 'x');
  std::ofstream(path) << bytes;
  EXPECT_EQ(*file_sha256(path), sha256(bytes));
  EXPECT_FALSE(file_sha256(path + ".absent"));
}

TEST(certificate, writes_every_member_in_the_order_of_the_format_page) {
  Certificate certificate{
      .model_sha256 = sha256("model"),
      .task = {"eva", {{"n", 2}}, {}, {"token"}},
      .claim = WrongAnswerClaim{.prompt = {3, {{1, 0, 1}}}, .position = 2, .answer = {1}, .expected = {0}},
      .notes = {{"method", "wrong-answer"}}};
  const std::string sealed =
      R"({"claim":{"answer":[1],"expected":[0],"position":2,"prompt":{"token":[1,0,1]}},"kind":"wrong-answer",)"
      R"("model":{"sha256":")" +
      sha256("model") +
      R"("},"schema":"rung.certificate/1",)"
      R"("task":{"name":"eva","options":{},"size":{"n":2}}})";
  EXPECT_EQ(certificate_text(certificate), R"({
  "schema": "rung.certificate/1",
  "kind": "wrong-answer",
  "model": {
    "sha256": ")" + sha256("model") + R"("
  },
  "task": {
    "name": "eva",
    "size": {
      "n": 2
    },
    "options": {}
  },
  "claim": {
    "prompt": {
      "token": [1,0,1]
    },
    "position": 2,
    "answer": [1],
    "expected": [0]
  },
  "seal": ")" + sha256(sealed) + R"(",
  "notes": {
    "method": "wrong-answer"
  }
}
)");
}

TEST(certificate, writes_instances_as_the_format_page_says) {
  EXPECT_EQ(instance_line({5, {{3, 1, 0, 2, 1}}}, {1}), "3 1 0 2 1 -> 1\n");
  InstanceList instances;
  EXPECT_TRUE(instances.add({2, {{0, 1}}}, {1}));
  EXPECT_TRUE(instances.add({2, {{1, 1}}}, {0}));
  EXPECT_FALSE(instances.add({2, {{0, 1}}}, {1}));  // counts once, and stands in the digest once
  EXPECT_EQ(instances.count(), 2u);
  EXPECT_EQ(instances.digest(), sha256("0 1 -> 1\n1 1 -> 0\n"));
}

}  // namespace
}  // namespace rung
