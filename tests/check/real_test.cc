// Real files in the checker: its intervals hold what the machine computes in doubles, for every mixer; wrong
// answers of float models are verified, and a decision that rounding could change is not.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "check/model.h"
#include "rung/adversary/attack.h"
#include "rung/base/random.h"
#include "rung/exact/machine.h"
#include "tests/check/brute_force.h"
#include "tests/check/model_bytes.h"
#include "tests/check/verdict_of.h"
#include "tests/exact/random_real_model.h"

namespace rung {
namespace {

constexpr std::int64_t kRealPositions = 13, kRealVocabulary = 7;
constexpr double kClose =
    1e-8;  // wider than the doubles' errors here, far narrower than any other meaning of a line of the page

Dimensions small_dimensions(MlpActivation activation = MlpActivation::gelu) {
  Dimensions dimensions;
  dimensions.width = 8;
  dimensions.heads = 2;
  dimensions.state = 3;
  dimensions.mlp = {12};
  dimensions.mlp_given = true;
  dimensions.norm = Norm::rms;
  dimensions.activation = activation;
  dimensions.vocabulary = kRealVocabulary;
  dimensions.context = kRealPositions;
  dimensions.precision = {NumberFormat::fp32, 32, 0};
  return dimensions;
}

Prompt random_prompt(Random& random) {
  Prompt prompt{kRealPositions, {{}}};
  for (std::int64_t t = 0; t < kRealPositions; ++t)
    prompt.fields[0].push_back(static_cast<std::int64_t>(random.below(kRealVocabulary)));
  return prompt;
}

class RealFile : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(
    Lines, RealFile,
    testing::Values("full", "full(window=3,conv=2)", "full(chunk=4)", "topk(k=3,form=plain)",
                    "sparse(B=4,k=2,form=plain)", "sparse(B=4,k=2,window=3,form=plain)", "linear",
                    "linear(feature=exp)", "linear(feature=taylor2)",
                    "linear(feature=relu,normalised=no,conv=2)", "mamba(conv=3,form=plain)",
                    "mamba2(conv=2,form=plain)", "delta(form=plain)", "gdelta(form=plain)+full",
                    "delta(range=2,form=plain)", "gdelta(steps=2,conv=2,range=2,form=plain)",
                    "loglinear(base=linear)", "loglinear(base=mamba2,form=plain)",
                    "loglinear(base=gdelta,form=plain)", "rnn", "rnn(cell=relu)", "gru", "conv(width=3)",
                    "identity+full", "heads(full:1,gdelta(form=plain):1)+none"));
INSTANTIATE_TEST_SUITE_P(
    Released, RealFile,
    testing::Values("mamba2(form=released,conv=3)",
                    "mamba2(form=released,heads=4,dim=2,groups=2,norm=before,skip=channel,gate=sigmoid)",
                    "mamba2(form=released,norm=none,decay=sigmoid,conv=2,conv_bias=no)",
                    "mamba(form=released,conv=2)", "mamba(form=released,norms=after)",
                    "mamba(form=released,norms=before,rank=3)", "delta(form=released,conv=2)",
                    "delta(form=released,qk_act=elu1,qk_norm=sum,beta=no)",
                    "gdelta(form=released,kv=1,conv=3)",
                    "gdelta(form=released,decay=sigmoid,qk_norm=none,norm=after)",
                    "loglinear(base=mamba2,form=released)", "loglinear(base=gdelta,form=released,conv=2)",
                    "loglinear(base=gdelta,form=released,partition=strong)",
                    "sparse(form=released,rope=none,B=3,k=2,window=3)",
                    "sparse(form=released,rope=none,B=2,k=3,compress=linear,span=4,stride=2)",
                    "sparse(form=released,rope=none,B=4,k=2,compress=weighted,span=2,local=1)",
                    "sparse(form=released,rope=none,B=4,k=2,kv=1,compress=pool,first=0)",
                    "topk(form=released,rope=none,index_rope=none,k=3,index_heads=2)",
                    "heads(mamba2(form=released,dim=2):1,gdelta(form=released,dim=2):2)"));

TEST_P(RealFile, is_enclosed_where_the_machine_computes_it) {
  Random random(5);
  for (const auto activation : {MlpActivation::gelu, MlpActivation::silu, MlpActivation::relu}) {
    Weights weights = random_real_weights({GetParam(), small_dimensions(activation)});
    if (activation == MlpActivation::relu)  // and layer norms in place of norms by the root mean square
      for (const char* norm : {"norm.bias", "layers.0.norm1.bias"}) {
        std::vector<double> bias(8);
        for (auto& b : bias) b = static_cast<double>(random.between(-9, 9)) / 8;
        weights.tensors[norm] = real_tensor({8}, bias, DType::f32);
      }
    const auto machine = Machine::load(weights, {.positions = kRealPositions, .unrounded = true});
    ASSERT_TRUE(machine) << machine.error().message;
    rung_check::Budget budget;
    rung_check::RealModel model(model_bytes(weights), budget);
    const Prompt prompt = random_prompt(random);
    const std::vector<std::int64_t> wanted{0, 3, 7, 8, kRealPositions - 1};
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
  const auto task = task_of("index", {{"n", kRealPositions - 1}, {"sigma", 4}});
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
  for (const char* line :
       {"full", "gdelta(form=plain)+full", "mamba2(conv=2,form=plain)", "gdelta(form=released)+full",
        "mamba(form=released,norms=after)", "loglinear(base=mamba2,form=released,partition=strong)",
        "sparse(form=released,rope=none,B=3,k=2)"}) {
    const auto [certificate, model] = wrong_answer_of(line);
    std::string reason;
    EXPECT_EQ(verdict_of(certificate, model, &reason), CheckVerdict::verified) << line << ": " << reason;
  }
}

class OtherAnswer : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Lines, OtherAnswer, testing::Values("full", "gdelta(form=released)"));
TEST_P(OtherAnswer, of_a_real_file_is_rejected) {
  const auto [certificate, model] = wrong_answer_of(GetParam());
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
  const auto task = task_of("index", {{"n", kRealPositions - 1}, {"sigma", 4}});
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
      WrongAnswerClaim{
          prompt, kRealPositions - 1, {task->answer(prompt)[0] == 0 ? 1 : 0}, task->answer(prompt)},
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

TEST(real_file, is_malformed_with_a_negative_epsilon) {
  const auto task = task_of("index", {{"n", kRealPositions - 1}, {"sigma", 4}});
  Dimensions dimensions = small_dimensions();
  dimensions.vocabulary = task->fields()[0].size;
  Weights weights = random_real_weights({"full", dimensions});
  rung_check::Budget budget;
  for (const char* name : {"norm.epsilon", "layers.0.norm1.epsilon", "layers.0.norm2.epsilon"}) {
    Weights changed = weights;
    changed.tensors.insert_or_assign(name, real_tensor({}, std::vector<double>{1e-5}, DType::f64));
    EXPECT_NO_THROW(rung_check::RealModel(model_bytes(changed), budget)) << name;
    changed.tensors.insert_or_assign(name, real_tensor({}, std::vector<double>{-1e-5}, DType::f64));
    EXPECT_THROW(rung_check::RealModel(model_bytes(changed), budget), rung_check::Malformed) << name;
  }
}

// Selection and its scores are work. What twice the tokens cost beyond twice the work is due to pairs of
// tokens alone, 128^2 of them more: per pair 4 index heads of 4 numbers and their weights, or 2 heads of 4 +
// 4 numbers and an exponential over compressed tokens, and 4 numbers each to select. A layer behind reads all of it: of
// the last layer only the row that is asked for is computed.
TEST(real_file, charges_for_what_is_selected_from) {
  const std::vector<std::pair<const char*, double>> per_pair = {
      {"topk(k=1,index_heads=4,form=plain)+none", 4 * (4 + 1)},
      {"sparse(B=1,k=1,form=plain)+none", 2 * (4 + 4 + 4) + 2 * 4}};
  for (const auto& [line, numbers] : per_pair) {
    Dimensions dimensions = small_dimensions();
    dimensions.context = 256;
    rung_check::Budget loading;
    rung_check::RealModel model(model_bytes(random_real_weights({line, dimensions, 1, 1})), loading);
    const auto work = [&](std::int64_t positions) {
      const std::uint64_t before = loading.worked();
      try {
        model.outputs({positions, {rung_check::Row(static_cast<std::size_t>(positions), 1)}}, positions - 1);
      } catch (const rung_check::Rejected&) {
      }
      return static_cast<double>(loading.worked() - before);
    };
    EXPECT_GT(work(256) - 2 * work(128), rung_check::kPerInterval * numbers * 128 * 128) << line;
  }
}

// Pair by pair, as the words say it.
std::optional<rung_check::Row> largest_by_pairs(const rung_check::Reals& values, std::int64_t k) {
  const auto n = static_cast<std::int64_t>(values.size());
  const auto before = [&](std::int64_t i, std::int64_t j) {
    const auto &in = values[static_cast<std::size_t>(i)], &out = values[static_cast<std::size_t>(j)];
    return in.low > out.high || (in.low == in.high && out.is(in.low) && i < j);
  };
  rung_check::Row chosen;
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t behind = 0;
    for (std::int64_t j = 0; j < n; ++j) behind += j != i && before(i, j) ? 1 : 0;
    if (behind >= n - k) chosen.push_back(i);
  }
  if (n <= k) return chosen;
  if (static_cast<std::int64_t>(chosen.size()) != k) return std::nullopt;
  for (const auto i : chosen)
    for (std::int64_t j = 0; j < n; ++j)
      if (std::find(chosen.begin(), chosen.end(), j) == chosen.end() && !before(i, j)) return std::nullopt;
  return chosen;
}

TEST(real_file, selects_where_every_pair_is_certain) {
  using rung_check::Real;
  const double inf = rung_check::kInfinity;
  const std::vector<Real> kinds = {{-inf, inf}, Real(0), Real(1),   {0, 1},
                                   {0.5, 0.75}, {1, 2},  {-inf, 0}, {1, inf}};
  std::size_t certain = 0, uncertain = 0;
  for (std::int64_t n = 1; n <= 4; ++n) {
    std::int64_t all = 1;
    for (std::int64_t i = 0; i < n; ++i) all *= static_cast<std::int64_t>(kinds.size());
    for (std::int64_t code = 0; code < all; ++code)
      for (std::int64_t k = 1; k <= n; ++k) {
        rung_check::Reals values;
        for (std::int64_t i = 0, rest = code; i < n; ++i, rest /= static_cast<std::int64_t>(kinds.size()))
          values.push_back(kinds[static_cast<std::size_t>(rest) % kinds.size()]);
        const auto expected = largest_by_pairs(values, k);
        rung_check::Budget budget;
        std::optional<rung_check::Row> found;
        try {
          found = rung_check::largest(values, k, budget);
        } catch (const rung_check::Rejected&) {
        }
        ASSERT_EQ(found, expected) << n << " " << code << " " << k;
        ++(found ? certain : uncertain);
      }
  }
  EXPECT_GT(certain, 1000u);
  EXPECT_GT(uncertain, 1000u);
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
