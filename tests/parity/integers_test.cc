// Layers that somebody trained, as integers: the reference's weights are imported and quantised, and the reference's
// inputs give the reference's outputs, to the size of the precision.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rung/exact/machine.h"
#include "rung/exact/quantise.h"
#include "tests/parity/released_case.h"

namespace rung::parity {
namespace {

std::vector<ReleasedCase> integer_cases() {
  std::vector<ReleasedCase> all;
  for (auto& one : released_cases())
    for (const char* name : {"mamba", "mamba2", "deltanet_negeig", "gated_deltanet",
                             "gated_deltanet_qwen3next", "loglinear_mamba2", "loglinear_gdn"})
      if (one.name == name) all.push_back(one);
  return all;
}

// The case's weights as rung imports them from a model on disk.
Weights imported(const ReleasedCase& one) {
  const auto folder =
      std::filesystem::path(testing::TempDir()) / fmt::format("integers-{}-{}", one.name, getpid());
  std::filesystem::remove_all(folder);
  const auto directory = write_model(one, folder);
  auto layer =
      import_layer({.directory = directory.path.string(), .from = directory.from, .layer = directory.layer});
  std::filesystem::remove_all(folder);
  RUNG_REQUIRE(layer.ok(), "{}", layer.error().message);
  return std::move(layer->weights);
}

// The imported layer alone: token t is the reference's input row t, and what is read is that row plus the output.
Weights layer_alone(const ReleasedCase& one) {
  Weights out = imported(one);
  auto& d = out.architecture.dimensions;
  d.norm = Norm::none;
  d.vocabulary = one.tokens();
  d.outputs = one.width();
  for (const char* name : {"norm.gain", "norm.epsilon", "layers.0.norm1.gain", "layers.0.norm1.epsilon"})
    out.tensors.erase(name);
  out.fields = {FieldSpec{"token", one.tokens(), 1, 0}};
  out.output = {OutputSpec::Kind::vector, one.width(), 0};
  out.tensors["embed.token.table"] =
      real_tensor({one.tokens(), one.width()}, one.numbers("input"), DType::f64);
  std::vector<double> identity(static_cast<std::size_t>(one.width() * one.width()), 0.0);
  for (std::int64_t i = 0; i < one.width(); ++i)
    identity[static_cast<std::size_t>(i * (one.width() + 1))] = 1;
  out.tensors["out.table"] = real_tensor({one.width(), one.width()}, identity, DType::f64);
  return out;
}

Prompt in_order(const ReleasedCase& one) {
  Prompt prompt{one.tokens(), {{}}};
  for (std::int64_t t = 0; t < one.tokens(); ++t) prompt.fields[0].push_back(t);
  return prompt;
}

// Root mean square of the error over that of the expected outputs.
double error_at(const Weights& real, const ReleasedCase& one, int precision,
                const std::vector<double>& expected) {
  CalibrationSet set{{in_order(one)}, {}};
  set.queries.resize(static_cast<std::size_t>(one.tokens()));
  std::iota(set.queries.begin(), set.queries.end(), std::int64_t{0});
  const auto integers = quantise(real, set, {.precision = precision});
  EXPECT_TRUE(integers) << integers.error().message;
  if (!integers) return INFINITY;
  const auto machine = Machine::load(integers->weights, {.positions = one.tokens()});
  EXPECT_TRUE(machine) << machine.error().message;
  if (!machine) return INFINITY;
  const auto rows = (*machine)->forward(in_order(one), set.queries);
  EXPECT_TRUE(rows) << rows.error().message;
  if (!rows) return INFINITY;
  const auto input = one.numbers("input");
  double error = 0, size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto width = static_cast<std::size_t>(one.width());
    const double got = std::ldexp(static_cast<double>((*rows)[i / width].logits[i % width]),
                                  -integers->weights.output.fraction) -
                       input[i];
    error += (got - expected[i]) * (got - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(error / size);
}

class IntegerLayer : public testing::TestWithParam<ReleasedCase> {};

TEST_P(IntegerLayer, has_the_reference_outputs_to_the_size_of_its_precision) {
  const auto& one = GetParam();
  const Weights real = layer_alone(one);
  const auto expected = one.numbers("output");
  const double twelve = error_at(real, one, 12, expected), fourteen = error_at(real, one, 14, expected),
               sixteen = error_at(real, one, 16, expected);
  RecordProperty("twelve", std::to_string(twelve));
  RecordProperty("sixteen", std::to_string(sixteen));
  EXPECT_LT(twelve, 0.03);
  EXPECT_LT(fourteen, twelve / 2);
  EXPECT_LT(sixteen, 0.002);
  EXPECT_LT(sixteen, twelve / 6);
  // The negative control: at three bits it is another layer.
  EXPECT_GT(error_at(real, one, 3, expected), 0.1);
  if (!one.content.contains("output_strong")) return;
  Weights strong = real;
  strong.architecture.stack.layers[0].options.push_back({"partition", std::string("strong")});
  EXPECT_LT(error_at(strong, one, 16, one.numbers("output_strong")), 0.002);
  EXPECT_GT(error_at(real, one, 16, one.numbers("output_strong")), 0.02);
}

// Forms that no case has: the layer of a case with other options, compared with its own outputs in reals. Those of the
// options that it came with are the reference's (parity_test.cc).
struct OtherForm {
  const char* name;
  const char* option;
  const char* value;
};
class OtherIntegerLayer : public testing::TestWithParam<OtherForm> {};

TEST_P(OtherIntegerLayer, has_its_outputs_in_reals_to_the_size_of_its_precision) {
  const auto& other = GetParam();
  const auto cases = released_cases();
  const auto one =
      *std::find_if(cases.begin(), cases.end(), [&](const auto& c) { return c.name == other.name; });
  Weights real = layer_alone(one);
  auto& options = real.architecture.stack.layers[0].options;
  if (other.option == std::string("rope")) {
    EXPECT_FALSE(quantise(real, {{in_order(one)}, {0}}, {.precision = 12}));  // what turns has no integers
    std::erase_if(options, [](const MixerOption& option) {
      return option.name == "rope" || option.name == "theta" || option.name == "rope_dim";
    });
  } else {  // norms
    real.tensors["layers.0.delta.offset"] = real.tensors.at("layers.0.delta.bias");
    real.tensors.erase("layers.0.delta.bias");
    const double epsilon = 1e-6;
    real.tensors["layers.0.select.epsilon"] = real_tensor({}, std::span(&epsilon, 1), DType::f64);
  }
  options.push_back({other.option, std::string(other.value)});
  const auto machine = Machine::load(real, {.positions = one.tokens(), .unrounded = true});
  ASSERT_TRUE(machine) << machine.error().message;
  std::vector<std::int64_t> queries(static_cast<std::size_t>(one.tokens()));
  std::iota(queries.begin(), queries.end(), std::int64_t{0});
  const auto rows = (*machine)->forward(in_order(one), queries);
  ASSERT_TRUE(rows) << rows.error().message;
  std::vector<double> expected;
  const auto input = one.numbers("input");
  for (const auto& row : *rows)
    for (const double logit : row.real_logits) expected.push_back(logit - input[expected.size()]);
  const double twelve = error_at(real, one, 12, expected), sixteen = error_at(real, one, 16, expected);
  EXPECT_LT(twelve, 0.03);
  EXPECT_LT(sixteen, 0.002);
  EXPECT_LT(sixteen, twelve / 6);
  EXPECT_GT(error_at(real, one, 3, expected), 0.1);
}
INSTANTIATE_TEST_SUITE_P(Parity, OtherIntegerLayer,
                         testing::Values(OtherForm{"nsa", "rope", "none"},
                                         OtherForm{"mamba", "norms", "after"},
                                         OtherForm{"mamba", "norms", "before"}),
                         [](const auto& info) {
                           return fmt::format("{}_{}", info.param.name, info.param.value);
                         });

std::string integer_case_name(const testing::TestParamInfo<ReleasedCase>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Parity, IntegerLayer, testing::ValuesIn(integer_cases()), integer_case_name);

}  // namespace
}  // namespace rung::parity
