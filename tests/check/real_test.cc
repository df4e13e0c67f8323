// Real files in the checker: its intervals hold what the machine computes in doubles, for every mixer; wrong
// answers of float models are verified, and a decision that rounding could change is not.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "check/real_model.h"
#include "rung/adversary/attack.h"
#include "rung/exact/machine.h"
#include "rung/spec/random.h"
#include "tests/check/brute_force.h"
#include "tests/check/model_bytes.h"
#include "tests/check/verdict_of.h"
#include "tests/exact/random_real_model.h"

namespace rung {
namespace {

constexpr std::int64_t kPositions = 13, kVocabulary = 7;
constexpr double kClose =
    1e-9;  // wider than the doubles' errors here, far narrower than any other meaning of a line of the page

Dimensions small_dimensions(MlpActivation activation = MlpActivation::gelu) {
  Dimensions dimensions;
  dimensions.width = 8;
  dimensions.heads = 2;
  dimensions.state = 3;
  dimensions.mlp = {12};
  dimensions.mlp_given = true;
  dimensions.norm = Norm::rms;
  dimensions.activation = activation;
  dimensions.vocabulary = kVocabulary;
  dimensions.context = kPositions;
  dimensions.precision = {NumberFormat::fp32, 32, 0};
  return dimensions;
}

Prompt random_prompt(Random& random) {
  Prompt prompt{kPositions, {{}}};
  for (std::int64_t t = 0; t < kPositions; ++t)
    prompt.fields[0].push_back(static_cast<std::int64_t>(random.below(kVocabulary)));
  return prompt;
}

class RealFile : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Lines, RealFile,
                         testing::Values("full", "full(window=3,conv=2)", "full(chunk=4)", "topk(k=3)",
                                         "sparse(B=4,k=2)", "sparse(B=4,k=2,window=3)", "linear",
                                         "linear(feature=exp)", "linear(feature=taylor2)",
                                         "linear(feature=relu,normalised=no,conv=2)", "mamba(conv=3)",
                                         "mamba2(conv=2)", "delta", "gdelta+full", "loglinear(base=linear)",
                                         "loglinear(base=mamba2)", "loglinear(base=gdelta)", "rnn",
                                         "rnn(cell=relu)", "gru", "conv(width=3)", "identity+full",
                                         "heads(full:1,gdelta:1)+none"));

TEST_P(RealFile, is_enclosed_where_the_machine_computes_it) {
  Random random(5);
  for (const auto activation : {MlpActivation::gelu, MlpActivation::silu, MlpActivation::relu}) {
    const Weights weights = random_real_weights({GetParam(), small_dimensions(activation)});
    const auto machine = Machine::load(weights, {.positions = kPositions, .unrounded = true});
    ASSERT_TRUE(machine) << machine.error().message;
    rung_check::Budget budget;
    const rung_check::RealModel model(model_bytes(weights), budget);
    const Prompt prompt = random_prompt(random);
    const std::vector<std::int64_t> wanted{0, 3, 7, 8, kPositions - 1};
    const auto readouts = (*machine)->forward(prompt, wanted);
    ASSERT_TRUE(readouts) << readouts.error().message;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto z = model.outputs({prompt.positions, prompt.fields}, wanted[i]);
      const auto& expected = (*readouts)[i].real_logits;
      ASSERT_EQ(z.size(), expected.size());
      for (std::size_t c = 0; c < z.size(); ++c) {
        EXPECT_LT(z[c].high - z[c].low, kClose) << wanted[i] << " " << c;
        EXPECT_GT(expected[c], z[c].low - kClose) << wanted[i] << " " << c;
        EXPECT_LT(expected[c], z[c].high + kClose) << wanted[i] << " " << c;
      }
      double margin = 1;
      EXPECT_EQ(model.answer({prompt.positions, prompt.fields}, wanted[i], margin),
                (*readouts)[i].answer.front());
    }
  }
}

// A float model asked for index, with a wrong answer found by the attack.
struct Wrong {
  std::string certificate, model;
};
Wrong wrong_answer_of(const std::string& line, double spread = 1) {
  Dimensions dimensions = small_dimensions();
  const auto task = task_of("index", {{"n", kPositions - 1}, {"sigma", 4}});
  dimensions.vocabulary = task->fields()[0].size;
  const Weights weights = random_real_weights({line, dimensions, 1, spread});
  Wrong wrong{"", model_bytes(weights)};
  auto target = make_target(weights, task);
  RUNG_REQUIRE(target.ok(), "{}", target.error().message);
  target->model_sha256 = sha256(wrong.model);
  const auto outcome = attack(*target, "wrong-answer", {.seconds = 20});
  RUNG_REQUIRE(outcome.ok() && outcome->certificate, "no wrong answer");
  wrong.certificate = certificate_text(*outcome->certificate);
  return wrong;
}

std::string resealed(nlohmann::json document) {
  auto sealed = document;
  sealed.erase("seal");
  sealed.erase("notes");
  document["seal"] = sha256(sealed.dump());
  return document.dump();
}

TEST(real_file, has_wrong_answers_that_are_verified) {
  for (const char* line : {"full", "gdelta+full", "mamba2(conv=2)"}) {
    const auto [certificate, model] = wrong_answer_of(line);
    std::string reason;
    EXPECT_EQ(verdict_of(certificate, model, &reason), CheckVerdict::verified) << line << ": " << reason;
  }
}

TEST(real_file, rejects_every_other_answer) {
  const auto [certificate, model] = wrong_answer_of("full");
  auto document = nlohmann::json::parse(certificate);
  const std::int64_t said = document["claim"]["answer"][0], expected = document["claim"]["expected"][0];
  for (std::int64_t other = 0; other < 12; ++other) {
    if (other == said) continue;
    auto mutant = document;
    mutant["claim"]["answer"][0] = other;
    EXPECT_EQ(verdict_of(resealed(mutant), model), CheckVerdict::rejected) << other;
  }
  auto right = document;  // a prompt whose answer is right, were it claimed as wrong
  right["claim"]["expected"][0] = said;
  EXPECT_EQ(verdict_of(resealed(right), model), CheckVerdict::rejected);
  EXPECT_NE(said, expected);
}

TEST(real_file, is_too_close_to_call_where_two_logits_are_equal) {
  const auto task = task_of("index", {{"n", kPositions - 1}, {"sigma", 4}});
  Dimensions dimensions = small_dimensions();
  dimensions.vocabulary = task->fields()[0].size;
  Weights weights = random_real_weights({"full", dimensions});
  auto& table = weights.tensors.at("out.table");
  table =
      real_tensor(table.shape, std::vector<double>(static_cast<std::size_t>(table.size()), 0.1), DType::f64);
  const std::string model = model_bytes(weights);
  const Prompt prompt = task->generate(Variant::uniform, 1, 0).prompt;
  const Certificate certificate{
      sha256(model),
      certified_task(*task),
      WrongAnswerClaim{prompt, kPositions - 1, {task->answer(prompt)[0] == 0 ? 1 : 0}, task->answer(prompt)},
      {}};
  std::string reason;
  EXPECT_EQ(verdict_of(certificate_text(certificate), model, &reason), CheckVerdict::rejected);
  EXPECT_NE(reason.find("too close to call"), std::string::npos) << reason;
}

TEST(real_file, has_no_other_certificates) {
  const auto [certificate, model] = wrong_answer_of("full");
  for (const char* kind : {"collision", "sparse-pair", "fooling-pair", "construction"}) {
    auto document = nlohmann::json::parse(certificate);
    document["kind"] = kind;
    EXPECT_EQ(verdict_of(resealed(document), model), CheckVerdict::malformed) << kind;
  }
}

TEST(real_file, is_refused_where_it_is_damaged) {
  const auto [certificate, model] = wrong_answer_of("full");
  std::size_t flips = 0;
  for (std::size_t i = 0; i < model.size(); i += 1 + model.size() / 400) {
    std::string other = model;
    other[i] = static_cast<char>(other[i] ^ (1 << (i % 8)));
    auto document = nlohmann::json::parse(certificate);
    EXPECT_NE(verdict_of(certificate, other), CheckVerdict::verified) << i;
    document["model"]["sha256"] = sha256(other);
    verdict_of(resealed(document), other);  // some verdict, never a crash
    ++flips;
  }
  EXPECT_GT(flips, 300u);
}

TEST(interval, encloses_what_a_wider_type_computes) {
  Random random(1);
  const auto within = [](const rung_check::Real& interval, long double value) {
    return interval.low <= value && value <= interval.high;
  };
  for (int i = 0; i < 20'000; ++i) {
    const double a = (random.unit() - 0.5) * std::ldexp(1.0, static_cast<int>(random.below(40)) - 20),
                 b = (random.unit() - 0.5) * std::ldexp(1.0, static_cast<int>(random.below(12)) - 6);
    const long double x = a, y = b;
    using namespace rung_check;
    EXPECT_TRUE(within(Real(a) + Real(b), x + y) && within(Real(a) - Real(b), x - y) &&
                within(Real(a) * Real(b), x * y) && within(Real(a) / Real(b), x / y));
    EXPECT_TRUE(within(square_root(square(Real(a))), std::abs(x)));
    EXPECT_TRUE(within(exponential(Real(b)), std::exp(y)) &&
                within(sigmoid(Real(b)), 1 / (1 + std::exp(-y))) &&
                within(softplus(Real(b)), std::log1p(std::exp(y))));
    EXPECT_TRUE(within(hyperbolic_tangent(Real(b)), std::tanh(y)) &&
                within(error_function(Real(b)), std::erf(y)));
    EXPECT_TRUE(within(RealFunction{"gelu"}(Real(b)), y / 2 * (1 + std::erf(y / std::sqrt(2.0L)))) &&
                within(RealFunction{"silu"}(Real(b)), y / (1 + std::exp(-y))));
    if (HasFailure()) FAIL() << a << " " << b;
  }
}

}  // namespace
}  // namespace rung
