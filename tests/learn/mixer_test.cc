// Every mixer in three meanings: plain tensor operations, the fast path, and the exact machine on the written
// file.
#include <gtest/gtest.h>

#include "rung/exact/machine.h"
#include "tests/learn/models.h"

namespace rung::learn {
namespace {

class EveryMixer : public testing::TestWithParam<std::string> {};

std::string mixer_test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name + "_" + std::to_string(info.index);
}

// Random starts leave biases and gains at constants; a test wants every number to matter.
void stir(Parameters& parameters, std::uint64_t seed) {
  const torch::NoGradGuard no_grad;
  Random random(seed);
  auto* at = parameters.master.data_ptr<float>();
  for (std::int64_t i = 0; i < parameters.master.numel(); ++i)
    at[i] += static_cast<float>(0.2 * (random.unit() - 0.5));
}

void expect_the_exact_machine_agrees(const ModelSpec& spec) {
  auto model = Model::make(spec);
  ASSERT_TRUE(model.ok()) << model.error().message;
  Parameters parameters(model->layout(), {7}, {1.0}, torch::kCPU, torch::kFloat32);
  stir(parameters, 3);
  const std::int64_t prompts = 3, length = 21;
  const Inputs inputs = random_inputs(spec, 1, prompts, length, 5);
  const torch::NoGradGuard no_grad;
  const Weights weights = model->weights(parameters, 0);
  auto machine = Machine::load(weights, {.positions = length, .unrounded = true});
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  std::vector<std::int64_t> wanted(static_cast<std::size_t>(length));
  for (std::int64_t t = 0; t < length; ++t) wanted[static_cast<std::size_t>(t)] = t;
  for (const bool plain : {true, false}) {
    ForwardContext pass;
    pass.plain = plain;
    const torch::Tensor z =
        model->forward(inputs, parameters.leaves, pass).view({prompts, length, spec.output.size});
    double worst = 0, largest = 0;
    for (std::int64_t b = 0; b < prompts; ++b) {
      const auto* token = inputs.fields[0].data_ptr<std::int64_t>() + b * length;
      const Prompt prompt{length, {std::vector<std::int64_t>(token, token + length)}};
      auto rows = (*machine)->forward(prompt, wanted);
      ASSERT_TRUE(rows.ok()) << rows.error().message;
      for (std::int64_t t = 0; t < length; ++t)
        for (std::int64_t c = 0; c < spec.output.size; ++c) {
          const double exact = (*rows)[static_cast<std::size_t>(t)].real_logits[static_cast<std::size_t>(c)];
          worst = std::max(worst, std::abs(exact - z[b][t][c].item<double>()));
          largest = std::max(largest, std::abs(exact));
        }
    }
    EXPECT_GT(largest, 0.1);
    EXPECT_LT(worst, 2e-4 * std::max(1.0, largest)) << (plain ? "plain" : "fast");
  }
}

TEST_P(EveryMixer, agrees_with_the_exact_machine_on_the_file_it_writes) {
  expect_the_exact_machine_agrees(small_model(GetParam()));
}

void expect_the_same_gradients_plain_and_fast(const ModelSpec& spec) {
  auto model = Model::make(spec);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const std::int64_t members = 2;
  const Inputs inputs = random_inputs(spec, members, 3, 21, 11);
  const torch::Tensor direction = torch::randn({members, 3 * 21, spec.output.size});
  std::vector<torch::Tensor> outputs, gradients;
  for (const bool plain : {true, false}) {
    Parameters parameters(model->layout(), {7, 8}, {1.0, 0.5}, torch::kCPU, torch::kFloat32);
    stir(parameters, 4);
    ForwardContext pass;
    pass.plain = plain;
    const torch::Tensor z = model->forward(inputs, parameters.leaves, pass);
    (z * direction).sum().backward();
    outputs.push_back(z.detach());
    gradients.push_back(parameters.gradient);
  }
  const double scale = gradients[0].abs().max().item<double>();
  EXPECT_GT(scale, 0.01);
  EXPECT_LT((outputs[0] - outputs[1]).abs().max().item<double>(),
            1e-4 * std::max(1.0, outputs[0].abs().max().item<double>()));
  EXPECT_LT((gradients[0] - gradients[1]).abs().max().item<double>(), 3e-4 * scale);
}

TEST_P(EveryMixer, has_the_same_gradients_plain_and_fast_in_an_ensemble) {
  expect_the_same_gradients_plain_and_fast(small_model(GetParam()));
}

TEST_P(EveryMixer, gives_a_member_the_outputs_that_it_has_alone) {
  const ModelSpec spec = small_model(GetParam());
  auto model = Model::make(spec);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const Inputs inputs = random_inputs(spec, 2, 2, 21, 13);
  Parameters both(model->layout(), {7, 8}, {1.0, 1.0}, torch::kCPU, torch::kFloat32),
      second(model->layout(), {8}, {1.0}, torch::kCPU, torch::kFloat32);
  const torch::NoGradGuard no_grad;
  const torch::Tensor together = model->forward(inputs, both.leaves, {});
  Inputs alone_inputs;
  alone_inputs.fields = {inputs.fields[0].narrow(0, 1, 1)};
  const torch::Tensor alone = model->forward(alone_inputs, second.leaves, {});
  EXPECT_LT((together.narrow(0, 1, 1) - alone).abs().max().item<double>(), 1e-4);
  EXPECT_GT((together.narrow(0, 0, 1) - alone).abs().max().item<double>(), 1e-2);
}

TEST(embedding,
     by_binary_digits_means_the_same_to_the_exact_machine_and_has_the_same_gradients_plain_and_fast) {
  ModelSpec spec = small_model("full");
  for (const TokenEmbedding embedding : {TokenEmbedding::table, TokenEmbedding::binary})
    for (const PositionCode position : {PositionCode::none, PositionCode::table, PositionCode::binary}) {
      spec.embedding = embedding;
      spec.architecture.dimensions.position = position;
      expect_the_exact_machine_agrees(spec);
      expect_the_same_gradients_plain_and_fast(spec);
    }
  spec.fields[0].size = kLargestTable + 1;  // beyond any table
  spec.embedding = TokenEmbedding::table;
  expect_the_exact_machine_agrees(spec);
}

// Five digits of 0 and 1 start as -1 and 1: opposite codes have opposite rows.
TEST(embedding, by_binary_digits_starts_centred) {
  ModelSpec spec = small_model("none");
  spec.fields[0].size = 32;
  spec.embedding = TokenEmbedding::binary;
  const auto model = Model::make(spec);
  ASSERT_TRUE(model.ok());
  const Weights weights =
      model->weights(Parameters(model->layout(), {7}, {1.0}, torch::kCPU, torch::kFloat32), 0);
  const auto& rows = weights.tensors.at("embed.token.binary");
  ASSERT_EQ(rows.shape, (std::vector<std::int64_t>{6, 12}));
  for (std::int64_t c = 0; c < 12; ++c) {
    double sum = 0;
    for (std::int64_t digit = 0; digit < 5; ++digit) sum += rows.real(digit * 12 + c);
    EXPECT_NEAR(rows.real(5 * 12 + c), -sum / 2, 1e-6);
    EXPECT_GT(std::abs(sum), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(learn, EveryMixer, testing::ValuesIn(causal_lines()), mixer_test_name);

}  // namespace
}  // namespace rung::learn
