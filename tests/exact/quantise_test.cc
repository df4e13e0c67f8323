#include "rung/exact/quantise.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <cstdlib>

#include "rung/base/random.h"
#include "rung/exact/machine.h"
#include "rung/spec/quantisable.h"
#include "rung/tasks/task.h"
#include "tests/exact/random_real_model.h"

namespace rung {
namespace {

constexpr std::int64_t kLength = 20, kVocabulary = 11;

Dimensions small(Norm norm = Norm::rms) {
  Dimensions d;
  d.width = 16;
  d.heads = 2;
  d.state = 4;
  d.mlp = {24};
  d.mlp_given = true;
  d.norm = norm;
  d.vocabulary = kVocabulary;
  d.context = kLength;
  return d;
}

CalibrationSet prompts(int count, std::uint64_t seed) {
  Random random(seed);
  CalibrationSet set;
  for (int i = 0; i < count; ++i) {
    Prompt prompt;
    prompt.positions = kLength;
    prompt.fields.emplace_back();
    for (std::int64_t t = 0; t < kLength; ++t)
      prompt.fields[0].push_back(static_cast<std::int64_t>(random.below(kVocabulary)));
    set.prompts.push_back(prompt);
  }
  set.queries = {kLength / 2, kLength - 1};
  return set;
}

// Agreement and logit error on prompts that the calibration did not see.
struct Fidelity {
  double agreement = 0, error = 0;
};
Fidelity fidelity(const Weights& real, const Weights& integers, const CalibrationSet& fresh) {
  const auto a = read_all(real, fresh, nullptr), b = read_all(integers, fresh, nullptr);
  EXPECT_TRUE(a) << a.error().message;
  EXPECT_TRUE(b) << b.error().message;
  double cross = 0, own = 0, error = 0, spread = 0;
  std::size_t same = 0, all = 0;
  for (std::size_t i = 0; i < a->logits.size(); ++i) {
    for (std::size_t j = 0; j < a->answers[i].size(); ++j, ++all)
      same += a->answers[i][j] == b->answers[i][j];
    for (std::size_t j = 0; j < a->logits[i].size(); ++j)
      cross += a->logits[i][j] * b->logits[i][j], own += b->logits[i][j] * b->logits[i][j];
  }
  for (std::size_t i = 0; i < a->logits.size(); ++i)
    for (std::size_t j = 0; j < a->logits[i].size(); ++j) {
      error += std::pow(a->logits[i][j] - cross / own * b->logits[i][j], 2);
      spread += std::pow(a->logits[i][j], 2);
    }
  return {static_cast<double>(same) / static_cast<double>(all), std::sqrt(error / spread)};
}

struct Case {
  const char* line;
  bool conv_table = false;
  MlpActivation activation = MlpActivation::relu;
};
const Case kCases[] = {
    {"full*2"},
    {"full(window=5)"},
    {"full(chunk=4)"},
    {"full(conv=3)", true},
    {"full", false, MlpActivation::gelu},
    {"topk(k=6,form=plain)"},
    {"topk(form=released,rope=none,index_rope=none,k=6,index_heads=2,index_dim=4)"},
    {"sparse(B=4,k=2,form=plain)"},
    {"sparse(B=4,k=2,window=3,form=plain)"},
    {"linear"},
    {"linear(feature=identity,normalised=no)"},
    {"linear(feature=relu)"},
    {"linear(feature=exp)"},
    {"linear(feature=taylor2)"},
    {"linear(conv=3)", true},
    {"mamba(form=plain)"},
    {"mamba2(form=plain)"},
    {"mamba2(conv=3,form=plain)", true},
    {"delta(form=plain)"},
    {"gdelta(conv=2,form=plain)"},
    {"delta(range=2,form=plain)"},
    {"gdelta(steps=2,range=2,form=plain)"},
    {"loglinear(base=linear)"},
    {"loglinear(base=mamba2,form=plain)"},
    {"loglinear(base=gdelta,form=plain)"},
    {"mamba2(form=released)"},
    {"mamba2(form=released,heads=4,dim=4,groups=2,conv=3)"},
    {"mamba2(form=released,norm=before,skip=channel,gate=sigmoid,conv=2)"},
    {"mamba(form=released,conv=2)"},
    {"mamba(form=released,norms=after)"},
    {"mamba(form=released,norms=before,rank=4,conv=2)"},
    {"delta(form=released,conv=2)"},
    {"delta(form=released,qk_act=elu1,qk_norm=sum,act=none,beta=no,norm=none)"},
    {"gdelta(form=released,kv=1,conv=3,conv_bias=yes,range=2)"},
    {"gdelta(form=released,decay=sigmoid,qk_act=none)"},
    {"loglinear(base=mamba2,form=released,conv=2)"},
    {"loglinear(base=gdelta,form=released)"},
    {"loglinear(base=mamba2,form=released,partition=strong)"},
    {"loglinear(base=gdelta,form=released,partition=strong,conv=2)"},
    {"sparse(form=released,rope=none,B=4,k=3,window=3)"},
    {"sparse(form=released,rope=none,B=4,k=2,kv=1,compress=pool,span=4,stride=2)"},
    {"sparse(form=released,rope=none,B=2,k=3,compress=weighted,span=4,stride=2,local=1)"},
    {"sparse(form=released,rope=none,B=4,k=3,compress=linear)"},
    {"rnn"},
    {"rnn(cell=relu)"},
    {"gru", false, MlpActivation::silu},
    {"conv(width=3)"},
    {"identity"},
    {"heads(full:1,linear:1)"},
    {"none+full"},
    {"gdelta(form=plain)*2+full"},
};

Weights real_model(const Case& c, Norm norm = Norm::rms) {
  auto dimensions = small(norm);
  dimensions.activation = c.activation;
  Weights real = random_real_weights({c.line, dimensions});
  if (c.conv_table) real.tables["layers.0.conv"] = {"silu", 0, 0};
  return real;
}
Fidelity at_precision(const Weights& real, QuantiseOptions options) {
  const auto integers = quantise(real, prompts(12, 1), options);
  EXPECT_TRUE(integers) << integers.error().message;
  if (!integers) return {};
  EXPECT_EQ(integers->weights.mode, WeightMode::integer);
  return fidelity(real, integers->weights, prompts(16, 2));
}

class QuantiseMixer : public testing::TestWithParam<Case> {};

// Negative control: the comparison tells two models apart.
TEST(Quantise, another_model_is_not_close) {
  const Weights real = real_model({"full"});
  Weights other = random_real_weights({"full", small(), 2});
  const auto integers = quantise(other, prompts(12, 1), {.precision = 16});
  ASSERT_TRUE(integers) << integers.error().message;
  const auto f = fidelity(real, integers->weights, prompts(16, 2));
  EXPECT_LT(f.agreement, 0.5);
  EXPECT_GT(f.error, 0.5);
}

TEST_P(QuantiseMixer, is_close_when_wide_and_closer_the_wider) {
  const Weights real = real_model(GetParam());
  const auto narrow = at_precision(real, {.precision = 8}), wide = at_precision(real, {.precision = 16});
  // mamba2 writes products of two channels into entries of p bits, so its channels have half of them.
  EXPECT_LT(wide.error, 0.02);
  EXPECT_LT(wide.error, narrow.error / 8);
  EXPECT_GE(wide.agreement, 0.93);
}

TEST_P(QuantiseMixer, still_loads_at_two_to_four_bits) {
  const Weights real = real_model(GetParam());
  for (const int p : {2, 3, 4}) {
    const auto integers = quantise(real, prompts(4, 1), {.precision = p});
    ASSERT_TRUE(integers) << p << ": " << integers.error().message;
    for (const auto& scale : integers->scales) EXPECT_GE(scale.bits, p) << scale.name;
  }
}
INSTANTIATE_TEST_SUITE_P(EveryMixer, QuantiseMixer, testing::ValuesIn(kCases), [](const auto& info) {
  std::string name;
  for (const char letter : std::string(info.param.line)) name += std::isalnum(letter) ? letter : '_';
  return name + "_" + std::to_string(info.index);
});

TEST(Quantise, keeps_models_without_norms) {
  for (const char* line : {"full", "gdelta(form=plain)", "gru"}) {
    const auto f = at_precision(real_model({line}, Norm::none), {.precision = 16});
    EXPECT_LT(f.error, 0.01) << line;
  }
}

TEST(Quantise, state_entries_and_accumulators_have_the_declared_width) {
  const Weights real = real_model({"linear(feature=relu)"});
  for (const auto sums : {Accumulator::exact, Accumulator::wrap, Accumulator::round}) {
    const auto integers =
        quantise(real, prompts(12, 1), {.precision = 10, .accumulator_bits = 20, .accumulator = sums});
    ASSERT_TRUE(integers) << integers.error().message;
    EXPECT_EQ(integers->weights.accumulator, sums);
    EXPECT_EQ(integers->weights.architecture.dimensions.accumulator_bits, 20);
    const auto f = fidelity(real, integers->weights, prompts(16, 2));
    EXPECT_LT(f.error, 0.05) << accumulator_name(sums);
  }
  // Wider entries serve a recurrence that adds products without a shift.
  const Weights products = real_model({"mamba2(form=plain)"});
  EXPECT_LT(at_precision(products, {.precision = 8, .accumulator_bits = 20}).error,
            at_precision(products, {.precision = 8}).error);
}

TEST(Quantise, takes_the_fractions_that_the_file_notes_unless_answers_are_lost) {
  Weights real = real_model({"full"});
  real.notes["fraction.stream"] = "7";
  real.notes["fraction.layers.0.q"] = "6";
  auto noted = [&](int precision) {
    const auto integers = quantise(real, prompts(6, 1), {.precision = precision});
    EXPECT_TRUE(integers) << integers.error().message;
    int count = 0;
    for (const auto& scale : integers->scales) {
      if (scale.name == "stream" && scale.noted) EXPECT_EQ(scale.fraction, 7);
      if (scale.name == "layers.0.q" && scale.noted) EXPECT_EQ(scale.fraction, 6);
      count += scale.noted;
    }
    EXPECT_EQ(integers->weights.notes.count("fraction.stream"), 0u);
    return count;
  };
  EXPECT_EQ(noted(12), 2);
  EXPECT_EQ(noted(4), 0);  // seven digits behind the point leave nothing of four bits
  real.notes["fraction.stream"] = "three";
  const auto bad = quantise(real, prompts(6, 1), {.precision = 8});
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("fraction.stream"), std::string::npos);
}

TEST(Quantise, refuses_by_name_what_has_no_integer_form) {
  auto refused = [](const Weights& weights, QuantiseOptions options, const std::string& word) {
    const auto result = quantise(weights, prompts(2, 1), options);
    ASSERT_FALSE(result) << word;
    EXPECT_NE(result.error().message.find(word), std::string::npos) << result.error().message;
  };
  Weights real = real_model({"full"});
  Weights rope = real;
  rope.architecture.dimensions.position = PositionCode::rope;
  refused(rope, {}, "rope");
  EXPECT_FALSE(quantisable(rope.architecture));
  EXPECT_TRUE(quantisable(real.architecture));
  Weights opaque = real;
  opaque.architecture.stack = *parse_stack("recurrent(kind=kimi,elements=64)");
  refused(opaque, {}, "recurrent");
  for (const char* line : {"kda", "sparse(B=2,k=1,form=released)"}) {
    Weights reals_alone = real;
    reals_alone.architecture.stack = *parse_stack(line);
    refused(reals_alone, {}, "has no integer form");
  }
  Weights integer = real;
  integer.mode = WeightMode::integer;
  refused(integer, {}, "integers already");
  Weights odd = real;
  odd.tables["layers.0.mlp.0"] = {"sine", 0, 0};
  refused(odd, {}, "sine");
  Weights layer_norm = real;
  layer_norm.tensors["norm.bias"] = real_tensor({16}, std::vector<double>(16, 0.5), DType::f32);
  refused(layer_norm, {}, "norm.bias");
  refused(real, {.precision = 1}, "precision");
  refused(real, {.precision = 49}, "precision");
  refused(real, {.accumulator_bits = 63}, "accumulator-bits");
  refused(real, {.weight_bits = 33}, "weight-bits");
  Weights huge = real;
  const std::vector<double> top(static_cast<std::size_t>(16 * kVocabulary), 3e38);
  huge.tensors["embed.token.table"] = real_tensor({kVocabulary, 16}, top, DType::f32);
  EXPECT_FALSE(quantise(huge, prompts(2, 1), {}));
}

TEST(Quantise, does_not_depend_on_the_number_of_workers) {
  const Weights real = real_model({"gdelta(form=plain)*2+full"});
  setenv("RUNG_THREADS", "1", 1);
  const auto one = quantise(real, prompts(12, 1), {.precision = 6});
  setenv("RUNG_THREADS", "3", 1);
  const auto three = quantise(real, prompts(12, 1), {.precision = 6});
  unsetenv("RUNG_THREADS");
  ASSERT_TRUE(one && three);
  ASSERT_EQ(one->weights.tensors.size(), three->weights.tensors.size());
  for (const auto& [name, tensor] : one->weights.tensors)
    for (std::int64_t i = 0; i < tensor.size(); ++i)
      ASSERT_EQ(tensor.real(i), three->weights.tensors.at(name).real(i)) << name;
}

TEST(Quantise, sums_stay_exact_at_sixteen_bits_and_usual_sizes) {
  for (const char* line : {"full", "linear", "mamba(form=plain)", "mamba2(form=plain)", "gdelta(form=plain)",
                           "gru", "loglinear(base=gdelta,form=plain)"}) {
    auto dimensions = small();
    dimensions.width = 64;
    dimensions.heads = 2;
    dimensions.mlp = {256};
    dimensions.context = 256;
    const Weights real = random_real_weights({line, dimensions});
    const auto integers = quantise(real, prompts(2, 1), {.precision = 16});
    ASSERT_TRUE(integers) << line << ": " << integers.error().message;
    const auto machine = Machine::load(integers->weights, {.positions = 256});
    EXPECT_TRUE(machine) << line << ": " << machine.error().message;
  }
}

// tests/cases/models/eva_real.safetensors solves Eva (n = 16) in floats.
double eva_accuracy(const Weights& weights, const Task& task) {
  const auto machine = Machine::load(weights, {.positions = task.prompt_length()});
  EXPECT_TRUE(machine) << machine.error().message;
  int right = 0;
  constexpr int kInstances = 400;
  for (int i = 0; i < kInstances; ++i) {
    const auto instance = task.generate(Variant::uniform, 2, static_cast<std::uint64_t>(i));
    right += (*(*machine)->forward(instance.prompt, task.query_positions()))[0].answer == instance.answer;
  }
  return static_cast<double>(right) / kInstances;
}

TEST(Quantise, a_model_that_solves_eva_keeps_solving_it_at_six_bits_and_loses_it_at_two) {
  const auto real = read_weights(RUNG_SOURCE_DIR "/tests/cases/models/eva_real.safetensors");
  ASSERT_TRUE(real) << real.error().message;
  const auto task = make_task("eva", {{"n", 16}});
  CalibrationSet set{{}, (*task)->query_positions()};
  for (std::uint64_t i = 0; i < 32; ++i)
    set.prompts.push_back((*task)->generate(Variant::uniform, 1, i).prompt);
  EXPECT_EQ(eva_accuracy(*real, **task), 1);
  for (const int p : {6, 8, 12, 16}) {
    const auto integers = quantise(*real, set, {.precision = p});
    ASSERT_TRUE(integers) << integers.error().message;
    EXPECT_EQ(eva_accuracy(integers->weights, **task), 1) << p;
  }
  const auto tiny = quantise(*real, set, {.precision = 8, .weight_bits = 2});
  ASSERT_TRUE(tiny) << tiny.error().message;
  const auto two = quantise(*real, set, {.precision = 2});
  ASSERT_TRUE(two) << two.error().message;
  EXPECT_LT(eva_accuracy(two->weights, **task), 0.9);
}

TEST(Quantise, refining_never_makes_the_real_answers_less_likely) {
  const Weights real = real_model({"full"});
  const auto set = prompts(12, 1);
  const auto plain = quantise(real, set, {.precision = 3}),
             refined = quantise(real, set, {.precision = 3, .refine = 2});
  ASSERT_TRUE(plain && refined);
  EXPECT_GE(refined->agreement, plain->agreement);
  EXPECT_LT(refined->logit_error, plain->logit_error);
  EXPECT_FALSE(quantise(real, set, {.precision = 3, .refine = -1}));
}

// Inputs and outputs of every kind.
TEST(Quantise, keeps_binary_codes_thresholds_and_vectors) {
  auto dimensions = small();
  dimensions.position = PositionCode::binary;
  Weights real = random_real_weights({"full", dimensions});
  Random random(5);
  auto draw = [&](std::vector<std::int64_t> shape, double spread) {
    std::int64_t count = 1;
    for (const auto extent : shape) count *= extent;
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(spread * (2 * random.unit() - 1));
    return real_tensor(shape, values, DType::f32);
  };
  real.tensors.erase("embed.token.table");
  real.tensors["embed.token.binary"] = draw({5, 16}, 1);  // four digits and the constant
  real.tensors["out.table"] = draw({3, 16}, 1);
  real.tensors["out.bias"] = draw({3}, 0.5);
  real.output = {OutputSpec::Kind::vector, 3, 2};
  const auto set = prompts(12, 1), fresh = prompts(16, 2);
  auto vectors = quantise(real, set, {.precision = 14});
  ASSERT_TRUE(vectors) << vectors.error().message;
  const auto expected = read_all(real, fresh, nullptr), given = read_all(vectors->weights, fresh, nullptr);
  ASSERT_TRUE(expected && given);
  for (std::size_t i = 0; i < expected->logits.size(); ++i)
    for (std::size_t j = 0; j < expected->logits[i].size(); ++j)
      EXPECT_NEAR(std::ldexp(expected->logits[i][j], -2),
                  std::ldexp(given->logits[i][j], -vectors->weights.output.fraction), 0.01);
  real.output = {OutputSpec::Kind::binary, 3, 0};
  real.tensors["out.threshold"] = draw({3}, 0.5);
  const auto codes = quantise(real, set, {.precision = 14});
  ASSERT_TRUE(codes) << codes.error().message;
  EXPECT_GE(fidelity(real, codes->weights, fresh).agreement, 0.95);
  const auto coarse = quantise(real, set, {.precision = 2});
  ASSERT_TRUE(coarse) << coarse.error().message;
}

TEST(Quantise, keeps_encoders_and_chains_of_thought) {
  auto dimensions = small();
  dimensions.causal = false;
  for (const char* line : {"full", "linear", "topk(k=5,form=plain)"}) {
    const Weights encoder = random_real_weights({line, dimensions});
    EXPECT_LT(at_precision(encoder, {.precision = 16}).error, 0.02) << line;
  }
  dimensions = small();
  dimensions.context = kLength + 3;
  Weights thinker = random_real_weights({"gdelta(form=plain)+full", dimensions});
  thinker.decode = {4, std::nullopt};
  const auto integers = quantise(thinker, prompts(12, 1), {.precision = 16});
  ASSERT_TRUE(integers) << integers.error().message;
  EXPECT_EQ(integers->weights.decode, thinker.decode);
  const auto fresh = prompts(16, 2);
  const auto real = read_all(thinker, fresh, nullptr), given = read_all(integers->weights, fresh, nullptr);
  ASSERT_TRUE(real && given);
  std::size_t same = 0;
  for (std::size_t i = 0; i < fresh.prompts.size(); ++i) same += real->answers[i] == given->answers[i];
  EXPECT_GE(same, fresh.prompts.size() - 1);
}

// The choice of a fraction against the plain sum over the values.
TEST(QuantiseCalibration, best_fraction_has_the_least_error_on_what_was_seen) {
  Random random(7);
  for (const int bits : {3, 5, 8, 12}) {
    ValueHistogram seen;
    std::vector<double> values;
    for (int i = 0; i < 4000; ++i) {
      double x = 0;
      for (int j = 0; j < 12; ++j) x += random.unit() - 0.5;
      values.push_back(i % 400 == 0 ? 6 * x : x);
      seen.add(values.back());
    }
    auto error = [&](int fraction) {
      const double high = std::ldexp(1.0, bits - 1) - 1;
      double total = 0;
      for (const double x : values) {
        const double stored =
            std::ldexp(std::clamp(std::nearbyint(std::ldexp(x, fraction)), -high - 1, high), -fraction);
        total += (x - stored) * (x - stored);
      }
      return total;
    };
    // One value half as large again is expected.
    double largest = 0;
    for (const double x : values) largest = std::max(largest, std::abs(x));
    auto expected = [&](int fraction) {
      const double clipped =
          std::max(0.0, 1.5 * largest - std::ldexp(std::ldexp(1.0, bits - 1) - 1, -fraction));
      return error(fraction) + clipped * clipped;
    };
    const int chosen = best_fraction(seen, bits, 1);
    for (int other = -6; other < 16; ++other)
      EXPECT_LE(expected(chosen), 1.1 * expected(other)) << bits << ": " << chosen << " against " << other;
    EXPECT_NEAR(seen.squared_error(bits, chosen, 1, false) / error(chosen), 1, 0.15) << bits;
  }
}

}  // namespace
}  // namespace rung
