// Released layers, learned: the public references' outputs on their own weights, gradients by finite differences, and
// the file of a trained model in the real machine.
#include <gtest/gtest.h>

#include <cmath>

#include "rung/exact/machine.h"
#include "rung/learn/ensemble.h"
#include "rung/learn/trainer.h"
#include "tests/learn/models.h"
#include "tests/parity/released_case.h"

namespace rung::learn {
namespace {

// One mixer and its W_O, with parameters of any floating type.
struct LearnedLayer {
  MixerShape shape;
  ParameterLayout layout;
  std::unique_ptr<LearnedMixer> mixer;
  ParameterLayout::Index output = 0;

  LearnedLayer(const MixerShape& given, std::int64_t width, const std::map<std::string, double>& scalars)
      : shape(given) {
    mixer = make_mixer(shape, {"layers.0.", width, true, scalars}, layout);
    output = layout.add("layers.0.o.weight", {width, shape.output_width()}, Start::normal(1), true);
  }
  torch::Tensor forward(const torch::Tensor& u, const Leaves& leaves, const ForwardContext& pass) const {
    return apply_map(mixer->forward(u, leaves, pass), leaves[output]);
  }
};

// The file's tensors in the layer's parameters; every tensor of the layer but the norm before it is one of them.
Leaves leaves_of(const LearnedLayer& layer, const Weights& weights, torch::ScalarType type) {
  Leaves leaves;
  std::size_t read = 0;
  for (const ParameterSpec& spec : layer.layout.specs()) {
    std::vector<double> values;
    for (const NamedRows& rows : spec.rows) {
      const auto found = weights.tensors.find(rows.name);
      EXPECT_NE(found, weights.tensors.end()) << rows.name;
      if (found == weights.tensors.end()) return leaves;
      ++read;
      for (std::int64_t i = 0; i < found->second.size(); ++i) {
        const double value = found->second.real(i);
        values.push_back(spec.stored == Stored::minus_exponential ? std::log(-value) : value);
      }
    }
    std::vector<std::int64_t> shape{1};
    shape.insert(shape.end(), spec.shape.begin(), spec.shape.end());
    EXPECT_EQ(static_cast<std::int64_t>(values.size()), spec.size()) << spec.rows.front().name;
    leaves.tensors.push_back(
        torch::from_blob(values.data(), shape, torch::kDouble).clone().to(type).requires_grad_(true));
  }
  std::size_t held = 0;
  for (const auto& [name, tensor] : weights.tensors)
    held += name.starts_with("layers.0.") && !name.starts_with("layers.0.norm1") && !tensor.shape.empty();
  EXPECT_EQ(read, held) << "tensors that the learned form does not read";
  return leaves;
}
std::map<std::string, double> scalars_of(const Weights& weights) {
  std::map<std::string, double> out;
  for (const auto& [name, tensor] : weights.tensors)
    if (name.starts_with("layers.0.") && tensor.shape.empty()) out[name] = tensor.real(0);
  return out;
}
torch::Tensor rows_of(std::vector<double> values, std::int64_t tokens) {
  const auto width = static_cast<std::int64_t>(values.size()) / tokens;
  return torch::from_blob(values.data(), {1, 1, tokens, width}, torch::kDouble).clone();
}
double farthest(const torch::Tensor& a, const torch::Tensor& b) {
  const torch::Tensor far = (a.to(torch::kDouble) - b.to(torch::kDouble)).abs();
  return far.isnan().any().item<bool>() ? INFINITY : far.max().item<double>();
}

class ReferenceLayer : public testing::TestWithParam<parity::ReleasedCase> {};

// Double in the plain form shows the same function; float32, plain and fast, the precision of training.
TEST_P(ReferenceLayer, has_the_reference_outputs) {
  const auto& one = GetParam();
  const auto folder = std::filesystem::path(testing::TempDir()) / ("learned-parity-" + one.name);
  std::filesystem::remove_all(folder);
  const auto directory = parity::write_model(one, folder);
  auto imported =
      import_layer({.directory = directory.path.string(), .from = directory.from, .layer = directory.layer});
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(imported) << imported.error().message;
  const struct {
    const char *key, *option, *value;
  } readings[] = {{"output", nullptr, nullptr},
                  {"output_strong", "partition", "strong"},
                  {"output_interleaved", "rope", "interleaved"}};
  const torch::NoGradGuard no_grad;
  for (const auto& reading : readings) {
    if (!one.content.contains(reading.key)) continue;
    Weights weights = imported->weights;
    auto& options = weights.architecture.stack.layers[0].options;
    if (reading.option) {
      std::erase_if(options, [&](const MixerOption& option) { return option.name == reading.option; });
      options.push_back({reading.option, std::string(reading.value)});
    }
    const MixerShape shape = resolve(weights.architecture).value()[0].mixer;
    const LearnedLayer layer(shape, one.width(), scalars_of(weights));
    const torch::Tensor u = rows_of(one.numbers("input"), one.tokens()),
                        expected = rows_of(one.numbers(reading.key), one.tokens());
    const double size = expected.abs().max().item<double>();
    const auto far = [&](torch::ScalarType type, bool plain) {
      ForwardContext pass;
      pass.plain = plain;
      if (one.content.contains("input_v_first"))
        pass.first_values = rows_of(one.numbers("input_v_first"), one.tokens()).to(type);
      return farthest(layer.forward(u.to(type), leaves_of(layer, weights, type), pass), expected);
    };
    EXPECT_LT(far(torch::kDouble, true), 1e-7) << reading.key;
    EXPECT_LT(far(torch::kFloat32, true), 1e-5 * std::max(1.0, size)) << reading.key << ", plain";
    EXPECT_LT(far(torch::kFloat32, false), 1e-5 * std::max(1.0, size)) << reading.key << ", fast";
  }
}

std::string reference_name(const testing::TestParamInfo<parity::ReleasedCase>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(released, ReferenceLayer, testing::ValuesIn(parity::released_cases()),
                         reference_name);

class ReleasedForm : public testing::TestWithParam<std::string> {};

// Along a random direction of each parameter, in double. An index is taught by what it would have added, which is no
// derivative (token_selection.h): it is left out.
TEST_P(ReleasedForm, has_the_gradients_of_finite_differences) {
  const std::int64_t tokens = 9, width = 12;
  const ModelSpec spec = small_model(GetParam(), tokens);
  const auto shapes = resolve(spec.architecture);
  ASSERT_TRUE(shapes) << shapes.error().message;
  const LearnedLayer layer(shapes->back().mixer, width, {});
  Parameters start(layer.layout, {5}, {1.0}, torch::kCPU, torch::kFloat32);
  torch::manual_seed(3);
  Leaves leaves;
  {
    const torch::NoGradGuard no_grad;
    for (const torch::Tensor& leaf : start.leaves.tensors)
      leaves.tensors.push_back(leaf.to(torch::kDouble) + 0.2 * torch::randn(leaf.sizes(), torch::kDouble));
  }
  for (torch::Tensor& leaf : leaves.tensors) leaf.requires_grad_(true);
  const torch::Tensor u = torch::randn({1, 2, tokens, width}, torch::kDouble);
  torch::Tensor earlier;
  if (layer.shape.form.first_values)
    earlier = torch::randn({1, 2, tokens, layer.shape.output_width()}, torch::kDouble);
  const torch::Tensor direction = torch::randn({1, 2, tokens, width}, torch::kDouble);
  const auto loss = [&] {
    ForwardContext pass;
    pass.plain = true;
    pass.first_values = earlier;
    return (layer.forward(u, leaves, pass) * direction).sum();
  };
  loss().backward();
  const double step = 1e-6;
  double largest = 0;
  for (std::size_t i = 0; i < leaves.tensors.size(); ++i) {
    const std::string& name = layer.layout.specs()[i].rows.front().name;
    if (name.find("index_") != std::string::npos || name.find("q_norm") != std::string::npos ||
        name.find("q_low") != std::string::npos)
      continue;
    torch::Tensor leaf = leaves.tensors[i];
    const torch::Tensor along = torch::randn(leaf.sizes(), torch::kDouble);
    ASSERT_TRUE(leaf.grad().defined()) << name << " is not read";
    const double claimed = (leaf.grad() * along).sum().item<double>();
    const torch::NoGradGuard no_grad;
    leaf.add_(along, step);
    const double above = loss().item<double>();
    leaf.add_(along, -2 * step);
    const double below = loss().item<double>();
    leaf.add_(along, step);
    EXPECT_NEAR((above - below) / (2 * step), claimed, 2e-5 * std::max(1.0, std::abs(claimed))) << name;
    largest = std::max(largest, std::abs(claimed));
  }
  EXPECT_GT(largest, 0.1);
}

// A few steps of a task, then the weights file in the real machine and in a model that loads it.
TEST_P(ReleasedForm, trains_into_a_file_that_means_the_same_in_the_real_machine) {
  TrainingPlan plan = small_plan(GetParam(), "eva", {{"n", 5}});
  plan.steps = 4;
  plan.warmup = 1;
  auto lesson = Lesson::make(plan);
  ASSERT_TRUE(lesson.ok()) << lesson.error().message;
  auto spec = lesson->model_spec();
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  auto model = Model::make(*spec);
  ASSERT_TRUE(model.ok()) << model.error().message;
  Trainer trainer(plan, *lesson, *model, members(plan), torch::kCPU);
  const Weights before = trainer.weights(0, {});
  for (int i = 0; i < 4; ++i) trainer.step();
  const Weights after = trainer.weights(0, {});
  std::size_t still = 0, all = 0;
  for (const auto& [name, tensor] : after.tensors) {
    if (!name.starts_with("layers.") || tensor.shape.empty()) continue;
    ++all;
    bool moved = false;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      ASSERT_TRUE(std::isfinite(tensor.real(i))) << name;
      moved = moved || tensor.real(i) != before.tensors.at(name).real(i);
    }
    still += !moved;
  }
  EXPECT_EQ(still, 0u) << "of " << all << " tensors";
  Parameters parameters(model->layout(), {9}, {1.0}, torch::kCPU, torch::kFloat32);
  const auto loaded = model->load(after, parameters, 0);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const std::int64_t length = lesson->longest(), prompts = 3;
  const Inputs inputs = random_inputs(*spec, 1, prompts, length, 5);
  auto machine = Machine::load(after, {.positions = length, .unrounded = true});
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  std::vector<std::int64_t> wanted(static_cast<std::size_t>(length));
  for (std::int64_t t = 0; t < length; ++t) wanted[static_cast<std::size_t>(t)] = t;
  const torch::NoGradGuard no_grad;
  const torch::Tensor z =
      model->forward(inputs, parameters.leaves, {}).view({prompts, length, spec->output.size});
  for (std::int64_t b = 0; b < prompts; ++b) {
    Prompt prompt{length, {}};
    for (const torch::Tensor& field : inputs.fields) {
      const auto* value = field.data_ptr<std::int64_t>() + b * length;
      prompt.fields.emplace_back(value, value + length);
    }
    auto rows = (*machine)->forward(prompt, wanted);
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    double worst = 0;
    for (std::int64_t t = 0; t < length; ++t)
      for (std::int64_t c = 0; c < spec->output.size; ++c)
        worst = std::max(
            worst, std::abs((*rows)[static_cast<std::size_t>(t)].real_logits[static_cast<std::size_t>(c)] -
                            z[b][t][c].item<double>()));
    EXPECT_LT(worst, 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(released, ReleasedForm, testing::ValuesIn(released_lines()),
                         [](const auto& info) { return "line_" + std::to_string(info.index); });

TEST(released_training, refuses_by_name_what_it_cannot_do) {
  const auto refused = [](const std::string& line) {
    auto model = Model::make(small_model(line));
    return model.ok() ? std::string() : model.error().message;
  };
  EXPECT_EQ(refused("rwkv7(values=first)"),
            "[train] \"layers.0.\" mixes in the values of an earlier rwkv7 layer; the stack has none");
  EXPECT_EQ(
      refused("rwkv7(heads=1)+rwkv7(values=first,heads=2,dim=12)"),
      "[train] \"layers.1.\" mixes in the values of an earlier rwkv7 layer; the stack has one of another "
      "size");
  EXPECT_EQ(refused("recurrent(kind=rwkv7,elements=64)"),
            "[train] recurrent(rwkv7) is counted, not evaluated: it cannot be trained");
  TrainingPlan plan = small_plan("gla(rank=4)", "eva", {{"n", 5}});
  plan.round_bits = 8;
  plan.round_after = 0;
  const auto rounded = prepare(plan);
  ASSERT_FALSE(rounded.ok());
  EXPECT_EQ(rounded.error().message, "[train] round_bits: gla is trained in reals alone");
}

// A file that says more than the model would write is not read as if it did not.
TEST(released_training, does_not_load_what_it_would_ignore) {
  auto model = Model::make(small_model("gla(rank=4)"));
  ASSERT_TRUE(model.ok()) << model.error().message;
  Parameters parameters(model->layout(), {7}, {1.0}, torch::kCPU, torch::kFloat32);
  const Weights whole = model->weights(parameters, 0);
  EXPECT_TRUE(model->load(whole, parameters, 0));
  const auto refused = [&](const std::string& name, double value) {
    Weights more = whole;
    more.tensors[name] = real_tensor({}, std::span(&value, 1), DType::f64);
    const auto loaded = model->load(more, parameters, 0);
    return loaded ? std::string() : loaded.error().message;
  };
  EXPECT_EQ(refused("layers.0.gate.divisor", 8),
            "[train] the file's layers.0.gate.divisor is 8; 16 expected");
  EXPECT_EQ(refused("layers.0.gate.floor", -1),
            "[train] the file's tensor layers.0.gate.floor has no learned form");
}

// Decays are below 1 whatever is learned: what is written is -e^A.
TEST(released_training, writes_rates_that_decay) {
  auto model = Model::make(small_model("mamba2(form=released)"));
  ASSERT_TRUE(model.ok()) << model.error().message;
  Parameters parameters(model->layout(), {7}, {1.0}, torch::kCPU, torch::kFloat32);
  const torch::NoGradGuard no_grad;
  for (const float moved : {-50.F, 50.F}) {
    parameters.master.fill_(moved);
    const Weights weights = model->weights(parameters, 0);
    const Tensor& rate = weights.tensors.at("layers.0.a.weight");
    for (std::int64_t i = 0; i < rate.size(); ++i) EXPECT_LT(rate.real(i), 0);
  }
}

TEST(released_training, names_the_forms_without_a_kernel) {
  const auto named = [](const std::string& line, bool on_device) {
    return Model::make(small_model(line))->unfused(on_device);
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(named("gla(rank=4)+kda(rank=4)*2+full", true), (Names{"gla", "kda"}));
  EXPECT_EQ(named("gla(rank=4)+kda(rank=4)*2+full", false), Names{});
  EXPECT_EQ(named("heads(kda(rank=4):1,full:1)", true), Names{"kda"});
  EXPECT_EQ(named("gdelta(form=released)+mamba(form=released)+full(rope=half)", true), Names{});
  EXPECT_EQ(named("rwkv7+loglinear(base=mamba2,form=released,partition=strong)", true).size(), 2u);
  EXPECT_EQ(named("rwkv7+loglinear(base=mamba2,form=released,partition=strong)", false).size(), 1u);
  EXPECT_EQ(named("gla(rank=4,dim=300)", false), Names{"gla"});
}

}  // namespace
}  // namespace rung::learn
