// On a GPU: every mixer against its plain form on the CPU; a recorded step against the same step alone;
// instances made on the device against the tasks'. Skipped, saying so, where there is no device.
#include <gtest/gtest.h>

#include <set>

#include "rung/learn/device_stream.h"
#include "rung/learn/feed_forward.h"
#include "rung/learn/row_norm.h"
#include "rung/learn/trainer.h"
#include "tests/learn/models.h"

namespace rung::learn {
namespace {

#define NEEDS_DEVICE() \
  if (auto ready = cuda_ready(); !ready) GTEST_SKIP() << ready.error().message

class DeviceMixer : public testing::TestWithParam<std::string> {};

TEST_P(DeviceMixer, has_the_outputs_and_gradients_of_the_plain_form) {
  NEEDS_DEVICE();
  const ModelSpec spec = small_model(GetParam(), 40);
  auto model = Model::make(spec);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const std::int64_t members = 3, prompts = 5, length = 40;
  const Inputs inputs = random_inputs(spec, members, prompts, length, 11);
  const torch::Tensor direction = torch::randn({members, prompts * length, spec.output.size});
  std::vector<torch::Tensor> outputs, gradients;
  for (const bool device : {false, true}) {
    const torch::Device where = device ? torch::Device(torch::kCUDA, 0) : torch::Device(torch::kCPU);
    Parameters parameters(model->layout(), {7, 8, 9}, {1.0, 0.5, 1.0}, where, torch::kFloat32);
    Inputs there;
    there.fields = {inputs.fields[0].to(where)};
    ForwardContext pass;
    pass.plain = !device;
    const torch::Tensor z = model->forward(there, parameters.leaves, pass);
    (z * direction.to(where)).sum().backward();
    outputs.push_back(z.detach().cpu());
    gradients.push_back(parameters.gradient.cpu());
  }
  EXPECT_LT((outputs[0] - outputs[1]).abs().max().item<double>(),
            1e-3 * std::max(1.0, outputs[0].abs().max().item<double>()));
  EXPECT_LT((gradients[0] - gradients[1]).abs().max().item<double>(),
            2e-3 * gradients[0].abs().max().item<double>());
}

TrainingPlan device_plan(const std::string& line, const std::string& task, const TaskSizes& sizes) {
  TrainingPlan plan = small_plan(line, task, sizes);
  plan.dimensions.width = 32;
  plan.steps = 60;
  plan.evaluate_every = 20;
  plan.device = "cuda";
  return plan;
}

struct Curves {
  std::vector<std::vector<CurvePoint>> members;
};

Curves curves_of(const TrainingPlan& plan, std::vector<MemberPlan> members,
                 torch::Device device = torch::Device(torch::kCUDA, 0)) {
  auto lesson = Lesson::make(plan);
  RUNG_REQUIRE(lesson.ok(), "{}", lesson.error().message);
  auto spec = lesson->model_spec();
  RUNG_REQUIRE(spec.ok(), "{}", spec.error().message);
  auto model = Model::make(*spec);
  RUNG_REQUIRE(model.ok(), "{}", model.error().message);
  Trainer trainer(plan, *lesson, *model, std::move(members), device);
  while (!trainer.finished()) {
    trainer.step();
    if (trainer.step_count() % plan.evaluate_every == 0) trainer.evaluate();
  }
  Curves curves;
  for (const MemberProgress& member : trainer.progress()) curves.members.push_back(member.curve);
  return curves;
}

// The same seeds, instances and dropped places on either device.
TEST_P(DeviceMixer, is_recorded_and_has_the_curve_of_the_cpu) {
  NEEDS_DEVICE();
  TrainingPlan plan = device_plan(GetParam(), "eva", {{"n", 12}});
  plan.steps = 6, plan.evaluate_every = 3, plan.warmup = 1;
  plan.dropout = 0.1;
  const MemberPlan member{0, 5, 1e-3, 0.01, 1};
  const Curves there = curves_of(plan, {member}), here = curves_of(plan, {member}, torch::kCPU);
  ASSERT_EQ(there.members[0].size(), 2u);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_NEAR(there.members[0][i].loss, here.members[0][i].loss, 5e-3) << i;
}

TEST(device, gives_a_member_the_curve_that_it_has_alone) {
  NEEDS_DEVICE();
  for (const char* task : {"eva", "dyck"}) {  // made on the device; drawn on the host
    const TrainingPlan plan =
        device_plan("gdelta(form=plain)+full", task,
                    task == std::string("eva") ? TaskSizes{{"n", 12}} : TaskSizes{{"n", 12}});
    const std::vector<MemberPlan> all{{0, 1, 3e-3, 0.01, 1}, {1, 2, 1e-3, 0.1, 1}, {2, 3, 3e-3, 0.01, 0.5}};
    const Curves together = curves_of(plan, all);
    const Curves alone = curves_of(plan, {all[1]});
    ASSERT_EQ(together.members[1].size(), 3u);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(together.members[1][i].loss, alone.members[0][i].loss, 2e-3) << task << " point " << i;
    EXPECT_GT(std::abs(together.members[0][0].loss - together.members[1][0].loss), 1e-4);
  }
}

double relative_distance(const torch::Tensor& x, const torch::Tensor& exact) {
  const torch::Tensor wide = x.to(torch::kFloat64).cpu(), there = exact.to(torch::kFloat64).cpu();
  return (wide - there).norm().item<double>() / there.norm().item<double>();
}

torch::Tensor activated(const torch::Tensor& x, MlpActivation activation) {
  return activation == MlpActivation::relu   ? x.relu()
         : activation == MlpActivation::gelu ? torch::gelu(x)
                                             : torch::silu(x);
}

// Bfloat16 is far from float32 either way: the fused block may be no farther than tensor operations are.
TEST(device, computes_the_feed_forward_block_as_tensor_operations_do) {
  NEEDS_DEVICE();
  const std::int64_t members = 3, prompts = 5, length = 67;
  const torch::TensorOptions there = torch::TensorOptions(torch::kFloat32).device(torch::kCUDA);
  for (const std::int64_t width : {32, 64})
    for (const std::int64_t hidden : {32, 128, 256})
      for (const MlpActivation activation : {MlpActivation::relu, MlpActivation::gelu, MlpActivation::silu}) {
        SCOPED_TRACE(testing::Message()
                     << "width " << width << " hidden " << hidden << " " << activation_name(activation));
        torch::manual_seed(7);
        const std::vector<torch::Tensor> drawn{torch::randn({members, prompts, length, width}, there),
                                               1 + 0.3 * torch::randn({members, width}, there),
                                               0.2 * torch::randn({members, hidden, width}, there),
                                               0.5 * torch::randn({members, hidden}, there),
                                               0.1 * torch::randn({members, width, hidden}, there),
                                               0.5 * torch::randn({members, width}, there)};
        const torch::Tensor direction =
            torch::randn({members, prompts, length, width}, there).to(torch::kBFloat16);
        const auto results = [&](torch::ScalarType type, bool fused) {
          std::vector<torch::Tensor> in;
          for (const torch::Tensor& x : drawn)
            in.push_back(x.to(torch::kBFloat16).to(type).detach().requires_grad_(true));
          const FeedForwardLeaves leaves{in[1], in[2], in[3], in[4], in[5]};
          EXPECT_EQ(feed_forward_applies(in[0], leaves, activation), type == torch::kBFloat16);
          torch::Tensor y;
          if (fused)
            y = feed_forward(in[0], leaves, activation);
          else
            y = in[0] +
                apply_map(activated(apply_map(rms_norm(in[0], in[1], true), in[2], in[3]), activation), in[4],
                          in[5]);
          y.backward(direction.to(type));
          std::vector<torch::Tensor> out{y.detach()};
          for (const torch::Tensor& x : in) out.push_back(x.grad());
          return out;
        };
        const auto exact = results(torch::kFloat32, false), plain = results(torch::kBFloat16, false),
                   fused = results(torch::kBFloat16, true);
        for (std::size_t i = 0; i < exact.size(); ++i)
          EXPECT_LT(relative_distance(fused[i], exact[i]), 1.5 * relative_distance(plain[i], exact[i]) + 1e-3)
              << i;
      }
}

TEST(device, trains_a_bfloat16_model_with_the_fused_block_as_without) {
  NEEDS_DEVICE();
  ModelSpec spec = small_model("none*2", 40);
  spec.architecture.dimensions.width = 64;
  spec.architecture.dimensions.mlp = {256};
  spec.architecture.dimensions.mlp_given = true;
  auto model = Model::make(spec);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const std::int64_t members = 3, prompts = 5, length = 40;
  const torch::Device where(torch::kCUDA, 0);
  Inputs inputs = random_inputs(spec, members, prompts, length, 11);
  inputs.fields[0] = inputs.fields[0].to(where);
  const torch::Tensor direction = torch::randn({members, prompts * length, spec.output.size}).to(where);
  const auto results = [&](torch::ScalarType type, bool plain) {
    Parameters parameters(model->layout(), {7, 8, 9}, {1.0, 0.5, 1.0}, where, type);
    {
      const torch::NoGradGuard no_grad;
      parameters.master.copy_(parameters.master.to(torch::kBFloat16));
      parameters.refresh();
    }
    ForwardContext pass;
    pass.plain = plain;
    const torch::Tensor z = model->forward(inputs, parameters.leaves, pass);
    (z * direction.to(type)).sum().backward();
    return std::vector<torch::Tensor>{z.detach(), parameters.gradient};
  };
  const auto exact = results(torch::kFloat32, true), plain = results(torch::kBFloat16, true),
             fused = results(torch::kBFloat16, false);
  EXPECT_FALSE(torch::equal(plain[0], fused[0]));
  for (std::size_t i = 0; i < exact.size(); ++i)
    EXPECT_LT(relative_distance(fused[i], exact[i]), 1.5 * relative_distance(plain[i], exact[i]) + 1e-3) << i;
}

TEST(device, makes_the_instances_that_the_tasks_make) {
  NEEDS_DEVICE();
  const std::vector<std::pair<std::string, TaskSizes>> tasks{{"eva", {{"n", 9}}},
                                                             {"index", {{"n", 9}}},
                                                             {"mqar", {{"n", 5}}},
                                                             {"two-sum", {{"n", 9}}},
                                                             {"seqcomp", {{"L", 2}, {"m", 3}, {"n1", 4}}},
                                                             {"parity", {{"n", 9}}},
                                                             {"group", {{"n", 9}}},
                                                             {"copy", {{"n", 5}}},
                                                             {"selective-copy", {{"n", 5}}},
                                                             {"tracked-recall", {{"n", 5}}}};
  const std::set<std::string> again{"eva", "index", "two-sum", "seqcomp"};
  for (const std::int64_t queries : {1, 4})
    for (const auto& [name, sizes] : tasks) {
      if (queries > 1 && !again.contains(name)) continue;
      TrainingPlan plan = device_plan("full", name, sizes);
      plan.queries = queries;
      plan.parts = queries > 1 && name == "seqcomp";
      auto lesson = Lesson::make(plan);
      ASSERT_TRUE(lesson.ok()) << lesson.error().message;
      InstanceSource source(*lesson, {3, 4}, 8, torch::Device(torch::kCUDA, 0));
      ASSERT_TRUE(source.on_device(0, 0)) << name;
      const torch::Tensor count =
          torch::full({1}, 5, torch::TensorOptions(torch::kLong).device(torch::kCUDA));
      const Batch& made = source.next(0, 0, 5, count);
      const Batch drawn = lesson->draw({0, 0, {teaching_stream(3), teaching_stream(4)}, 5 * 8, 8, true});
      ASSERT_EQ(made.inputs.fields.size(), drawn.inputs.fields.size()) << name;
      for (std::size_t f = 0; f < drawn.inputs.fields.size(); ++f)
        EXPECT_TRUE(torch::equal(made.inputs.fields[f].cpu(), drawn.inputs.fields[f])) << name;
      EXPECT_TRUE(torch::equal(made.targets.cpu(), drawn.targets)) << name;
    }
}

// Every member reads its own stage of the support, which the host moves while the recorded step stays.
TEST(device, teaches_from_the_supports_and_the_values_between_that_the_host_draws) {
  NEEDS_DEVICE();
  TrainingPlan plan = device_plan("full*2", "seqcomp", {{"L", 3}, {"m", 3}, {"n1", 4}, {"n2", 2}});
  plan.queries = 4;
  plan.parts = true;
  plan.supervision = Supervision::deep;
  plan.support = {{{"m", 2}, {"n1", 2}}, {{"n2", 1}}};
  plan.whole = 0.25;
  auto lesson = Lesson::make(plan);
  ASSERT_TRUE(lesson.ok()) << lesson.error().message;
  InstanceSource source(*lesson, {3, 4, 5}, 8, torch::Device(torch::kCUDA, 0));
  ASSERT_TRUE(source.on_device(0, 0));
  const torch::Tensor count = torch::full({1}, 5, torch::TensorOptions(torch::kLong).device(torch::kCUDA));
  const std::vector<std::uint64_t> streams{teaching_stream(3), teaching_stream(4), teaching_stream(5)};
  for (const std::vector<std::size_t>& stages : {std::vector<std::size_t>{0, 0, 0}, {0, 1, 2}, {2, 2, 1}}) {
    source.set_supports(stages);
    const Batch& made = source.next(0, 0, 5, count);
    const Batch drawn = lesson->draw({0, 0, streams, 5 * 8, 8, true, false, stages});
    EXPECT_TRUE(torch::equal(made.inputs.fields[0].cpu(), drawn.inputs.fields[0]));
    EXPECT_TRUE(torch::equal(made.targets.cpu(), drawn.targets));
    EXPECT_TRUE(torch::equal(made.between.cpu(), drawn.between));
  }
}

TEST(device, passes_stages_as_the_cpu_does) {
  NEEDS_DEVICE();
  TrainingPlan plan = device_plan("full", "eva", {{"n", 5}});
  plan.steps = 120, plan.evaluate_every = 10, plan.batch = 16, plan.queries = 4, plan.evaluate_count = 64;
  plan.support = {{{"n", 2}}, {{"n", 3}}};
  plan.advance = 0.8;
  const std::vector<MemberPlan> all{{0, 1, 1e-2, 0.01, 1}, {1, 1, 1e-9, 0.01, 1}};
  const Curves there = curves_of(plan, all), here = curves_of(plan, all, torch::kCPU);
  for (const Curves& curves : {there, here}) {
    EXPECT_EQ(curves.members[0].back().stage, 2);
    EXPECT_EQ(curves.members[1].back().stage, 0);
  }
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name + "_" + std::to_string(info.index);
}
INSTANTIATE_TEST_SUITE_P(device, DeviceMixer, testing::ValuesIn(causal_lines()), test_name);

}  // namespace
}  // namespace rung::learn
