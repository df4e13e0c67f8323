// What the attacks hand over is what the checker verifies: every method that finishes in a moment on a toy
// model.
#include <gtest/gtest.h>

#include "rung/adversary/attack.h"
#include "tests/check/brute_force.h"
#include "tests/check/model_bytes.h"
#include "tests/check/verdict_of.h"

namespace rung {
namespace {

struct Case {
  std::string method, line, task;
  TaskSizes sizes;
  int precision = 4;
  PositionCode position = PositionCode::table;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.method << " on " << c.line << ", " << c.task; }

class Attacked : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(
    Models, Attacked,
    testing::Values(
        Case{"auto", "linear(heads=1,dim=2,normalised=no,feature=identity)", "eva", {{"n", 12}}},
        Case{"auto", "gdelta(heads=1,dim=2,form=plain)", "eva", {{"n", 10}}},
        Case{"auto", "rnn(size=3)+gru(size=2)", "index", {{"n", 24}, {"sigma", 2}}},
        Case{"auto",
             "mamba(inner=2,state=2,conv=2,form=plain)",
             "retrieval",
             {{"n", 6}, {"D", 3}, {"sigma", 4}}},
        Case{"auto",
             "mamba2(heads=1,dim=1,state=2,form=plain)+conv(width=2,channels=1)",
             "mqar",
             {{"n", 6}, {"M", 8}, {"sigma", 4}, {"queries", 2}}},
        Case{"auto", "mamba2(form=released,heads=1,dim=2,state=2,conv=2)", "eva", {{"n", 10}}},
        Case{"auto", "gdelta(form=released,heads=1,dim=2)", "eva", {{"n", 10}}},
        Case{"auto", "mamba(form=released,inner=2,state=2)", "eva", {{"n", 10}}},
        Case{"auto", "mamba(form=released,norms=after,inner=2,state=2)", "eva", {{"n", 10}}},
        Case{"auto",
             "loglinear(base=mamba2,form=released,partition=strong,heads=1,dim=1,state=1)",
             "eva",
             {{"n", 24}}},
        Case{"reachable", "delta(heads=1,dim=1,form=plain)", "eva", {{"n", 6}}},
        Case{"distinguished-points", "delta(heads=1,dim=2,form=plain)", "eva", {{"n", 10}}},
        Case{"hierarchical", "linear(heads=1,dim=1,normalised=no,feature=identity)*2", "eva", {{"n", 40}}},
        Case{"big-bucket", "loglinear(heads=1,dim=2)", "eva", {{"n", 16}}},
        Case{"big-bucket", "loglinear(heads=1,dim=2,base=gdelta,form=plain)", "eva", {{"n", 19}}},
        Case{"sparse-blocks",
             "sparse(B=2,k=1,heads=1,dim=1,form=plain)",
             "two-sum",
             {{"n", 8}, {"M", 64}},
             3,
             PositionCode::none},
        Case{"flip", "full(heads=1,dim=2)+linear(heads=1,dim=2)", "seqcomp", {{"L", 2}, {"m", 4}, {"n1", 2}}},
        Case{"wrong-answer", "full(heads=2)", "counting", {{"n", 4}, {"sigma", 2}, {"k", 0}}},
        Case{"wrong-answer",
             "sparse(form=released,rope=none,B=2,k=2,window=2)",
             "counting",
             {{"n", 4}, {"sigma", 2}, {"k", 0}}},
        Case{"wrong-answer", "topk(k=2,form=plain)", "dyck", {{"n", 6}, {"k", 2}, {"depth", 2}}}));

// Ended early by what it finds.
#ifdef __SANITIZE_ADDRESS__
constexpr double kAttackSeconds = 60;
#else
constexpr double kAttackSeconds = 3;
#endif

TEST_P(Attacked, is_verified) {
  const Case& c = GetParam();
  const auto task = task_of(c.task, c.sizes);
  const Weights weights = random_model(c.line, *task, 4, c.precision, 1, c.position);
  const std::string model = model_bytes(weights);
  auto target = make_target(weights, task);
  ASSERT_TRUE(target) << target.error().message;
  target->model_sha256 = sha256(model);
  const auto outcome = attack(*target, c.method, {.seconds = kAttackSeconds});
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_TRUE(outcome->certificate) << c.method << " on " << c.line << ": " << outcome->reason;
  const std::string text = certificate_text(*outcome->certificate);
  std::string reason;
  EXPECT_EQ(verdict_of(text, model, &reason), CheckVerdict::verified) << reason << "\n"
                                                                      << text.substr(0, 3000);
}

// An issuer that runs the same numbers under another option hands over states that the checker does not find.
TEST(attacked_elsewhere, is_rejected) {
  const std::pair<const char*, const char*> kReadings[] = {
      {"loglinear(base=mamba2,form=released,partition=strong,heads=1,dim=1,state=1)",
       "loglinear(base=mamba2,form=released,heads=1,dim=1,state=1)"},
      {"mamba(form=released,norms=after,inner=2,state=2,rank=2)",
       "mamba(form=released,norms=before,inner=2,state=2,rank=2)"}};
  const auto task = task_of("eva", {{"n", 14}});
  for (const auto& [line, other] : kReadings) {
    int rejected = 0;  // two readings of small numbers may come to the same states
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      Weights weights = random_model(line, *task, 4, 5, seed, PositionCode::table);
      auto target = make_target(weights, task);
      ASSERT_TRUE(target) << target.error().message;
      const auto outcome = attack(*target, "states", {.seconds = 20});
      ASSERT_TRUE(outcome) << outcome.error().message;
      ASSERT_TRUE(outcome->certificate) << line << ": " << outcome->reason;
      const auto verdict_on = [&](const std::string& model) {
        Certificate certificate = *outcome->certificate;
        certificate.model_sha256 = sha256(model);
        return verdict_of(certificate_text(certificate), model);
      };
      EXPECT_EQ(verdict_on(model_bytes(weights)), CheckVerdict::verified) << line;
      weights.architecture.stack = *parse_stack(other);
      rejected += verdict_on(model_bytes(weights)) == CheckVerdict::rejected;
    }
    EXPECT_GT(rejected, 0) << line << " and " << other;
  }
}

}  // namespace
}  // namespace rung
