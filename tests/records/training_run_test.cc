// What a store keeps of a training, written and read again.
#include "rung/records/training_run.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace rung {
namespace {

// The store merges: what a run adds stands beside the plan's fields.
MemberRecord read_after(const std::string& plan, const MemberRecord& outcome) {
  auto body = nlohmann::json::parse(plan);
  body.update(nlohmann::json::parse(outcome_body(outcome)));
  Record record;
  record.kind = "member";
  record.body = body.dump();
  return member_record(record);
}

TEST(training_run, of_a_plan_that_measures_carried_bits_is_read) {
  const std::string plan = R"({"task": "eva", "rate": 0.01, "carried_bits": true})";
  for (const std::optional<int> bits : {std::optional<int>(), std::optional<int>(3)}) {
    const MemberRecord read = read_after(plan, {.accuracy = 0.5, .carried_bits = bits});
    EXPECT_EQ(read.task, "eva");
    EXPECT_EQ(read.rate, 0.01);
    EXPECT_EQ(read.accuracy, 0.5);
  }
}

TEST(training_run, takes_back_what_a_stopped_run_said_of_itself) {
  const MemberRecord read =
      read_after(R"({"note": "at stage 1 of 3", "reason": "the disk is full"})", {.steps_done = 7});
  EXPECT_EQ(read.note, "");
  EXPECT_EQ(read.reason, "");
  EXPECT_EQ(read.steps_done, 7);
}

TEST(training_run, writes_no_other_empty_fields) {
  EXPECT_EQ(outcome_body({}), R"({"note":"","reason":""})");
}

}  // namespace
}  // namespace rung
