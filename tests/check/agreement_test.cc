// The checker's forward pass, written from docs/weights.md, against the exact machine: every mixer, strained
// in every direction that the page allows, bit for bit at every position; and the states after every number
// of positions.
#include <gtest/gtest.h>

#include "check/model.h"
#include "rung/exact/machine.h"
#include "tests/check/model_bytes.h"
#include "tests/exact/released_lines.h"
#include "tests/exact/strained_model.h"

namespace rung {
namespace {

const std::vector<std::string> kDecoders = and_released({
    "full",
    "full(kv=1,vdim=1)",
    "full(window=3)",
    "full(chunk=4)",
    "full(conv=3)",
    "full(kv=1,conv=2,window=4)",
    "full(conv=1)",
    "linear",
    "linear(normalised=no,feature=identity)",
    "linear(normalised=no,feature=elu1,vdim=1)",
    "linear(feature=identity)",
    "linear(feature=relu)",
    "linear(feature=exp)",
    "linear(feature=taylor2)",
    "linear(normalised=no,feature=taylor2,dim=2)",
    "linear(conv=2)",
    "rnn",
    "rnn(cell=relu,size=3)",
    "gru",
    "gru(size=2)",
    "mamba(form=plain)",
    "mamba(conv=3,inner=3,form=plain)",
    "mamba2(form=plain)",
    "mamba2(groups=1,conv=2,form=plain)",
    "delta(form=plain)",
    "delta(kv=1,vdim=3,form=plain)",
    "gdelta(form=plain)",
    "gdelta(kv=1,conv=3,form=plain)",
    "delta(steps=3,form=plain)",
    "gdelta(kv=1,conv=2,steps=2,range=2,form=plain)",
    "loglinear",
    "loglinear(feature=elu1,conv=2)",
    "loglinear(feature=taylor2,dim=1)",
    "loglinear(base=mamba2,form=plain)",
    "loglinear(base=mamba2,groups=1,conv=2,form=plain)",
    "loglinear(base=gdelta,form=plain)",
    "loglinear(base=gdelta,kv=1,form=plain)",
    "sparse(B=4,k=2,form=plain)",
    "sparse(B=1,k=2,groups=1,form=plain)",
    "sparse(B=3,k=1,window=2,groups=2,form=plain)",
    "sparse(B=2,k=9,heads=4,kv=2,groups=1,dim=2,form=plain)",
    "topk(k=3,form=plain)",
    "topk(k=1,kv=1,form=plain)",
    "topk(k=2,index_heads=2,index_dim=3,form=plain)",
    "heads(full:1,delta(form=plain):1)",
    "heads(linear(dim=2):1,loglinear(dim=2):2,full(window=2,dim=1):1,gdelta(dim=3,form=plain):1)",
    "heads(mamba2(dim=2,form=plain):1,identity(vdim=3):1,sparse(B=2,k=1,dim=2,form=plain):2,topk(k=2,dim=2,"
    "form=plain):1)",
    "heads(linear(dim=2):1,gdelta(dim=3,form=plain):1)",
    "conv(width=3)",
    "conv(width=2,channels=3)",
    "conv(width=1)",
    "identity",
    "none",
    "full+delta(form=plain)+none+mamba2(form=plain)+full",
    "gdelta(form=plain)+rnn+conv(width=2)+linear*2",
});
const std::vector<std::string> kEncoders = {
    "full",
    "full(window=2)",
    "full(kv=1)",
    "linear",
    "linear(normalised=no,feature=relu)",
    "linear(feature=taylor2)",
    "topk(k=2,form=plain)",
    "topk(k=3,index_heads=2,form=plain)",
    "identity",
    "none",
    "heads(full:1,linear:1)",
    "heads(topk(k=2,dim=2,form=plain):1,identity(vdim=2):1,full(window=3,dim=2):1)",
    "full+linear+full(window=3)",
};
constexpr std::uint64_t kModels = 16;  // per line; every third is strained to the edge of the page's domains

struct Tally {
  int ran = 0, refused = 0, states = 0;
};

void compare(const std::string& line, bool causal, std::uint64_t seed, Tally& tally) {
  SCOPED_TRACE(fmt::format("{} {} seed {}", line, causal ? "decoder" : "encoder", seed));
  auto drawn = random_weights(varied_model(line, causal, seed));
  ASSERT_TRUE(drawn) << drawn.error().message;
  Weights weights = std::move(*drawn);
  if (seed % 3 == 0)
    strain_to_the_edge(weights, seed);
  else if (seed % 4 != 1)
    strain(weights, seed);
  const std::int64_t positions = 5 + static_cast<std::int64_t>(seed % 4) * 4;
  const auto machine = Machine::load(weights, {.positions = positions});
  if (!machine) {
    ++tally.refused;
    return;
  }
  ++tally.ran;
  const Prompt prompt = random_prompt(weights.fields, positions, seed);
  const auto readouts = (*machine)->forward(prompt, all_positions(positions));
  ASSERT_TRUE(readouts) << readouts.error().message;

  const std::string bytes = model_bytes(weights);
  rung_check::Budget budget;
  rung_check::Model model(bytes, budget);
  const rung_check::Prompt same{prompt.positions, prompt.fields};
  model.reset();
  const auto rows = model.feed(same, positions, all_positions(positions));
  for (std::int64_t t = 0; t < positions; ++t) {
    const auto& readout = (*readouts)[static_cast<std::size_t>(t)];
    ASSERT_EQ(rows.at(t), readout.activation) << "position " << t;
    ASSERT_EQ(model.steps(), 0);
    ASSERT_EQ(model.answer(same, rows.at(t)), readout.answer) << "position " << t;
  }
  if (!causal) return;
  auto session = (*machine)->start();
  ASSERT_TRUE(session);
  model.reset();
  for (std::int64_t t = 0; t < positions; ++t) {
    ASSERT_TRUE((*session)->append(prompt_row(prompt, weights.fields, t), false));
    ASSERT_EQ(model.feed(same, t + 1, {t}).at(t), (*readouts)[static_cast<std::size_t>(t)].activation)
        << "token by token, position " << t;
    std::vector<rung_check::State> states;
    try {
      states = model.states();
    } catch (const rung_check::Rejected&) {
      continue;  // a layer with a cache
    }
    ++tally.states;
    const auto expected = (*session)->state();
    ASSERT_EQ(states.size(), expected.size());
    for (std::size_t l = 0; l < states.size(); ++l)
      ASSERT_EQ(states[l].numbers, expected[l]) << "state of layer " << l << " after " << t + 1;
  }
}

class CheckedDecoder : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Lines, CheckedDecoder, testing::ValuesIn(kDecoders));
TEST_P(CheckedDecoder, runs_as_the_exact_machine_does) {
  Tally tally;
  for (std::uint64_t seed = 0; seed < kModels; ++seed) compare(GetParam(), true, seed, tally);
  EXPECT_GE(tally.ran, 8) << tally.refused << " refused";
  const bool caches = GetParam().find("full") != std::string::npos ||
                      GetParam().find("sparse") != std::string::npos ||
                      GetParam().find("topk") != std::string::npos;
  EXPECT_EQ(tally.states > 0, !caches);
}

class CheckedEncoder : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Lines, CheckedEncoder, testing::ValuesIn(kEncoders));
TEST_P(CheckedEncoder, runs_as_the_exact_machine_does) {
  Tally tally;
  for (std::uint64_t seed = 0; seed < kModels; ++seed) compare(GetParam(), false, seed, tally);
  EXPECT_GE(tally.ran, 8) << tally.refused << " refused";
}

}  // namespace
}  // namespace rung
