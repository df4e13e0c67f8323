// Plans of training as text: what is written is read again, and what is no plan is refused in one line.
#include "rung/records/training_plan.h"

#include <gtest/gtest.h>

namespace rung {
namespace {

TEST(plan, comes_back_from_its_own_text) {
  auto given = parse_plan(
      R"({"arch": "gdelta(form=plain)+full", "tasks": {"name": "eva", "size": {"n": 6}}})", "test");
  ASSERT_TRUE(given.ok()) << given.error().message;
  TrainingPlan& plan = *given;
  plan.stop = 0.99;
  plan.parts = true;
  plan.round_bits = 6;
  plan.rates = {1e-3, 0.1};
  plan.support = {{{"n", 3}}};
  plan.advance = 0.9;
  plan.patience = 4, plan.gain = 0.02;
  plan.supervision = Supervision::deep;
  plan.deep = {{1, 2, 0}, {1, 1, 0, 2}};
  plan.queries = 2, plan.spacing = 8;
  plan.embedding = TokenEmbedding::binary;
  plan.from = "earlier.safetensors";
  plan.scales = {1};
  plan.tasks[0].task.options = {{"order", "easy"}};
  const auto read = parse_plan(plan_text(plan), "test");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(plan_text(*read), plan_text(plan));
}

TEST(plan, refuses_what_it_does_not_know_in_one_line) {
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {R"({"arch":"full","tasks":"eva","stepps":3})", "did you mean \"steps\""},
           {R"({"arch":"full","tasks":"eva","steps":0})", "steps = 0"},
           {R"({"arch":"full","tasks":"eva","steps":1e30})", "whole number"},
           {R"({"arch":"full","tasks":"eva","rates":["a"]})", "number expected"},
           {R"({"arch":"full","tasks":"eva","seeds":[-1]})", "at least 0"},
           {R"({"arch":"full","tasks":[{"name":"eva","sizes":{}}]})", "unknown field"},
           {R"({"arch":"full","tasks":"eva","steps":10,"curriculum":[{"n":3}],"stage_steps":10})",
            "leave none"},
           {R"({"arch":"full","tasks":"eva","steps":10,"round_bits":4,"round_after":10})", "after the last"},
           {R"({"arch":"full","tasks":"eva","curriculum":[{"n":3}],"support":[{"n":3}]})", "one of the two"},
           {R"({"arch":"full","tasks":"eva","support":[{"n":3}],"advance":1.5})", "advance = 1.5"},
           {R"({"arch":"full","tasks":"eva","patience":-1})", "patience = -1"},
           {R"({"arch":"full","tasks":"eva","patience":3,"gain":2})", "gain = 2"},
           {R"({"arch":"full","tasks":"eva","patience":3,"floor":0})", "floor > 0"},
           {R"({"arch":"full","tasks":"eva","round_bits":12,"precision":"bf16"})", "bf16"},
           {R"({"arch":"full","tasks":"eva","carry_bits":1})", "carry_bits = 1; 2 to 16"},
           {R"({"arch":"full","tasks":"eva","carry_bits":4,"round_bits":8})", "one of them"},
           {R"({"arch":"full"})", "no task"},
           {R"({"tasks":"eva"})", "no architecture"},
           {R"({"arch":"full","tasks":"eva","precision":"fp8"})", "fp32"},
           {R"({"arch":"full","tasks":"eva","dropout":null})", "number expected"},
           {"[]", "object expected"},
           {"{", "["}}) {
    const auto read = parse_plan(text, "plan.json");
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_NE(read.error().message.find(part), std::string::npos) << read.error().message;
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace rung
