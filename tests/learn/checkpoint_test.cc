// Checkpoints of training: a trainer resumes where it stopped, and nothing but the state of such a run is taken.
#include <nlohmann/json.hpp>

#include "tests/learn/training.h"

namespace rung::learn {
namespace {

namespace fs = std::filesystem;

TEST(checkpoint, goes_on_from_a_checkpoint_to_the_same_bits) {
  for (const char* rounded : {"nothing", "activations", "what is carried"}) {
    SCOPED_TRACE(rounded);
    TrainingPlan plan = trainee();
    plan.dropout = 0.1;
    if (rounded == std::string_view("activations"))
      plan.round_bits = 8, plan.round_after = 7, plan.embedding = TokenEmbedding::binary;
    if (rounded == std::string_view("what is carried")) plan.carry_bits = 4, plan.round_after = 7;
    const Parts parts(plan);
    Folder folder;
    Trainer whole = parts.trainer();
    run_to(whole, plan, 40);
    Trainer first = parts.trainer();
    run_to(first, plan, 23);  // between two evaluations
    ASSERT_TRUE(first.save(folder / "checkpoint").ok());
    Trainer second = parts.trainer();
    const auto restored = second.restore(folder / "checkpoint");
    ASSERT_TRUE(restored.ok()) << restored.error().message;
    run_to(second, plan, 40);
    ASSERT_EQ(whole.progress()[0].curve.size(), 4u);
    EXPECT_EQ(whole.progress()[0].curve, second.progress()[0].curve);
    const Weights a = whole.weights(0, {}), b = second.weights(0, {});
    EXPECT_EQ(a.notes, b.notes);
    for (const auto& [name, tensor] : a.tensors)
      for (std::int64_t i = 0; i < tensor.size(); ++i)
        ASSERT_EQ(tensor.real(i), b.tensors.at(name).real(i)) << name;
  }
}

TEST(checkpoint, refuses_a_checkpoint_of_another_plan_or_a_broken_one) {
  const Parts parts(trainee()), others(trainee("full*2"));
  Folder folder;
  ASSERT_TRUE(parts.trainer().save(folder / "checkpoint").ok());
  const auto refused = others.trainer().restore(folder / "checkpoint");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("another architecture"), std::string::npos)
      << refused.error().message;
  TrainingPlan longer = trainee();
  ++longer.steps;
  const Parts longer_parts(longer);
  const auto refused_too = longer_parts.trainer().restore(folder / "checkpoint");
  ASSERT_FALSE(refused_too.ok());
  EXPECT_NE(refused_too.error().message.find("another plan"), std::string::npos)
      << refused_too.error().message;
  const auto size = fs::file_size(folder / "checkpoint");
  for (const std::uintmax_t cut : {std::uintmax_t{0}, std::uintmax_t{7}, size / 2, size - 1}) {
    fs::copy_file(folder / "checkpoint", folder / "cut", fs::copy_options::overwrite_existing);
    fs::resize_file(folder / "cut", cut);
    EXPECT_FALSE(parts.trainer().restore(folder / "cut").ok()) << cut;
  }
}

TEST(checkpoint, refuses_states_steps_and_curves_that_no_run_has) {
  const TrainingPlan plan = trainee();
  const Parts parts(plan);
  const Trainer trainer = parts.trainer();
  Folder folder;
  ASSERT_TRUE(trainer.save(folder / "checkpoint").ok());
  ASSERT_TRUE(parts.trainer().restore(folder / "checkpoint").ok());
  auto file = read_safetensors(folder / "checkpoint");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto written = nlohmann::json::parse(file->metadata.at("progress"));
  const std::pair<const char*, const char*> cases[] = {
      {R"({"step": -1})", "at step -1"},
      {R"({"step": 9223372036854775807})", "at step 9223372036854775807"},
      {R"({"summed": 1})", "1 summed"},
      {R"({"summed": -1})", "-1 summed"},
      {R"({"members": [{"state": -1}]})", "no state -1"},
      {R"({"members": [{"state": 3}]})", "no state 3"},
      {R"({"members": [{"steps": 1}]})", "no curve"},
      {R"({"members": [{"curve": [{"step": 0}]}]})", "no curve"}};
  for (const auto& [change, said] : cases) {
    auto progress = written;
    const auto changes = nlohmann::json::parse(change);
    progress.update(changes);
    if (changes.contains("members")) {
      progress["members"] = written["members"];
      progress["members"][0].update(changes["members"][0]);
    }
    file->metadata["progress"] = progress.dump();
    ASSERT_TRUE(write_safetensors(folder / "other", *file).ok());
    const auto refused = parts.trainer().restore(folder / "other");
    ASSERT_FALSE(refused.ok()) << change;
    EXPECT_NE(refused.error().message.find(said), std::string::npos) << refused.error().message;
  }
}

}  // namespace
}  // namespace rung::learn
