// What quantising writes, every mixer: the checker's forward pass, written from docs/weights.md, gives the
// exact machine's numbers.
#include <gtest/gtest.h>

#include "check/model.h"
#include "rung/base/random.h"
#include "rung/exact/machine.h"
#include "rung/exact/quantise.h"
#include "tests/check/model_bytes.h"
#include "tests/exact/random_real_model.h"

namespace rung {
namespace {

constexpr std::int64_t kPositions = 13, kVocabulary = 7;

class CheckedQuantised : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(
    Lines, CheckedQuantised,
    testing::Values("full", "full(window=3,conv=2)", "topk(k=3,form=plain)",
                    "topk(form=released,rope=none,index_rope=none,k=3)",
                    "sparse(B=4,k=2,window=3,form=plain)", "linear", "linear(feature=taylor2)",
                    "linear(normalised=no,conv=2)", "mamba(conv=3,form=plain)", "mamba2(conv=2,form=plain)",
                    "delta(form=plain)", "gdelta(form=plain)+full", "delta(range=2,form=plain)",
                    "gdelta(steps=2,conv=2,form=plain)", "loglinear(base=linear)",
                    "loglinear(base=mamba2,form=plain)", "loglinear(base=gdelta,form=plain)",
                    "mamba2(form=released,conv=3)", "mamba(form=released,conv=2)",
                    "mamba(form=released,norms=after)", "delta(form=released)",
                    "gdelta(form=released,conv=3)", "loglinear(base=mamba2,form=released)",
                    "loglinear(base=gdelta,form=released,partition=strong)",
                    "sparse(form=released,rope=none,B=3,k=2,window=3)",
                    "sparse(form=released,rope=none,B=2,k=2,kv=1,compress=linear,span=4,stride=2)", "rnn",
                    "gru", "conv(width=3)", "heads(full:1,gdelta(form=plain):1)+none"));

TEST_P(CheckedQuantised, runs_as_the_exact_machine_does) {
  Dimensions dimensions;
  dimensions.width = 8;
  dimensions.heads = 2;
  dimensions.state = 3;
  dimensions.mlp = {12};
  dimensions.mlp_given = true;
  dimensions.norm = Norm::rms;
  dimensions.activation = MlpActivation::gelu;
  dimensions.vocabulary = kVocabulary;
  dimensions.context = kPositions;
  const Weights real = random_real_weights({GetParam(), dimensions});
  Random random(3);
  CalibrationSet set;
  for (int i = 0; i < 4; ++i) {
    Prompt prompt;
    prompt.positions = kPositions;
    prompt.fields.emplace_back();
    for (std::int64_t t = 0; t < kPositions; ++t)
      prompt.fields[0].push_back(static_cast<std::int64_t>(random.below(kVocabulary)));
    set.prompts.push_back(prompt);
  }
  for (std::int64_t t = 0; t < kPositions; ++t) set.queries.push_back(t);
  for (const int p : {3, 8, 14}) {
    const auto integers = quantise(real, set, {.precision = p});
    ASSERT_TRUE(integers) << integers.error().message;
    const auto machine = Machine::load(integers->weights, {.positions = kPositions});
    ASSERT_TRUE(machine) << machine.error().message;
    const std::string bytes = model_bytes(integers->weights);
    rung_check::Budget budget;
    rung_check::Model model(bytes, budget);
    for (const auto& prompt : set.prompts) {
      const auto readouts = (*machine)->forward(prompt, set.queries);
      ASSERT_TRUE(readouts) << readouts.error().message;
      model.reset();
      const rung_check::Prompt same{prompt.positions, prompt.fields};
      const auto rows = model.feed(same, kPositions, set.queries);
      for (std::int64_t t = 0; t < kPositions; ++t) {
        ASSERT_EQ(rows.at(t), (*readouts)[static_cast<std::size_t>(t)].activation)
            << "p = " << p << ", position " << t;
        ASSERT_EQ(model.answer(same, rows.at(t)), (*readouts)[static_cast<std::size_t>(t)].answer);
      }
    }
  }
}

}  // namespace
}  // namespace rung
